"""Values of a warp's lanes: a Python int when all lanes agree, else a numpy array of 32.

Integers are kept unsigned in the width of their register; predicates are ``bool``. Lanes that
are not in a group's mask hold anything.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

WARP = 32
FULL = (1 << WARP) - 1

Lanes = NDArray[Any]
Value = int | Lanes

DTYPES: dict[int, type[np.generic]] = {
    1: np.bool_,
    8: np.uint8,
    16: np.uint16,
    32: np.uint32,
    64: np.uint64,
    128: np.object_,
}
SIGNED: dict[int, type[np.generic]] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


class Unwritten(int):
    """What a register holds that no instruction has written: zero here, anything on hardware."""


UNWRITTEN = Unwritten(0)


def spread(value: Value, bits: int) -> Lanes:
    """The value as an array of 32 lanes of ``bits`` width; a fresh one only where the value is
    uniform.
    """
    if isinstance(value, np.ndarray):
        return value
    return np.full(WARP, value, dtype=DTYPES[bits])


def lane_of(value: Value, lane: int) -> int:
    """The value of one lane as a Python int."""
    return int(value[lane]) if isinstance(value, np.ndarray) else value


def merge(mask: Lanes, new: Value, old: Value, bits: int) -> Value:
    """``new`` in the lanes where the boolean ``mask`` holds, ``old`` elsewhere."""
    if new is old:
        return new
    if not isinstance(new, np.ndarray) and not isinstance(old, np.ndarray) and new == old:
        return new
    dtype = DTYPES[bits]
    if old is None:
        return new
    if new is None:
        return old
    if bits == 128:
        out = np.empty(WARP, dtype=np.object_)
        for i in range(WARP):
            out[i] = lane_of(new, i) if mask[i] else lane_of(old, i)
        return out
    left = new if isinstance(new, np.ndarray) else dtype(new)
    right = old if isinstance(old, np.ndarray) else dtype(old)
    return np.where(mask, left, right)


@lru_cache(maxsize=4096)
def mask_array(mask: int) -> Lanes:
    """Bit mask -> boolean array of 32; not to be changed."""
    return (np.uint32(mask) >> np.arange(WARP, dtype=np.uint32) & np.uint32(1)).astype(np.bool_)


@lru_cache(maxsize=4096)
def lane_indices(mask: int) -> Lanes:
    """Bit mask -> indices of its bits, ascending; not to be changed."""
    return np.flatnonzero(mask_array(mask))


def bit_mask(flags: Lanes) -> int:
    """Boolean array of 32 -> bit mask."""
    return int(np.packbits(flags, bitorder="little").view(np.uint32)[0])
