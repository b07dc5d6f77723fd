"""Where a TMA box lies: its bytes in global memory and its 16-byte chunks in shared memory.

In shared memory a box is row-major with dimension 0 innermost; swizzling moves the 16-byte chunks
of a row by the bits of the absolute address (PTX ISA "Tensor Access Modes", "Swizzling Modes").
Elements outside the tensor are zero in a load and dropped in a store (PTX ISA "Tiled mode", "Out
of bounds access"); either way the copy counts the bytes of the whole box.

With a box row shorter than the swizzle span, rows keep the pitch of the span: the CUDA programming
guide asks for shared memory "to accommodate the full swizzle width" in that case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.tensor.faults import fault
from gemmgen.emulate.tensor.swizzle import CHUNK_BYTES, repeat_bytes, swizzle
from gemmgen.emulate.tensor.tensormap import TensorMap

SMEM_ALIGNMENT = 128
"""Byte alignment of a box in shared memory (PTX ISA, cp.async.bulk.tensor)."""


@dataclass(frozen=True)
class Window:
    """The part of a box that lies inside the tensor, outermost dimension first.

    The last dimension counts bytes, the others elements. `inside` selects the same part of an
    array of shape `box_shape`.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    inside: tuple[slice, ...]
    span: int
    """Bytes from `address` to the end of the last byte touched."""
    whole: bool
    """True when no part of the box is out of bounds."""


def box_shape(tensor_map: TensorMap) -> tuple[int, ...]:
    """Return the box's shape, outermost dimension first, the last in bytes."""
    return (*reversed(tensor_map.box[1:]), tensor_map.inner_bytes)


def clip(tensor_map: TensorMap, coordinates: Sequence[int]) -> Window | None:
    """Intersect the box at signed element `coordinates` (dimension 0 first) with the tensor.

    Returns None when nothing of the box is inside. Raises E231 when the number of
    coordinates is not the map's rank.
    """
    if len(coordinates) != tensor_map.rank:
        raise fault(
            "E231", f"{len(coordinates)} coordinates for a tensor map of rank {tensor_map.rank}"
        )
    address, span = tensor_map.address, 0
    shape: list[int] = []
    inside: list[slice] = []
    for at, dim, extent, stride in zip(
        coordinates, tensor_map.dims, tensor_map.box, tensor_map.strides, strict=True
    ):
        low, high = max(at, 0), min(at + extent, dim)
        if low >= high:
            return None
        address += low * stride
        span += (high - low - 1) * stride
        shape.append(high - low)
        inside.append(slice(low - at, high - at))
    size = tensor_map.element_bytes
    shape[0] *= size
    inside[0] = slice(inside[0].start * size, inside[0].stop * size)
    return Window(
        address=address,
        shape=tuple(reversed(shape)),
        strides=(*reversed(tensor_map.strides[1:]), 1),
        inside=tuple(reversed(inside)),
        span=span + size,
        whole=tuple(reversed(shape)) == box_shape(tensor_map),
    )


def row_pitch(tensor_map: TensorMap) -> int:
    """Return the bytes from one box row to the next in shared memory."""
    return max(tensor_map.inner_bytes, tensor_map.swizzle)


def smem_bytes(tensor_map: TensorMap) -> int:
    """Return how many bytes of shared memory a box spans."""
    return tensor_map.box_bytes // tensor_map.inner_bytes * row_pitch(tensor_map)


def smem_chunks(tensor_map: TensorMap, address: int) -> NDArray[np.int64]:
    """Return, for each 16-byte chunk of the box in row-major order, its chunk number in memory.

    Chunk n covers bytes 16n to 16n + 15 of shared memory; `address` is where the box begins.
    Raises E231 when `address` is not 128-byte aligned.
    """
    if address % SMEM_ALIGNMENT:
        raise fault(
            "E231", f"tensor copy's shared-memory address {address:#x} is not 128-byte aligned"
        )
    rows = tensor_map.box_bytes // tensor_map.inner_bytes
    phase = address % repeat_bytes(tensor_map.swizzle)
    relative = _relative_chunks(
        rows, tensor_map.inner_bytes, row_pitch(tensor_map), tensor_map.swizzle, phase
    )
    return relative + (address - phase) // CHUNK_BYTES


@lru_cache(maxsize=512)
def _relative_chunks(rows: int, inner: int, pitch: int, span: int, phase: int) -> NDArray[np.int64]:
    row = np.arange(rows, dtype=np.int64)[:, None] * pitch
    byte = np.arange(0, inner, CHUNK_BYTES, dtype=np.int64)[None, :]
    chunks = swizzle(row + byte + phase, span) // CHUNK_BYTES
    flat = chunks.ravel()
    flat.setflags(write=False)
    return flat
