"""Rules of tile, instruction, swizzle and loads."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.check.finding import fault
from gemmgen.plan import Plan
from gemmgen.terms import Finding, MmaKind, Operand, Swizzle

MMA_OF_ARCH = {"sm_90a": MmaKind.WGMMA, "sm_100a": MmaKind.TCGEN05}


def check_geometry(plan: Plan) -> Iterator[Finding]:
    """P201 to P207: shapes that the tensor core, the swizzle and TMA take."""
    yield from _mma_kind(plan)
    yield from _mma_shape(plan)
    yield from _tile_of_mma(plan)
    yield from _tile_k(plan)
    yield from _swizzle(plan)
    yield from _rows(plan)
    yield from _types(plan)


def _mma_kind(plan: Plan) -> Iterator[Finding]:
    mma, wanted = plan.spec.mma, MMA_OF_ARCH[plan.spec.arch.value]
    if mma.kind is not wanted:
        yield fault(
            "P201",
            f"{mma.kind} is not an instruction of {plan.spec.arch}",
            "mma.kind",
            help=f'write `kind = "{wanted}"`, or choose the other architecture',
        )


def _mma_shape(plan: Plan) -> Iterator[Finding]:
    mma, dtype = plan.spec.mma, plan.a.dtype
    if mma.kind is not MMA_OF_ARCH[plan.spec.arch.value]:
        return
    rules = plan.arch.rules(mma.kind, mma.cta_group, dtype)
    if not rules:
        key = "problem.a.dtype" if mma.cta_group == 1 else "mma.cta_group"
        title = f"no {mma.kind} instruction of cta_group {mma.cta_group} takes {dtype}"
        yield fault(
            "P202", title, key, help="take f16, bf16, tf32 or fp8, and cta_group 1 for wgmma"
        )
    elif not any(rule.allows(mma.m, mma.n, mma.k, dtype) for rule in rules):
        legal = "; ".join(rule.text(dtype) for rule in rules)
        title = f"illegal MMA shape {mma.m} x {mma.n} x {mma.k} for {dtype}"
        key = "mma.m" if all(rule.m != mma.m for rule in rules) else "mma.n"
        if all(rule.k(dtype) != mma.k for rule in rules):
            key = "mma.k"
        what = f"with cta_group {mma.cta_group} legal are {legal}\n({rules[0].source})"
        yield fault("P202", title, key, help=what)


def _tile_of_mma(plan: Plan) -> Iterator[Finding]:
    g = plan.geometry
    if g.pair_m % g.mma_m:
        whose = "the CTA pair's tile" if g.is_pair else "the tile"
        text = f"{g.cta_group} x {g.tile_m} = {g.pair_m}" if g.is_pair else f"{g.tile_m}"
        rows = g.mma_m // g.cta_group
        yield fault(
            "P203",
            f"{whose} is not a multiple of the MMA along M",
            "tile.m",
            f"{text} rows, mma.m = {g.mma_m}",
            help=f"take a multiple of {rows} for tile.m, or another mma.m",
        )
    if g.tile_n % g.mma_n:
        yield fault(
            "P203",
            "the tile is not a multiple of the MMA along N",
            "tile.n",
            f"{g.tile_n} columns, mma.n = {g.mma_n}",
            help=f"take a multiple of {g.mma_n} for tile.n, or another mma.n",
        )


def _tile_k(plan: Plan) -> Iterator[Finding]:
    g = plan.geometry
    if g.tile_k % g.mma_k:
        yield fault(
            "P204",
            "tile.k is not a multiple of mma.k",
            "tile.k",
            f"{g.tile_k} / {g.mma_k} = {g.tile_k / g.mma_k:g} MMA steps",
            help=f"take a multiple of {g.mma_k}",
        )


def _swizzle(plan: Plan) -> Iterator[Finding]:
    swizzle, size = plan.spec.smem.swizzle, plan.a.dtype.nbytes
    row = plan.geometry.tile_k * size
    if swizzle is Swizzle.NONE or row % swizzle.span_bytes == 0:
        return
    need = swizzle.span_bytes // size
    fits = [s for s in Swizzle if s is not Swizzle.NONE and row % s.span_bytes == 0]
    other = f'"{fits[-1]}"' if fits else '"none"'
    small = row < swizzle.span_bytes
    what = "too small for" if small else "not a multiple of"
    yield fault(
        "P205",
        f"tile.k is {what} the {swizzle} swizzle",
        "tile.k",
        f"a row is {plan.geometry.tile_k} x {size} B = {row} B, the swizzle permutes"
        f" {swizzle.span_bytes} B",
        help=f"take a multiple of {need} for tile.k ({need} {plan.a.dtype} values),"
        f" or smem.swizzle = {other}",
    )


def _rows(plan: Plan) -> Iterator[Finding]:
    """Rows of an operand come in groups of 8: a core matrix, a repetition of each swizzle."""
    for copy in plan.copies:
        key = "tile.m" if copy.operand is Operand.A else "tile.n"
        if copy.slices > 1 and copy.rows % copy.slices:
            yield fault(
                "P206",
                f"{copy.name} does not divide into multicast slices",
                key,
                f"{copy.rows} rows / {copy.slices} CTAs = {copy.rows / copy.slices:g}",
                help=f"take a multiple of {8 * copy.slices} rows, or another cluster",
            )
        elif copy.slice_rows % 8:
            sliced = f" / {copy.slices} CTAs = {copy.slice_rows}" if copy.slices > 1 else ""
            yield fault(
                "P206",
                f"a CTA loads a number of rows of {copy.name} that is not a multiple of 8",
                key,
                f"{copy.rows} rows{sliced}",
                help="shared-memory operands are 8-row groups (PTX ISA, canonical layouts)",
            )


def _types(plan: Plan) -> Iterator[Finding]:
    problem = plan.spec.problem
    if problem.a.dtype is not problem.b.dtype:
        pair = {problem.a.dtype.value, problem.b.dtype.value}
        if pair != {"e4m3", "e5m2"}:
            yield fault(
                "P207",
                f"A is {problem.a.dtype} and B is {problem.b.dtype}",
                "problem.b.dtype",
                help="one instruction takes one element type; only the two fp8 types mix",
            )
    if problem.acc_dtype.value not in ("f32", "f16"):
        yield fault(
            "P207",
            f"the tensor core does not accumulate in {problem.acc_dtype}",
            "problem.acc_dtype",
            help='write `acc_dtype = "f32"`',
        )
