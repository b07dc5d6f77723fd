"""Module constants of the generated file, in spec order, each with its arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.plan.barriers import BarrierPlan
from gemmgen.plan.copies import Copy
from gemmgen.plan.epilogue import EpiloguePlan
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.memory import TmemMap, ring_code
from gemmgen.plan.output import OutputPlan
from gemmgen.plan.roles import RolePlan, role_constants
from gemmgen.plan.values import Constant, ConstantLine, counted, grouped, line, literal
from gemmgen.spec.model import Spec
from gemmgen.terms import Arch, KExtent, LoadKind, MainloopKind, MmaKind, Ring


def _tile(spec: Spec, g: Geometry) -> Iterator[ConstantLine]:
    one = spec.problem.k_extent is KExtent.ONE_STEP
    tile = (literal("TILE_M", g.tile_m), literal("TILE_N", g.tile_n), literal("TILE_K", g.tile_k))
    yield ConstantLine(tile, "output tile of a CTA, " + ("all of K" if one else "step along K"))
    mma = (literal("MMA_M", g.mma_m), literal("MMA_N", g.mma_n), literal("MMA_K", g.mma_k))
    what = f"one {spec.mma.kind.value}.mma" if spec.mma.kind == "tcgen05" else "one wgmma"
    yield ConstantLine(mma, what + (" of the CTA pair" if g.is_pair else ""))
    wgmma = spec.mma.kind is MmaKind.WGMMA
    if g.k_blocks > 1 or wgmma:
        steps = counted(g.k_blocks, "step") if wgmma else f"{g.k_blocks} MMAs"
        note = f"{g.tile_k} / {g.mma_k} = {steps} a k_tile"
        yield line(Constant("K_BLOCKS", g.k_blocks, "TILE_K // MMA_K", note))


def _cluster(
    g: Geometry, copies: tuple[Copy, ...], barriers: tuple[BarrierPlan, ...]
) -> Iterator[ConstantLine]:
    if g.cluster_size == 1:
        return
    pair = (literal("CLUSTER_M", g.cluster_m), literal("CLUSTER_N", g.cluster_n))
    place = (
        "CTAs that share an operand" if g.is_line else "rank of a CTA: cta_m + CLUSTER_M x cta_n"
    )
    yield ConstantLine(pair, place)
    rules = [copy.mask for copy in copies] + [
        arrive.mask for barrier in barriers for arrive in barrier.arrives
    ]
    found: dict[str, Constant] = {}
    for rule in rules:
        for constant in rule.constants if rule else ():
            found.setdefault(constant.name, constant)
    yield from (line(constant) for constant in found.values())


def _operands(spec: Spec, g: Geometry) -> Iterator[ConstantLine]:
    if g.is_pair:
        note = f"{g.tile_n} / 2 = {g.b_rows}: each CTA of the pair stages half of B"
        yield line(Constant("B_ROWS", g.b_rows, "TILE_N // 2", note))
    if g.consumers > 1:
        who = "mma warpgroups" if spec.mma.kind is MmaKind.WGMMA else "mma warps"
        alone = spec.mainloop.kind is MainloopKind.PINGPONG
        each = "each computes tiles of its own" if alone else "each has its rows of A, all share B"
        yield line(literal("CONSUMERS", g.consumers, f"{who}: {each}"))
    if g.consumers > 1 and spec.arch is Arch.SM90A:
        code = "TILE_M // CONSUMERS"
        note = f"{g.tile_m} / {g.consumers} = {g.acc_rows}: what one consumer has of a CTA's tile"
        if g.acc_rows == g.tile_m:
            code, note = "TILE_M", "a consumer has all rows of its tile"
        yield line(Constant("ACC_ROWS", g.acc_rows, code, note))


def _stages(spec: Spec, g: Geometry, copies: tuple[Copy, ...]) -> Iterator[ConstantLine]:
    pipeline = spec.pipeline
    if spec.mainloop.kind is not MainloopKind.SERIAL:
        yield line(literal("AB_STAGES", pipeline.ab_stages))
    if pipeline.acc_stages > 1:
        whose = " of each consumer" if g.consumers > 1 else ""
        note = f"accumulators{whose} in tensor memory"
        yield line(literal("ACC_STAGES", pipeline.acc_stages, note))
    if spec.load.kind is LoadKind.COOPERATIVE:
        vector = 16 // copies[0].dtype.nbytes
        yield line(
            literal("VECTOR", vector, "values in the 16 bytes that a thread copies at a time")
        )
        note = f"{g.tile_k} / {vector} = {g.tile_k // vector}: threads that copy a row"
        yield line(Constant("ROW_THREADS", max(1, g.tile_k // vector), "TILE_K // VECTOR", note))
    a, b = copies
    if a.spans > 1:
        span, width = spec.smem.swizzle.span_bytes, a.columns // a.spans
        note = f"values in the {span} bytes that the swizzle permutes"
        yield line(literal("AB_SPAN", width, note))
    total = a.stage_bytes.value + b.stage_bytes.value
    size = a.dtype.nbytes
    code = f"({a.rows_code} + {b.rows_code}) * TILE_K * {size}"
    numbers = f"({a.rows} + {b.rows}) x {g.tile_k} x {size}"
    note = f"{numbers} = {grouped(total)}"
    if not g.is_pair:
        yield line(Constant("AB_BYTES", total, code, note))
        return
    note = f"2 CTAs x {numbers} = {grouped(2 * total)}"
    yield line(Constant("AB_BYTES", 2 * total, f"2 * {code}", note))


def _numbers(code: str, g: Geometry) -> str:
    """`code` with the cluster's extents and the consumers in place of their names."""
    text = code.replace("CLUSTER_M", str(g.cluster_m)).replace("CLUSTER_N", str(g.cluster_n))
    return text.replace("CONSUMERS", str(g.consumers)).replace("*", "x").replace("//", "/")


def _arrivals(g: Geometry, barriers: tuple[BarrierPlan, ...]) -> Iterator[ConstantLine]:
    for barrier in barriers:
        arrivals = barrier.arrivals
        if arrivals.value == 1 or barrier.arrivals_code == arrivals.text:
            continue
        is_code = not any(ch.islower() for ch in arrivals.text)
        code = arrivals.text if is_code else str(arrivals.value)
        note = f"{_numbers(code, g)} = {arrivals.value}" if is_code else arrivals.text
        yield line(Constant(barrier.arrivals_code, arrivals.value, code, note))


def _output(output: OutputPlan | None, size: int, together: bool) -> Iterator[ConstantLine]:
    if output is None:
        return
    if output.boxes > 1 or together:
        note = f"values in the {output.swizzle.span_bytes} bytes that the swizzle of D permutes"
        yield line(literal("D_SPAN", output.span, note))
    each = "" if output.buffers == output.stages else " for each consumer"
    yield line(literal("D_STAGES", output.stages, f"chunks of D staged in shared memory{each}"))
    note = f"{grouped(output.bytes.value)}: a staged chunk"
    yield line(
        Constant("D_BYTES", output.bytes.value, f"{output.rows_code} * EPI_N * {size}", note)
    )


def _accumulator(
    spec: Spec,
    g: Geometry,
    tmem: TmemMap | None,
    epilogue: EpiloguePlan,
    output: OutputPlan | None,
) -> Iterator[ConstantLine]:
    columns, chunks = epilogue.columns, epilogue.chunks
    what = "accumulator columns that a thread reads at a time"
    if tmem is None:
        if output is None:
            return  # all registers are stored at once
        note = f"{g.acc_rows} / {g.mma_m} = {g.m_blocks}: instructions along M a step"
        rows = output.rows_code
        yield line(Constant("M_BLOCKS", g.m_blocks, f"{rows} // MMA_M", note))
        what = "columns of D that leave at a time"
    yield line(literal("EPI_N", columns, what))
    note = f"{g.tile_n} / {columns} = {chunks}"
    yield line(Constant("EPI_CHUNKS", chunks, "TILE_N // EPI_N", note))
    yield from _output(output, spec.problem.d.dtype.nbytes, tmem is not None)
    if tmem is None:
        return
    slots = len(tmem.slots)
    kind = spec.problem.acc_dtype.value
    exact = tmem.used.value == tmem.allocated and tmem.acc_columns == g.tile_n
    code, note = grouped(tmem.allocated), f"the power of two that holds {tmem.used}"
    if exact and slots == 1:
        code, note = "TILE_N", f"one {kind} accumulator of {tmem.acc_columns} columns"
    elif exact:
        code = f"{ring_code(spec, Ring.ACC)} * TILE_N"
        note = f"{slots} x {tmem.acc_columns} = {tmem.allocated}"
    yield line(Constant("TMEM_COLUMNS", tmem.allocated, code, note))
    yield line(Constant("TMEM_LANE", 1 << 16, "1 << 16", "a TMEM address is lane << 16 | column"))


def plan_constants(
    spec: Spec,
    g: Geometry,
    copies: tuple[Copy, ...],
    barriers: tuple[BarrierPlan, ...],
    tmem: TmemMap | None,
    roles: tuple[RolePlan, ...],
    threads: int,
    epilogue: EpiloguePlan,
    output: OutputPlan | None,
) -> tuple[ConstantLine, ...]:
    """Every module constant, in an order in which each one's code uses only earlier ones."""
    out = [*_tile(spec, g), *_cluster(g, copies, barriers), *_operands(spec, g)]
    out += [*_stages(spec, g, copies), *_arrivals(g, barriers)]
    out += _accumulator(spec, g, tmem, epilogue, output)
    out += (line(constant) for constant in role_constants(spec, roles, threads))
    if epilogue.by_warpgroup and tmem is not None:
        note = "threads of a warpgroup: each has a lane of tensor memory, a row of D"
        out.append(line(literal("WARPGROUP", 128, note)))
    named = epilogue.named_barrier
    if named is not None:
        out.append(line(literal(named.name, named.number, named.what)))
    out += _group("GROUP_M", spec.scheduler.group_m, "row", "column", ("A", "B"))
    out += _group("GROUP_N", spec.scheduler.group_n, "column", "row", ("B", "A"))
    return tuple(out)


def _group(
    name: str, size: int | None, along: str, across: str, operands: tuple[str, str]
) -> list[ConstantLine]:
    """How many rows or columns of tiles are walked together, and which operand those share."""
    if size is None:
        return []
    inside, between = operands
    note = f"{along}s of tiles that are walked before the next {across}: they share {between} in L2"
    if size == 1:
        note = f"one {along} of tiles after the other: its tiles share {inside} in L2"
    return [line(literal(name, size, note))]
