"""Register fragments of wgmma: accumulators and A operands spread over the four warps of a group.

PTX ISA "Register fragments and shared memory matrix layouts" (wgmma); CUTLASS
`include/cute/atom/mma_traits_sm90_gmma.hpp`, `CLayout_64xN`, `ALayout_64x16`. For thread t of warp
w, value i of D is row `16 w + t // 4 + 8 (i // 2 % 2)`, column `2 (t % 4) + i % 2 + 8 (i // 4)`. A
32-bit accumulator takes a register a value, an f16 one a register for values 2i and 2i + 1.
Register j of A holds 4 bytes of row `16 w + t // 4 + 8 (j % 2)`, from `4 (t % 4) + 16 (j // 2)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS = 64
WARPS = 4
A_REGISTERS = 4


def fragment_of(matrix: NDArray[Any], d: str) -> NDArray[np.uint32]:
    """Return the registers of an accumulator: (64, N) float32 or int32 -> (4, registers, 32)."""
    n = matrix.shape[1]
    parts = matrix.reshape(WARPS, 2, 8, n // 8, 4, 2)
    if d == "f16":
        with np.errstate(over="ignore"):
            halves = np.ascontiguousarray(parts.astype(np.float16))
        words = halves.view(np.uint32)[..., 0]
        spread = words.transpose(0, 3, 1, 2, 4)
        return np.ascontiguousarray(spread).reshape(WARPS, n // 4, 32)
    spread = parts.transpose(0, 3, 1, 5, 2, 4)
    return np.ascontiguousarray(spread).reshape(WARPS, n // 2, 32).view(np.uint32)


def matrix_of(fragment: NDArray[np.uint32], d: str) -> NDArray[Any]:
    """Return the accumulator that registers hold: (4, registers, 32) -> (64, N), its own copy."""
    registers = fragment.shape[1]
    if d == "f16":
        words = fragment.reshape(WARPS, registers // 2, 2, 8, 4).transpose(0, 2, 3, 1, 4)
        halves = np.ascontiguousarray(words).view(np.float16)
        return halves.astype(np.float32).reshape(ROWS, 4 * registers)
    values = fragment.view(np.int32 if d == "s32" else np.float32)
    parts = values.reshape(WARPS, registers // 4, 2, 2, 8, 4).transpose(0, 2, 4, 1, 5, 3)
    return np.array(parts, order="C").reshape(ROWS, 2 * registers)


def a_bytes_of(fragment: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return the A operand that registers hold: (4, 4, 32) -> (64, 32) bytes."""
    words = fragment.reshape(WARPS, 2, 2, 8, 4).transpose(0, 2, 3, 1, 4)
    return np.ascontiguousarray(words).view(np.uint8).reshape(ROWS, 32)
