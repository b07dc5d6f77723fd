"""The GPU that is here: what it is, and how many clusters fit it."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import torch

from gemmgen.terms import Arch, Finding, GemmgenError

CAPABILITY = {Arch.SM90A: (9, 0), Arch.SM100A: (10, 0)}
_CLUSTER_DIMENSION = 4  # CUlaunchAttributeID, cuda.h
_DYNAMIC_SMEM = 8  # CUfunction_attribute CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, cuda.h
_NON_PORTABLE_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, cuda.h


@dataclass(frozen=True)
class Device:
    """What a record says about the device.

    Attributes:
        name: as the driver calls it.
        sm_count: multiprocessors.
        memory_bytes: of the device.
        l2_bytes: size of the L2 cache.
        driver: version of the kernel driver, ``580.65.06`` say; empty without NVML.
        cuda: version of the CUDA runtime that torch was built for.
    """

    name: str
    sm_count: int
    memory_bytes: int
    l2_bytes: int
    driver: str
    cuda: str


def describe_device(index: int | None = None) -> Device:
    """The current device, or the one called `index`."""
    which = torch.cuda.current_device() if index is None else index
    properties = torch.cuda.get_device_properties(which)
    return Device(
        name=properties.name,
        sm_count=properties.multi_processor_count,
        memory_bytes=properties.total_memory,
        l2_bytes=properties.L2_cache_size,
        driver=_driver_version(),
        cuda=torch.version.cuda or "",
    )


def device_arch() -> Arch | None:
    """Architecture of the current device; None without a GPU, or with one of another kind."""
    if not torch.cuda.is_available():
        return None
    capability = torch.cuda.get_device_capability()
    return next((arch for arch, own in CAPABILITY.items() if own == capability), None)


def matches(arch: Arch) -> bool:
    """Whether the current device runs kernels of `arch`."""
    return device_arch() is arch


def require(arch: Arch) -> None:
    """Raise GemmgenError T410 unless the current device runs kernels of `arch`."""
    if matches(arch):
        return
    have = "there is no GPU here"
    if torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        have = f"{torch.cuda.get_device_name()} here is sm_{major}{minor}"
    finding = Finding(
        code="T410",
        title=f"cannot run {arch.value} kernels on a GPU: {have}",
        help="use --runner emulate, or run on a machine with that GPU",
    )
    raise GemmgenError([finding])


def _driver_version() -> str:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return ""
    text = ctypes.create_string_buffer(80)
    if library.nvmlInit_v2() or library.nvmlSystemGetDriverVersion(text, 80):
        return ""
    return text.value.decode()


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: 72 bytes, id at 0, value at 8 (cuda.h)."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16))


class _Config(ctypes.Structure):
    """CUlaunchConfig (cuda.h)."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("smem", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


def clusters_that_fit(
    cubin: Path, entry: str, cluster: tuple[int, int, int], threads: int, smem_bytes: int
) -> int:
    """How many clusters of this kernel can be resident at once (``cuOccupancyMaxActiveClusters``).

    Raises:
        GemmgenError: T412, the driver refuses the question; T413, not one cluster fits.
    """
    torch.cuda.current_stream()  # makes the primary context current
    torch.zeros(1, device="cuda")
    driver = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    image = cubin.read_bytes()
    _ask(driver.cuModuleLoadData(ctypes.byref(module), image), "load the cubin")
    _ask(
        driver.cuModuleGetFunction(ctypes.byref(function), module, entry.encode()),
        f"find kernel {entry}",
    )
    _ask(driver.cuFuncSetAttribute(function, _DYNAMIC_SMEM, smem_bytes), "set shared memory")
    x, y, z = cluster
    if x * y * z > 8:
        _ask(driver.cuFuncSetAttribute(function, _NON_PORTABLE_CLUSTER, 1), "allow big clusters")
    attribute = _Attribute(id=_CLUSTER_DIMENSION)
    attribute.value[0], attribute.value[1], attribute.value[2] = x, y, z
    config = _Config(smem=smem_bytes, attributes=ctypes.pointer(attribute), count=1)
    config.grid[:] = [x, y, z * 1024]
    config.block[:] = [threads, 1, 1]
    count = ctypes.c_int()
    result = driver.cuOccupancyMaxActiveClusters(
        ctypes.byref(count), function, ctypes.byref(config)
    )
    _ask(result, "count clusters")
    driver.cuModuleUnload(module)
    if count.value < 1:
        title = f"not one cluster of {x} x {y} x {z} CTAs with {smem_bytes} bytes fits this device"
        raise GemmgenError([Finding(code="T413", title=title, help="use a smaller cluster")])
    return count.value


def _ask(result: int, what: str) -> None:
    if result:
        title = f"the CUDA driver could not {what}: error {result}"
        raise GemmgenError([Finding(code="T412", title=title, help="see cuda.h for the number")])
