"""A CUDA runtime that records launches instead of making them.

The host launcher that CuTe DSL compiles calls a handful of functions by name. :func:`register`
defines those names in the launcher's execution engine, where they win over libcute_dsl_runtime.so,
so that no driver and no GPU is needed. Names and call order: observed with nvidia-cutlass-dsl
4.8.1; argument order: CUDA Runtime API.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gemmgen.compile.launch import (
    CONFIG_BYTES,
    LaunchConfig,
    attribute_array,
    decode_config,
)

_INVALID_VALUE = 1  # cudaErrorInvalidValue

# cudaDeviceAttr values that launchers ask for.
_SM_COUNT = 16
_COMPUTE_MAJOR = 75
_COMPUTE_MINOR = 76
_SMEM_OPTIN = 97
_ATTRIBUTES = {1: 1024, 10: 32, 95: 1, 120: 1}
_SMEM_OPTIN_BYTES = (
    232_448  # 227 KiB: CUDA C++ Programming Guide, compute capabilities 9.0 and 10.0
)


@dataclass(frozen=True)
class RawLaunch:
    """A launch of ``kernel``, its parameters cut to the sizes that the PTX declares."""

    kernel: str
    config: LaunchConfig
    params: tuple[bytes, ...]


@dataclass
class Recorder:
    """The device that the next calls see, and what they asked of it."""

    sm_count: int
    compute: tuple[int, int]
    sizes: Callable[[str], tuple[int, ...]]
    launches: list[RawLaunch] = field(default_factory=list)
    failure: BaseException | None = None

    def attribute(self, identifier: int) -> int:
        """Value of a ``cudaDeviceAttr``; raises ``LookupError`` for one that has none here."""
        known = {
            **_ATTRIBUTES,
            _SM_COUNT: self.sm_count,
            _COMPUTE_MAJOR: self.compute[0],
            _COMPUTE_MINOR: self.compute[1],
            _SMEM_OPTIN: _SMEM_OPTIN_BYTES,
        }
        if identifier not in known:
            raise LookupError(f"the host code asks for device attribute {identifier}")
        return known[identifier]


_active: Recorder | None = None
_lock = threading.RLock()
_kernel_names: dict[int, str] = {}
_callbacks: dict[str, Any] = {}


class recording:  # noqa: N801  (used as a context manager, like contextlib's)
    """Direct all launches inside the block to ``recorder``; one thread at a time."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __enter__(self) -> Recorder:
        global _active
        _lock.acquire()
        self.previous, _active = _active, self.recorder
        return self.recorder

    def __exit__(self, *_: object) -> None:
        global _active
        _active = self.previous
        _lock.release()


def _write_i32(address: int, value: int) -> None:
    ctypes.c_int32.from_address(address).value = value


def _write_u64(address: int, value: int) -> None:
    ctypes.c_uint64.from_address(address).value = value


def _library_load(_: Recorder, library: int, *__: int) -> None:
    _write_u64(library, 1)


def _get_kernel(_: Recorder, kernel: int, __: int, name: int, *___: int) -> None:
    text = ctypes.string_at(name).decode()
    handle = len(_kernel_names) + 1
    _kernel_names[handle] = text
    _write_u64(kernel, handle)


def _get_device(_: Recorder, device: int, *__: int) -> None:
    _write_i32(device, 0)


def _get_device_count(_: Recorder, count: int, *__: int) -> None:
    _write_i32(count, 1)


def _device_attribute(recorder: Recorder, value: int, identifier: int, *_: int) -> None:
    _write_i32(value, recorder.attribute(identifier & 0xFFFFFFFF))


def _kernel_attribute(_: Recorder, value: int, *__: int) -> None:
    _write_i32(value, 0)  # asked for static shared memory, which these kernels do not use


def _nothing(_: Recorder, *__: int) -> None:
    """Accept a call that has no meaning without a device."""


def _launch(recorder: Recorder, config: int, kernel: int, params: int, *_: int) -> None:
    head = ctypes.string_at(config, CONFIG_BYTES)
    address, length = attribute_array(head)
    attributes = ctypes.string_at(address, length) if length else b""
    name = _kernel_names[kernel]
    sizes = recorder.sizes(name)
    pointers = (ctypes.c_uint64 * len(sizes)).from_address(params) if sizes else ()
    values = tuple(
        ctypes.string_at(pointer, size) for pointer, size in zip(pointers, sizes, strict=True)
    )
    recorder.launches.append(RawLaunch(name, decode_config(head, attributes), values))


_FUNCTIONS: dict[str, Callable[..., None]] = {
    "_cudaLibraryLoadData": _library_load,
    "_cudaLibraryUnload": _nothing,
    "_cudaLibraryGetKernel": _get_kernel,
    "_cudaGetDevice": _get_device,
    "_cudaGetDeviceCount": _get_device_count,
    "_cudaSetDevice": _nothing,
    "_cudaDeviceGetAttribute": _device_attribute,
    "_cuKernelGetAttribute": _kernel_attribute,
    "_cudaFuncSetAttribute": _nothing,
    "_cudaKernelSetAttributeForDevice": _nothing,
    "_cudaDeviceSynchronize": _nothing,
    "_cudaStreamSynchronize": _nothing,
    "_cudaLaunchKernelEx": _launch,
}


def _callback(function: Callable[..., None]) -> Any:
    def call(*arguments: int | None) -> int:
        recorder = _active
        if recorder is None:
            return _INVALID_VALUE
        try:
            function(recorder, *(value or 0 for value in arguments))
        except BaseException as error:  # must not unwind through native frames
            recorder.failure = recorder.failure or error
            return _INVALID_VALUE
        return 0

    return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 6)(call)


def register(engine: Any) -> None:
    """Define the runtime's functions in an MLIR ExecutionEngine; call before its first lookup."""
    for name, function in _FUNCTIONS.items():
        callback = _callbacks.get(name)
        if callback is None:
            callback = _callbacks[name] = _callback(function)
        engine.raw_register_runtime(name, ctypes.cast(callback, ctypes.c_void_p))
