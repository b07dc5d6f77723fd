"""Module constants of the generated file, in spec order, each with its arithmetic."""

from __future__ import annotations

from gemmgen.plan.barriers import BarrierPlan, arrival_constants
from gemmgen.plan.copies import Copy
from gemmgen.plan.epilogue import EpiloguePlan
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.memory import TmemMap
from gemmgen.plan.roles import RolePlan, role_constants
from gemmgen.plan.values import Constant
from gemmgen.spec.model import Spec
from gemmgen.terms import Ring


def _tile(g: Geometry) -> list[Constant]:
    out = [
        Constant("TILE_M", g.tile_m, str(g.tile_m), "output tile of one CTA"),
        Constant("TILE_N", g.tile_n, str(g.tile_n)),
        Constant("TILE_K", g.tile_k, str(g.tile_k), "K step of one stage"),
        Constant("MMA_M", g.mma_m, str(g.mma_m), "one instruction of the CTA pair" * g.is_pair),
        Constant("MMA_N", g.mma_n, str(g.mma_n)),
        Constant("MMA_K", g.mma_k, str(g.mma_k)),
        Constant("K_BLOCKS", g.k_blocks, "TILE_K // MMA_K", "instructions a stage"),
    ]
    if g.cluster_size > 1:
        out.append(Constant("CLUSTER_M", g.cluster_m, str(g.cluster_m)))
        out.append(Constant("CLUSTER_N", g.cluster_n, str(g.cluster_n)))
    if g.is_pair:
        note = "each CTA of the pair stages half of B"
        out.append(Constant("B_ROWS", g.b_rows, "TILE_N // 2", note))
    return out


def _masks(copies: tuple[Copy, ...], barriers: tuple[BarrierPlan, ...]) -> list[Constant]:
    rules = [copy.mask for copy in copies] + [
        arrive.mask for barrier in barriers for arrive in barrier.arrives
    ]
    found: dict[str, Constant] = {}
    for rule in rules:
        for constant in rule.constants if rule else ():
            found.setdefault(constant.name, constant)
    return list(found.values())


def _copies(g: Geometry, copies: tuple[Copy, ...]) -> list[Constant]:
    out: list[Constant] = []
    for copy, cluster in zip(copies, ("CLUSTER_N", "CLUSTER_M"), strict=True):
        if copy.slices > 1:
            code = f"{copy.rows_code} // {cluster}"
            if g.is_pair and cluster == "CLUSTER_M":
                code = f"{copy.rows_code} // (CLUSTER_M // 2)"
            note = f"rows of {copy.name} that one CTA loads for all that share them"
            out.append(Constant(copy.slice_code, copy.slice_rows, code, note))
    for copy in copies:
        code = f"{copy.rows_code} * TILE_K"
        note = f"elements of {copy.name} in a stage"
        out.append(Constant(f"{copy.name}_STAGE", copy.stage_elements, code, note))
    return out


def _stages(spec: Spec, g: Geometry, copies: tuple[Copy, ...]) -> list[Constant]:
    pipeline = spec.pipeline
    out = [Constant("AB_STAGES", pipeline.ab_stages, str(pipeline.ab_stages))]
    if pipeline.acc_stages > 1 or any(b.ring is Ring.ACC for b in spec.barriers):
        out.append(Constant("ACC_STAGES", pipeline.acc_stages, str(pipeline.acc_stages)))
    a, b = copies
    total = a.stage_bytes.value + b.stage_bytes.value
    code = f"(A_STAGE + B_STAGE) * {a.dtype.nbytes}"
    if a.dtype.nbytes != b.dtype.nbytes:
        code = f"A_STAGE * {a.dtype.nbytes} + B_STAGE * {b.dtype.nbytes}"
    out.append(Constant("AB_STAGE_BYTES", total, code, "bytes that land in a CTA a stage"))
    if g.is_pair:
        note = "the leader counts both CTAs"
        out.append(Constant("AB_PAIR_BYTES", 2 * total, "2 * AB_STAGE_BYTES", note))
    return out


def _accumulator(spec: Spec, tmem: TmemMap | None, epilogue: EpiloguePlan) -> list[Constant]:
    out: list[Constant] = []
    if tmem is not None:
        slots = spec.pipeline.acc_stages
        exact = tmem.used.value == tmem.allocated and tmem.acc_columns == spec.tile.n
        code = "ACC_STAGES * TILE_N" if slots > 1 else "TILE_N"
        note = f"of {tmem.limit}; a power of two"
        if not exact:
            code, note = str(tmem.allocated), f"the power of two that holds {tmem.used}"
        out.append(Constant("TMEM_COLUMNS", tmem.allocated, code, note))
    chunks = epilogue.chunks
    out.append(Constant("EPI_CHUNKS", chunks, str(chunks)))
    note = "accumulator columns of a chunk"
    out.append(Constant("EPI_N", epilogue.columns, "TILE_N // EPI_CHUNKS", note))
    return out


def plan_constants(
    spec: Spec,
    g: Geometry,
    copies: tuple[Copy, ...],
    barriers: tuple[BarrierPlan, ...],
    tmem: TmemMap | None,
    roles: tuple[RolePlan, ...],
    threads: int,
    epilogue: EpiloguePlan,
) -> tuple[Constant, ...]:
    """Every module constant, in an order in which each one's code uses only earlier ones."""
    out = _tile(g) + _copies(g, copies) + _stages(spec, g, copies)
    out += arrival_constants(barriers)
    out += _masks(copies, barriers)
    out += _accumulator(spec, tmem, epilogue)
    out += role_constants(spec, roles, threads)
    named = epilogue.named_barrier
    if named is not None:
        out.append(Constant(named.name, named.number, str(named.number), named.what))
    return tuple(out)
