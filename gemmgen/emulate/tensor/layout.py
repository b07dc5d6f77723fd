"""Tensor Memory layouts: where an accumulator lives, and which cell a register of ld/st names.

Tensor Memory is 128 lanes by 512 columns of 32 bits. An f16 accumulator uses one column an element,
in its low half.

Accumulator layouts (PTX ISA "Data path layout organization"; CUTLASS
`include/cute/atom/mma_traits_sm100_frag.hpp`, `tmem_frg`), row m and column n of the part that the
CTA holds:

- one CTA, M 128, and a pair, M 256 (128 rows a CTA): lane m, column n.
- one CTA, M 64: lane `m % 16 + 32 * (m // 16)`, column n: the lower or upper 16 lanes of each
  quarter, as the address says.
- a pair, M 128 (64 rows a CTA): lane `m + 64 * (n // (N / 2))`, column `n % (N / 2)`.

Register layouts (PTX ISA "Matrix fragments for tcgen05.ld/st"; CUTLASS
`include/cute/atom/copy_traits_sm100.hpp`), thread t of the warp and register r:

| shape | lane | column |
|---|---|---|
| 32x32b | t | r |
| 16x64b | t // 4 + 8 (t % 2) | t // 2 % 2 + 2 r |
| 16x128b | t // 4 + 8 (r % 2) | t % 4 + 4 (r // 2) |
| 16x256b | t // 4 + 8 (r // 2 % 2) | 2 (t % 4) + r % 2 + 8 (r // 4) |
| 16x32bx2 | t % 16 | r + split (t // 16) |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

LANES = 128
COLUMNS = 512

_REGISTERS_PER_REPEAT = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}


@dataclass(frozen=True)
class Part:
    """A rectangle of an accumulator: rows and columns of D, and the lanes that hold the rows.

    `lanes` is a slice when they are consecutive.
    """

    rows: slice
    columns: slice
    lanes: slice | NDArray[np.int64]


@lru_cache(maxsize=64)
def accumulator_parts(m: int, n: int, cta_group: int, lane: int = 0) -> tuple[Part, ...]:
    """Return the rectangles of one CTA's accumulator; each begins at the address's column.

    `m` and `n` are the instruction's shape (over the pair for cta_group 2), `lane` the lane of the
    address: 0, or 16 for M 64. Rows are counted within the CTA.
    """
    if cta_group == 2 and m == 128:
        half = n // 2
        return (
            Part(slice(0, 64), slice(0, half), slice(0, 64)),
            Part(slice(0, 64), slice(half, n), slice(64, 128)),
        )
    if m == 64:
        row = np.arange(64, dtype=np.int64)
        return (Part(slice(0, 64), slice(0, n), row % 16 + 32 * (row // 16) + lane),)
    return (Part(slice(0, 128), slice(0, n), slice(0, 128)),)


def accumulator_columns(m: int, n: int, cta_group: int) -> int:
    """Return how many columns the accumulator takes in each CTA."""
    return n // 2 if cta_group == 2 and m == 128 else n


def register_count(shape: str, repeat: int) -> int:
    """Return the registers a thread passes to tcgen05.ld/st of `shape` with `.x<repeat>`."""
    return _REGISTERS_PER_REPEAT[shape] * repeat


@lru_cache(maxsize=256)
def register_cells(
    shape: str, repeat: int, packed: bool = False, split: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return lanes and columns, relative to the address, of every register of a ld/st.

    Both have shape (registers, 32), or (registers, 2, 32) when `packed` (`.pack::16b`,
    `.unpack::16b`): the low and the high half of a register are two neighbouring columns.
    `split` is 16x32bx2's immediate, the column distance of threads 16-31.
    """
    thread = np.arange(32, dtype=np.int64)[None, :]
    register = np.arange(register_count(shape, repeat), dtype=np.int64)[:, None]
    if shape == "32x32b":
        lane, column = thread + 0 * register, register + 0 * thread
    elif shape == "16x64b":
        lane, column = thread // 4 + 8 * (thread % 2), thread // 2 % 2 + 2 * register
    elif shape == "16x128b":
        lane, column = thread // 4 + 8 * (register % 2), thread % 4 + 4 * (register // 2)
    elif shape == "16x256b":
        lane = thread // 4 + 8 * (register // 2 % 2)
        column = 2 * (thread % 4) + register % 2 + 8 * (register // 4)
    else:
        lane, column = thread % 16, register + 0 * thread
    lane, column = np.broadcast_arrays(lane, column)
    if packed:
        half = np.arange(2, dtype=np.int64)[None, :, None]
        lane = lane[:, None, :] + 0 * half
        column = 2 * column[:, None, :] + half
    if shape == "16x32bx2":
        column = column + split * (thread[0] // 16)
    lane, column = np.ascontiguousarray(lane), np.ascontiguousarray(column)
    lane.setflags(write=False)
    column.setflags(write=False)
    return lane, column
