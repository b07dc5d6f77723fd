"""Shared-memory matrix descriptors (64 bits) of tcgen05.mma and wgmma, and what they address.

A descriptor names a K-major or MN-major operand as a grid of 16-byte chunks. In the terms of
CUTLASS `include/cute/arch/mma_sm100_desc.hpp` and `include/cute/atom/mma_traits_sm90_gmma.hpp`
(the same canonical layouts), W being 1, 2, 4 or 8 chunks for no, 32-, 64- or 128-byte swizzle:

- K-major, chunk j of row r: `(r % 8) * 16W + (r // 8) * SBO + j * 16`, or `j * LBO` unswizzled.
- MN-major, chunk m of column k, swizzled:
  `(m % W) * 16 + (m // W) * LBO + (k % 8) * 16W + (k // 8) * SBO`; unswizzled, the two offsets
  trade places: `m * SBO + (k % 8) * 16 + (k // 8) * LBO`.

The byte address is the start address plus that offset, swizzled by its own address bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.tensor.faults import fault
from gemmgen.emulate.tensor.swizzle import CHUNK_BYTES, repeat_bytes, swizzle

_TCGEN05_SPAN = {0: 0, 2: 128, 4: 64, 6: 32}
_WGMMA_SPAN = {0: 0, 1: 128, 2: 64, 3: 32}


@dataclass(frozen=True)
class MatrixDescriptor:
    """A decoded descriptor; addresses and offsets in bytes, relative to the CTA's shared memory."""

    start: int
    leading: int
    """Leading-dimension byte offset (LBO)."""
    stride: int
    """Stride-dimension byte offset (SBO)."""
    span: int
    """Swizzle span in bytes: 0, 32, 64 or 128."""


@lru_cache(maxsize=4096)
def decode_tcgen05(bits: int) -> MatrixDescriptor:
    """Decode a tcgen05 descriptor (PTX ISA "Shared memory descriptor", tcgen05).

    Start >> 4 in [13:0], LBO >> 4 in [29:16], SBO >> 4 in [45:32], 0b001 in [48:46], base offset
    in [51:49], LBO mode in [52], layout in [63:61]. Raises E234 on a version
    other than 1, an unknown layout, or a feature that is not emulated (base offset, absolute LBO,
    128-byte swizzle of 32-byte atoms).
    """
    if bits >> 46 & 7 != 1:
        raise fault(
            "E234", f"matrix descriptor {bits:#018x}: bits 48:46 are {bits >> 46 & 7}, must be 1"
        )
    if bits >> 52 & 1:
        raise fault(
            "E234", f"matrix descriptor {bits:#018x}: absolute leading offset is not emulated"
        )
    return _decode(bits, bits >> 61 & 7, _TCGEN05_SPAN)


@lru_cache(maxsize=4096)
def decode_wgmma(bits: int) -> MatrixDescriptor:
    """Decode a wgmma descriptor (PTX ISA "Matrix-descriptor format", wgmma).

    Start >> 4 in [13:0], LBO >> 4 in [29:16], SBO >> 4 in [45:32], base offset in [51:49], layout
    in [63:62]. Raises E234 on a base offset that is not 0.
    """
    return _decode(bits, bits >> 62 & 3, _WGMMA_SPAN)


def _decode(bits: int, layout: int, spans: dict[int, int]) -> MatrixDescriptor:
    if layout not in spans:
        raise fault("E234", f"matrix descriptor {bits:#018x}: unknown layout {layout}")
    if bits >> 49 & 7:
        raise fault(
            "E234", f"matrix descriptor {bits:#018x}: a base offset other than 0 is not emulated"
        )
    return MatrixDescriptor(
        start=(bits & 0x3FFF) << 4,
        leading=(bits >> 16 & 0x3FFF) << 4,
        stride=(bits >> 32 & 0x3FFF) << 4,
        span=spans[layout],
    )


def operand_chunks(
    descriptor: MatrixDescriptor, rows: int, k_bytes: int, mn_major: bool, element_bytes: int
) -> NDArray[np.int64]:
    """Return the 16-byte chunk numbers of an operand of `rows` (M or N) by `k_bytes` of K.

    K-major: shape (rows, k_bytes / 16), row by row. MN-major: shape
    (K, rows / elements per chunk), column by column. Chunk n is bytes 16n to 16n + 15 of the
    CTA's shared memory. A swizzled operand may begin in the middle of the pattern, which follows
    the bits of the address: CUTLASS's dense_gemm.py aligns 128-byte swizzles to 128 bytes, with
    base offset 0.
    """
    repeat = repeat_bytes(descriptor.span)
    phase = descriptor.start % repeat
    relative = _relative_chunks(
        (descriptor.leading, descriptor.stride, descriptor.span),
        phase,
        rows,
        k_bytes,
        element_bytes if mn_major else 0,
    )
    return relative + (descriptor.start - phase) // CHUNK_BYTES


@lru_cache(maxsize=512)
def _relative_chunks(
    layout: tuple[int, int, int], phase: int, rows: int, k_bytes: int, mn_element: int
) -> NDArray[np.int64]:
    leading, stride, span = layout
    if mn_element:
        offsets = _mn_major(leading, stride, span, rows, k_bytes, mn_element)
    else:
        offsets = _k_major(leading, stride, span, rows, k_bytes)
    chunks = swizzle(offsets + phase, span) // CHUNK_BYTES
    chunks.setflags(write=False)
    return chunks


def _k_major(leading: int, stride: int, span: int, rows: int, k_bytes: int) -> NDArray[np.int64]:
    row = np.arange(rows, dtype=np.int64)[:, None]
    chunk = np.arange(k_bytes // CHUNK_BYTES, dtype=np.int64)[None, :]
    across = CHUNK_BYTES if span else leading
    return row % 8 * (span or CHUNK_BYTES) + row // 8 * stride + chunk * across


def _mn_major(
    leading: int, stride: int, span: int, rows: int, k_bytes: int, element_bytes: int
) -> NDArray[np.int64]:
    k = np.arange(k_bytes // element_bytes, dtype=np.int64)[:, None]
    chunk = np.arange(rows * element_bytes // CHUNK_BYTES, dtype=np.int64)[None, :]
    if not span:
        return chunk * stride + k % 8 * CHUNK_BYTES + k // 8 * leading
    width = span // CHUNK_BYTES
    across = chunk % width * CHUNK_BYTES + chunk // width * leading
    return across + k % 8 * span + k // 8 * stride
