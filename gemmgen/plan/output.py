"""D on its way out: chunks staged in shared memory for TMA stores."""

from __future__ import annotations

from gemmgen.frozen import frozen
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.roles import is_persistent
from gemmgen.plan.values import Sum
from gemmgen.spec.model import Spec
from gemmgen.terms import Arch, EpilogueKind, Swizzle


@frozen
class OutputPlan:
    """The ring of staged chunks of D in one CTA.

    Attributes:
        stages: chunks staged for each accumulator.
        buffers, buffers_code: how many buffers there are, and the expression to print.
        rows, columns: extent of a buffer, in elements. On sm_100a the rows of all consumers stand
            below each other in one buffer; on sm_90a a consumer has buffers of its own.
        rows_code: the constant that holds `rows`.
        swizzle: of a buffer; its span is no wider than a row of the chunk.
        span: columns that one span of the swizzle holds: a TMA store writes a box of them.
        boxes: TMA stores a chunk.
        bytes: size of a buffer.
        reused: a buffer is filled again, so its last store must have been read first.
    """

    stages: int
    buffers: int
    buffers_code: str
    rows: int
    rows_code: str
    columns: int
    swizzle: Swizzle
    span: int
    boxes: int
    bytes: Sum
    reused: bool


def _swizzle(row_bytes: int) -> Swizzle:
    """The widest swizzle whose span a row fills."""
    fits = [swizzle for swizzle in Swizzle if row_bytes % swizzle.span_bytes == 0]
    return fits[-1] if fits else Swizzle.NONE


def plan_output(spec: Spec, g: Geometry) -> OutputPlan | None:
    """Staging of D; None where registers go straight to global memory."""
    epilogue, size = spec.epilogue, spec.problem.d.dtype.nbytes
    if epilogue.kind is not EpilogueKind.TMA_STORE:
        return None
    columns, stages = -(-g.tile_n // epilogue.chunks), epilogue.d_stages or 1
    swizzle = _swizzle(columns * size)
    span = min(columns, max(1, swizzle.span_bytes // size))
    together = spec.arch is Arch.SM100A or g.consumers == 1
    rows = g.tile_m if together else g.acc_rows
    return OutputPlan(
        stages=stages,
        buffers=stages if together else stages * g.consumers,
        buffers_code="D_STAGES" if together else "CONSUMERS * D_STAGES",
        rows=rows,
        rows_code="TILE_M" if together else "ACC_ROWS",
        columns=columns,
        swizzle=swizzle,
        span=span,
        boxes=-(-columns // span),
        bytes=Sum(rows * columns * size, f"{rows} x {columns} x {size}"),
        reused=is_persistent(spec) or stages < epilogue.chunks,
    )
