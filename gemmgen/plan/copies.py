"""Loads of A and B into shared memory."""

from __future__ import annotations

from gemmgen.frozen import frozen
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.masks import MaskRule, multicast_mask
from gemmgen.plan.values import Sum, grouped
from gemmgen.spec.model import Spec
from gemmgen.terms import Dtype, LoadKind, Operand, Swizzle


@frozen
class Copy:
    """What one CTA loads of one operand in a k_tile.

    Attributes:
        operand: A or B.
        dtype: element type.
        rows: rows of the operand's buffer in one stage.
        rows_code: the constant that holds `rows`.
        columns: elements of K in one stage.
        spans: spans of the swizzle that hold a row of them; 1 without a swizzle.
        stage_elements, stage_bytes: size of one stage's buffer.
        slices, slices_code: CTAs that load a slice each and share it; 1 without multicast.
        slice_rows: rows that this CTA loads.
        slice_index: which slice a CTA loads, as an expression over ``cta_m`` and ``cta_n``, or over
            ``cta_rank`` where the cluster is a line; empty without multicast.
        box: elements of one bulk tensor copy, innermost mode first.
        boxes: bulk tensor copies that bring one slice.
        issued_bytes: bytes that this CTA's copies write into each destination.
        mask: CTAs written to; None for its own.
    """

    operand: Operand
    dtype: Dtype
    rows: int
    rows_code: str
    columns: int
    spans: int
    stage_elements: int
    stage_bytes: Sum
    slices: int
    slices_code: str
    slice_rows: int
    slice_index: str
    box: tuple[int, ...]
    boxes: int
    issued_bytes: int
    mask: MaskRule | None

    @property
    def name(self) -> str:
        """``A`` or ``B``."""
        return self.operand.value.upper()


def _box(spec: Spec, dtype: Dtype, rows: int) -> tuple[tuple[int, ...], int]:
    """Box and the number of boxes for `rows` rows of one k_tile.

    With a swizzle, a box is one swizzle span wide. Without, the K-major layout that tcgen05 and
    wgmma read is
    8-row by 16-byte core matrices (PTX ISA, canonical layouts), so a box is 16 bytes wide. Boxes of
    more than 256 rows do not exist; CuTe DSL 4.8.1 loads 384 rows as two boxes of 192.
    """
    span = spec.smem.swizzle.span_bytes if spec.smem.swizzle is not Swizzle.NONE else 16
    width = max(1, min(span // dtype.nbytes, spec.tile.k))
    height = max(part for part in range(1, 257) if rows % part == 0)
    return (width, height), -(-spec.tile.k // width) * -(-rows // height)


def _spans(spec: Spec, dtype: Dtype) -> int:
    if spec.smem.swizzle is Swizzle.NONE:
        return 1
    return -(-spec.tile.k * dtype.nbytes // spec.smem.swizzle.span_bytes)


def _slice_index(g: Geometry, is_a: bool) -> str:
    if g.is_line:
        return "cta_rank"
    return "cta_n" if is_a else "cta_m // 2" if g.is_pair else "cta_m"


def _plan_copy(spec: Spec, g: Geometry, operand: Operand) -> Copy:
    is_a = operand is Operand.A
    dtype = spec.problem.a.dtype if is_a else spec.problem.b.dtype
    rows = g.a_rows if is_a else g.b_rows
    rows_code = "TILE_M" if is_a else "B_ROWS" if g.is_pair else "TILE_N"
    sharers = g.cluster_n if is_a else g.cluster_m // g.cta_group
    shared = operand in spec.load.multicast and sharers > 1
    slices = sharers if shared else 1
    slice_rows = -(-rows // slices)
    across = "CLUSTER_N" if is_a else "CLUSTER_M // 2" if g.is_pair else "CLUSTER_M"
    stage_elements = rows * g.tile_k
    stage_bytes = stage_elements * dtype.nbytes
    arithmetic = f"{rows} rows x {g.tile_k} x {dtype.nbytes} B"
    box, boxes = _box(spec, dtype, slice_rows)
    return Copy(
        operand=operand,
        dtype=dtype,
        rows=rows,
        rows_code=rows_code,
        columns=g.tile_k,
        spans=_spans(spec, dtype),
        stage_elements=stage_elements,
        stage_bytes=Sum(stage_bytes, arithmetic),
        slices=slices,
        slices_code=f"({across})" if " " in across else across,
        slice_rows=slice_rows,
        slice_index=_slice_index(g, is_a) if shared else "",
        box=box,
        boxes=boxes,
        issued_bytes=slice_rows * g.tile_k * dtype.nbytes,
        mask=multicast_mask(g, operand) if shared and spec.load.kind is LoadKind.TMA else None,
    )


def plan_copies(spec: Spec, g: Geometry) -> tuple[Copy, Copy]:
    """The loads of A and of B."""
    return _plan_copy(spec, g, Operand.A), _plan_copy(spec, g, Operand.B)


def stage_bytes(copies: tuple[Copy, ...]) -> Sum:
    """Shared memory of one stage, in bytes."""
    parts = " + ".join(f"{copy.name} {grouped(copy.stage_bytes.value)}" for copy in copies)
    return Sum(sum(copy.stage_bytes.value for copy in copies), parts)
