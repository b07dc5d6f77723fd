"""Element formats of the tensor units as numpy arrays of float32.

Operands are widened exactly. Products and sums are formed in float32 (sums of 8-bit integers in
int32), so results on small integers are exact; the order and the precision of summation on hardware
are not documented and not modelled.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

ELEMENT_BYTES = {
    "f16": 2,
    "bf16": 2,
    "tf32": 4,
    "f32": 4,
    "e4m3": 1,
    "e5m2": 1,
    "u8": 1,
    "s8": 1,
    "s32": 4,
}


def widen(raw: NDArray[np.uint8], element: str) -> NDArray[np.float32]:
    """Return bytes (last axis contiguous, elements little-endian) as float32.

    The last axis shrinks by the element size. 8-bit integers become float32 too: 32 products of
    them add up exactly.
    """
    if element == "f16":
        return _widen_f16(raw.view(np.uint16))
    if element == "bf16":
        return (raw.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if element == "tf32":
        return (raw.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    if element == "f32":
        return raw.view(np.float32)
    if element in ("u8", "s8"):
        return raw.view(np.uint8 if element == "u8" else np.int8).astype(np.float32)
    return _float8_table(element)[raw]


def _widen_f16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Widen finite halves with integer shifts, about twice as fast as numpy's conversion."""
    wide = bits.astype(np.uint32)
    wide <<= np.uint32(13)
    magnitude = wide & np.uint32(0x7FFF << 13)
    if magnitude.max(initial=0) >= 0x7C00 << 13:  # an infinity or a NaN
        return bits.view(np.float16).astype(np.float32)
    wide -= magnitude
    wide <<= np.uint32(3)
    value = magnitude.view(np.float32)
    value *= np.float32(2.0**112)
    magnitude |= wide
    return value


@cache
def _float8_table(element: str) -> NDArray[np.float32]:
    """Return the 256 values of e4m3 (no infinity, NaN 0x7f and 0xff) or e5m2 (IEEE-like)."""
    if element == "e5m2":
        codes = np.arange(256, dtype=np.uint16) << np.uint16(8)
        return codes.view(np.float16).astype(np.float32)
    if element != "e4m3":
        raise KeyError(element)
    code = np.arange(256)
    exponent, mantissa = code >> 3 & 15, code & 7
    normal = (1 + mantissa / 8) * 2.0 ** (exponent - 7)
    value = np.where(exponent == 0, mantissa / 8 * 2.0**-6, normal)
    value[code & 0x7F == 0x7F] = np.nan
    return np.where(code & 0x80, -value, value).astype(np.float32)


def round_bf16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round float32 to the nearest bf16, ties to even, as 16-bit patterns; NaN becomes 0x7fff."""
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    rounded[np.isnan(values)] = 0x7FFF
    return rounded.astype(np.uint16)
