"""A captured kernel launch, and the two pure decoders that produce it.

Nothing heavy is imported here: the emulator uses :class:`Launch` without CuTe DSL being installed.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

Dim3 = tuple[int, int, int]

# cudaLaunchAttributeID, CUDA Runtime API, "Data types used by CUDA Runtime".
_CLUSTER_DIMENSION = 4
_PROGRAMMATIC_STREAM_SERIALIZATION = 6

# Bytes of a scalar `.param` by its PTX type (PTX ISA, "Fundamental Types").
_SCALAR_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


@dataclass(frozen=True)
class Launch:
    """One kernel launch as the host code asked for it.

    ``grid``, ``block`` and ``cluster`` are (x, y, z); ``grid`` counts CTAs. ``smem_bytes`` is
    dynamic shared memory. ``params`` holds one value for each ``.param`` of ``entry``, cut to the
    exact size that the PTX declares. ``stream`` is the handle that the caller passed (0: the
    default stream). ``dependent``: a programmatic dependent launch, which lets the grid start
    before the one ahead of it in the stream has ended.
    """

    ptx: str
    entry: str
    grid: Dim3
    block: Dim3
    cluster: Dim3
    smem_bytes: int
    params: tuple[bytes, ...]
    stream: int = 0
    dependent: bool = False


@dataclass(frozen=True)
class LaunchConfig:
    """What a ``cudaLaunchConfig_t`` says; ``attributes``: 64-byte values by attribute id."""

    grid: Dim3
    block: Dim3
    smem_bytes: int
    stream: int
    attributes: dict[int, bytes]

    @property
    def cluster(self) -> Dim3:
        """Cluster shape in CTAs; (1, 1, 1) when the launch names none."""
        value = self.attributes.get(_CLUSTER_DIMENSION)
        return (1, 1, 1) if value is None else struct.unpack_from("<3I", value)

    @property
    def dependent(self) -> bool:
        """Whether the launch allows programmatic stream serialization (CUDA Programming Guide,
        "Programmatic Dependent Launch and Synchronization").
        """
        value = self.attributes.get(_PROGRAMMATIC_STREAM_SERIALIZATION)
        return value is not None and struct.unpack_from("<i", value)[0] != 0


CONFIG_BYTES = 56
ATTRIBUTE_BYTES = 72


def decode_config(config: bytes, attributes: bytes) -> LaunchConfig:
    """Decode a ``cudaLaunchConfig_t`` (cuda_runtime_api.h, x86-64) and its attribute array."""
    *dims, smem_bytes, stream, _, count = struct.unpack_from("<6IQQQI", config)
    found = {}
    for index in range(count):
        offset = index * ATTRIBUTE_BYTES
        (identifier,) = struct.unpack_from("<I", attributes, offset)
        found[identifier] = attributes[offset + 8 : offset + ATTRIBUTE_BYTES]
    grid, block = dims[:3], dims[3:]
    return LaunchConfig(
        (grid[0], grid[1], grid[2]), (block[0], block[1], block[2]), smem_bytes, stream, found
    )


def attribute_array(config: bytes) -> tuple[int, int]:
    """Address and byte length of the attribute array that a ``cudaLaunchConfig_t`` points to."""
    address, count = struct.unpack_from("<QI", config, 40)
    return address, count * ATTRIBUTE_BYTES


def entry_names(ptx: str) -> tuple[str, ...]:
    """Names of the kernels (``.entry`` functions) that the PTX text defines, in order."""
    return tuple(re.findall(r"\.entry\s+([\w$.]+)", ptx))


def param_sizes(ptx: str, entry: str) -> tuple[int, ...]:
    """Bytes of each ``.param`` of ``entry``, in order.

    Raises ``KeyError`` when the PTX has no such entry.
    """
    match = re.search(rf"\.entry\s+{re.escape(entry)}\s*\(([^)]*)\)", ptx)
    if match is None:
        raise KeyError(entry)
    sizes = []
    for declaration in filter(str.strip, match.group(1).split(",")):
        array = re.search(r"\.b8\s+[\w$.]+\[(\d+)\]", declaration)
        if array:
            sizes.append(int(array.group(1)))
            continue
        scalar = re.search(r"\.[bsuf](8|16|32|64|128)\b", declaration)
        if scalar is None:
            raise ValueError(f"cannot size the parameter {declaration.strip()!r}")
        sizes.append(_SCALAR_BYTES[scalar.group(1)])
    return tuple(sizes)
