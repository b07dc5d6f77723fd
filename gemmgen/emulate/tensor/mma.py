"""What a matrix instruction computes: operands out of shared memory, D into Tensor Memory.

Shared memory is passed as an array of 16-byte chunks (`smem.view("V16")`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.blas import held
from gemmgen.emulate.tensor.instruction import MmaShape
from gemmgen.emulate.tensor.layout import LANES, Part, accumulator_parts
from gemmgen.emulate.tensor.memory import LANE_GROUP, TensorMemory
from gemmgen.emulate.tensor.numeric import widen

_ONE_THREAD = 1 << 18

_D_TYPE = {"f32": np.float32, "f16": np.float32, "s32": np.int32}


def read_operand(
    chunks: NDArray[np.void], index: NDArray[np.int64], element: str, mn_major: bool
) -> NDArray[np.float32]:
    """Return the operand that `descriptor.operand_chunks` located, shape (rows, K)."""
    raw = chunks.take(index).view(np.uint8)
    values = widen(raw, element)
    return values.T if mn_major else values


def read_tmem_operand(
    memory: TensorMemory, column: int, rows: int, k_bytes: int, element: str
) -> NDArray[np.float32]:
    """Return an A operand held in Tensor Memory: row m in lane m, K packed along the columns.

    Source: PTX ISA tcgen05.mma, "A in Tensor Memory"; CUTLASS `mma_traits_sm100_frag.hpp`
    (M 64 uses lanes `m % 16 + 32 * (m // 16)`, as its accumulator does).
    """
    part = accumulator_parts(rows, 8, 1)[0]
    cells = memory.data[part.lanes, column : column + k_bytes // 4]
    return widen(np.ascontiguousarray(cells).view(np.uint8), element)


def matmul(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return `a` (rows, K) times `b` (N, K) transposed, in slices that BLAS does in one thread.

    OpenBLAS spreads a product of more than 2**18 multiply-adds over threads, which wait for each
    other by spinning: with more processes than cores a 128 x 256 x 16 product then took 35 ms, in
    slices 0.14 ms (numpy 2.4, 2 cores, load 8).
    """
    rows, n = len(a), len(b)
    step = rows if held() else max(1, _ONE_THREAD // (n * a.shape[1]))
    product = np.empty((rows, n), dtype=np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        for first in range(0, rows, step):
            np.matmul(a[first : first + step], b.T, out=product[first : first + step])
    return product


def multiply(
    shape: MmaShape, a: Sequence[NDArray[np.float32]], b: Sequence[NDArray[np.float32]]
) -> list[NDArray[Any]]:
    """Return A times B transposed for each CTA: `a` and `b` list each CTA's rows, shape (rows, K).

    All CTAs share the concatenation of `b`, of N rows.
    """
    left = a[0] if len(a) == 1 else np.concatenate(a)
    right = b[0] if len(b) == 1 else np.concatenate(b)
    product: NDArray[Any] = matmul(left, right)
    if shape.negate_a != shape.negate_b:
        product = -product
    product = product.astype(_D_TYPE[shape.d], copy=False)
    return np.split(product, len(a)) if len(a) > 1 else [product]


def update_accumulator(
    memory: TensorMemory,
    address: int,
    shape: MmaShape,
    cta_group: int,
    product: NDArray[Any],
    accumulate: bool,
    disabled: int = 0,
    scale: int = 0,
) -> None:
    """Write `product` (rows, N) of one CTA to the accumulator at `address`, plus D if `accumulate`.

    `disabled` has a bit for each lane that must keep its contents; D is scaled by 2**-scale before
    it is added.
    """
    column, lane = address & 0xFFFF, address >> 16
    for part in accumulator_parts(shape.m, shape.n, cta_group, lane):
        width = part.columns.stop - part.columns.start
        values = product[part.rows, part.columns]
        cells = slice(column, column + width)
        if accumulate:
            old = _read(memory, part.lanes, cells, shape.d, scale)
            values = add(old, values, shape.saturate)
        bits = _pack(values, shape.d)
        lanes = part.lanes
        if disabled:
            keep = _enabled(lanes, disabled)
            lanes, bits = np.arange(LANES)[lanes][keep], bits[keep]
        memory.data[lanes, cells] = bits
        if not disabled:
            memory.written[_groups(part), cells] = True


def mark_accumulator(memory: TensorMemory, address: int, shape: MmaShape, cta_group: int) -> None:
    """Record that the whole accumulator at `address` of one CTA holds data."""
    column, lane = address & 0xFFFF, address >> 16
    for part in accumulator_parts(shape.m, shape.n, cta_group, lane):
        width = part.columns.stop - part.columns.start
        memory.written[_groups(part), column : column + width] = True


def add(old: NDArray[Any], new: NDArray[Any], saturate: bool = False) -> NDArray[Any]:
    """Add two accumulators, float32 or int32; int32 wraps unless it is to saturate."""
    if saturate:
        wide = old.astype(np.int64) + new
        limits = np.iinfo(np.int32)
        clipped: NDArray[Any] = np.clip(wide, limits.min, limits.max).astype(np.int32)
        return clipped
    with np.errstate(over="ignore", invalid="ignore"):
        total: NDArray[Any] = old + new
    return total


def _read(memory: TensorMemory, lanes: Any, cells: slice, d: str, scale: int) -> NDArray[Any]:
    raw = memory.data[lanes, cells]
    if d == "s32":
        return raw.view(np.int32)
    if d == "f16":
        values = raw.astype(np.uint16).view(np.float16).astype(np.float32)
    else:
        values = raw.view(np.float32)
    return values * np.float32(2.0**-scale) if scale else values


def _pack(values: NDArray[Any], d: str) -> NDArray[np.uint32]:
    if d == "f16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).view(np.uint16).astype(np.uint32)
    return values.view(np.uint32)


def _enabled(lanes: Any, disabled: int) -> NDArray[np.bool_]:
    numbers = np.arange(LANES)[lanes]
    return np.array([not disabled >> int(lane) & 1 for lane in numbers])


def _groups(part: Part) -> Any:
    if isinstance(part.lanes, slice):
        return slice(part.lanes.start // LANE_GROUP, part.lanes.stop // LANE_GROUP)
    return np.unique(part.lanes // LANE_GROUP)
