"""Decoding of the 128-byte tensor map that a TMA instruction points at.

The layout of a `CUtensorMap` is not documented. What is used here was found by encoding maps with
nvidia-cutlass-dsl 4.8.1, whose host code writes bytes 0-63 inline, and by comparing the words. Read
as eight little-endian u64 words w0..w7:

| what | bits |
|---|---|
| global address | w0 |
| rank - 1 | w1[6:4] |
| element format | w1[10:7] |
| interleave (inferred) | w1[12:11] |
| swizzle: none, 32, 64, 128 bytes | w1[14:13] |
| tf32 flag | w1[16] |
| byte strides / 16 of dimensions 1..4, low 32 bits | w1[63:32], w2[31:0], w2[63:32], w3[31:0] |
| the same, high 4 bits each | w3[47:32] |
| dimension - 1 | w4[31:0], w4[63:32], w5[31:0], w5[63:32], w6[31:0] |
| box - 1 | w6[63:56], then bytes 0..3 of w7 |
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

from gemmgen.emulate.tensor.faults import fault

MAP_BYTES = 128

_SWIZZLE_SPAN = (0, 32, 64, 128)

_FORMATS = {
    0: ("u8", 1),
    1: ("u16", 2),
    2: ("u32", 4),
    3: ("s32", 4),
    4: ("u64", 8),
    5: ("s64", 8),
    6: ("f16", 2),
    7: ("f32", 4),
    9: ("f64", 8),
    10: ("bf16", 2),
}


@dataclass(frozen=True)
class TensorMap:
    """A decoded tensor map. Dimension 0 is the contiguous one; sizes in elements."""

    address: int
    element: str
    element_bytes: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    """Byte stride of each dimension; `strides[0]` is the element size."""
    box: tuple[int, ...]
    swizzle: int
    """Swizzle span in bytes: 0, 32, 64 or 128."""

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def box_bytes(self) -> int:
        """Bytes of one whole box, the number that a load adds to its mbarrier's tx count."""
        total = self.element_bytes
        for extent in self.box:
            total *= extent
        return total

    @property
    def inner_bytes(self) -> int:
        """Bytes of one box row (dimension 0)."""
        return self.box[0] * self.element_bytes


@lru_cache(maxsize=256)
def decode_tensor_map(image: bytes) -> TensorMap:
    """Decode the 128 bytes of a tensor map (only the first 64 are looked at).

    Raises E230 when the bytes cannot be a tiled tensor map: an unknown element
    format, an interleaved layout, a misaligned global address, a rank above 5, a box row that is
    not a multiple of 16 bytes or is longer than the swizzle span.
    """
    words = struct.unpack_from("<8Q", image)
    rank = (words[1] >> 4 & 7) + 1
    if rank > 5:
        raise fault("E230", f"tensor map has rank {rank}; 5 is the most")
    code = words[1] >> 7 & 15
    if code not in _FORMATS:
        raise fault("E230", f"tensor map has unknown element format {code}")
    element, size = _FORMATS[code]
    if words[1] >> 16 & 1:
        element = "tf32"
    if words[1] >> 11 & 3:
        raise fault("E230", "tensor map is interleaved, which is not emulated")
    tensor_map = TensorMap(
        address=words[0],
        element=element,
        element_bytes=size,
        dims=_dims(words)[:rank],
        strides=(size, *_outer_strides(words)[: rank - 1]),
        box=_box(words)[:rank],
        swizzle=_SWIZZLE_SPAN[words[1] >> 13 & 3],
    )
    _check(tensor_map)
    return tensor_map


def _dims(words: tuple[int, ...]) -> tuple[int, ...]:
    packed = (words[4], words[4] >> 32, words[5], words[5] >> 32, words[6])
    return tuple((word & 0xFFFFFFFF) + 1 for word in packed)


def _outer_strides(words: tuple[int, ...]) -> tuple[int, ...]:
    low = (words[1] >> 32, words[2], words[2] >> 32, words[3])
    return tuple(
        ((word & 0xFFFFFFFF) | (words[3] >> 32 + 4 * i & 15) << 32) * 16
        for i, word in enumerate(low)
    )


def _box(words: tuple[int, ...]) -> tuple[int, ...]:
    inner = (words[6] >> 56 & 0xFF) + 1
    return (inner, *((words[7] >> 8 * i & 0xFF) + 1 for i in range(4)))


def _check(tensor_map: TensorMap) -> None:
    if tensor_map.address % 16:
        raise fault(
            "E230", f"tensor map's global address {tensor_map.address:#x} is not 16-byte aligned"
        )
    inner = tensor_map.inner_bytes
    if inner % 16:
        raise fault(
            "E230",
            f"tensor map's box row is {tensor_map.box[0]} x {tensor_map.element_bytes} = {inner} "
            "bytes, not a multiple of 16",
        )
    if tensor_map.swizzle and inner > tensor_map.swizzle:
        raise fault(
            "E230",
            f"tensor map's box row is {tensor_map.box[0]} x {tensor_map.element_bytes} = {inner} "
            f"bytes, longer than its {tensor_map.swizzle}-byte swizzle",
        )
