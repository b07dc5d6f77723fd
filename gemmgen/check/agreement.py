"""Rules between the parts of a plan: what is printed is what was planned and proved.

No spec can break them: they guard against a plan that contradicts itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from gemmgen.check.finding import fault
from gemmgen.plan import FieldKind, GridKind, Plan
from gemmgen.terms import ArriveHow, Finding, Ring, Role

WAY_OUT = "this is a fault in gemmgen's plan, not in the spec: please report it"


def check_agreement(plan: Plan) -> Iterator[Finding]:
    """P265 to P268: memory maps, launch, and printed constants against the plan they belong to."""
    yield from _shared(plan)
    yield from _tensor(plan)
    yield from _launch(plan)
    yield from _constants(plan)


def _shared(plan: Plan) -> Iterator[Finding]:
    """Fields follow each other, and a barrier is where its field is."""
    for before, after in pairwise(sorted(plan.smem.fields, key=lambda field: field.offset)):
        if before.offset + before.bytes > after.offset:
            text = f"{before.offset:_} + {before.bytes:_} > {after.offset:_}"
            title = f"`{before.name}` and `{after.name}` overlap in shared memory"
            yield fault("P265", title, "pipeline", text, help=WAY_OUT)
    for field in plan.smem.fields:
        if field.offset % field.align or field.offset + field.bytes > plan.smem.total.value:
            title = f"`{field.name}` is misaligned, or past the end of shared memory"
            text = f"offset {field.offset:_}, {field.bytes:_} bytes, alignment {field.align}"
            yield fault("P265", title, "pipeline", text, help=WAY_OUT)
    fields = {f.name: f for f in plan.smem.fields if f.kind is FieldKind.BARRIERS}
    for index, barrier in enumerate(plan.barriers):
        own = fields.get(barrier.name)
        if own is None or (own.offset, own.count) != (barrier.offset, barrier.depth):
            title = f"`{barrier.name}` is not where its slots are in shared memory"
            text = f"{barrier.depth} slots at {barrier.offset:_}"
            yield fault("P265", title, f"barriers[{index}]", text, help=WAY_OUT)


def _tensor(plan: Plan) -> Iterator[Finding]:
    """Accumulators follow each other within what is allocated."""
    if plan.tmem is None:
        return
    ends = [*plan.tmem.slots[1:], plan.tmem.allocated]
    for slot, (first, end) in enumerate(zip(plan.tmem.slots, ends, strict=True)):
        if first + plan.tmem.acc_columns > end:
            title = f"accumulator slot {slot} overlaps the next, or what is allocated"
            text = f"column {first} + {plan.tmem.acc_columns} > {end}"
            yield fault("P266", title, "pipeline.acc_stages", text, help=WAY_OUT)


def _launch(plan: Plan) -> Iterator[Finding]:
    """The launch has a thread for every role and a CTA for every tile."""
    g, launch = plan.geometry, plan.launch
    last = max((warp for role in plan.roles for warp in role.warps), default=-1)
    problems = []
    if not launch.threads == plan.threads >= 32 * (last + 1):
        problems.append(f"{launch.threads} threads for warps 0 to {last}")
    if launch.cluster != (g.cluster_m, g.cluster_n, 1):
        problems.append(f"cluster {launch.cluster} for {g.cluster_m} x {g.cluster_n}")
    if launch.smem_bytes != plan.smem.total.value:
        problems.append(f"{launch.smem_bytes:_} bytes for {plan.smem.total.value:_}")
    leaders = {role.leader_only for role in plan.roles if role.role is Role.MMA}
    if g.is_pair and leaders != {True}:
        problems.append("the mma role in both CTAs of a pair")
    for name, got, want in _grid(plan):
        if got is not None and got != want:
            problems.append(f"{got} CTAs along {name} for {want} tiles")
    for name, got, want in _multiples(plan):
        if got % want:
            problems.append(f"{name} a multiple of {got} for cluster tiles of {want}")
    for problem in problems:
        yield fault("P267", f"the launch does not fit the plan: {problem}", "tile", help=WAY_OUT)


def _multiples(plan: Plan) -> Iterator[tuple[str, int, int]]:
    """What M and N are multiples of, and what a cluster covers, unless tiles may hang over."""
    rules, g = plan.problem, plan.geometry
    if not rules.ragged:
        yield "M", rules.m_multiple.value, g.cluster_tile_m
        yield "N", rules.n_multiple.value, g.cluster_tile_n


def _grid(plan: Plan) -> Iterator[tuple[str, int | None, int]]:
    """CTAs along M and N of a problem of 6 x 10 cluster tiles, or of one, and how many tiles."""
    if plan.launch.grid is GridKind.PERSISTENT:
        return
    g, names = plan.geometry, _values(plan)
    down, across = (1, 1) if plan.launch.grid is GridKind.SINGLE else (6, 10)
    m_tiles, n_tiles = down * g.cluster_m, across * g.cluster_n
    names |= {"m": m_tiles * g.tile_m, "n": n_tiles * g.tile_n}
    yield "M", evaluate(plan.launch.grid_code[0], names), m_tiles
    yield "N", evaluate(plan.launch.grid_code[1], names), n_tiles


def _values(plan: Plan) -> dict[str, int]:
    return {c.name: c.value for line in plan.constants for c in line.constants}


def _constants(plan: Plan) -> Iterator[Finding]:
    """Each constant's code gives its value, and its value is the planned one."""
    names: dict[str, int] = {}
    for line in plan.constants:
        for constant in line.constants:
            got = evaluate(constant.code, names)
            names[constant.name] = constant.value
            if got is not None and got != constant.value:
                title = f"{constant.name} is printed as {got:_} and planned as {constant.value:_}"
                yield fault("P268", title, "tile", constant.code, help=WAY_OUT)
    for name, want in _planned(plan):
        if names.get(name, want) != want:
            title = f"{name} is printed as {names[name]:_} and planned as {want:_}"
            yield fault("P268", title, "tile", help=WAY_OUT)


def _planned(plan: Plan) -> Iterator[tuple[str, int]]:
    """What the plan itself says of a constant, by name."""
    g = plan.geometry
    yield from (("TILE_M", g.tile_m), ("TILE_N", g.tile_n), ("TILE_K", g.tile_k))
    yield from (("MMA_M", g.mma_m), ("MMA_N", g.mma_n), ("MMA_K", g.mma_k))
    yield from (("CLUSTER_M", g.cluster_m), ("CLUSTER_N", g.cluster_n))
    yield from (("K_BLOCKS", g.k_blocks), ("B_ROWS", g.b_rows))
    yield from (("EPI_N", plan.epilogue.columns), ("EPI_CHUNKS", plan.epilogue.chunks))
    yield "THREADS", plan.threads
    if plan.tmem is not None:
        yield "TMEM_COLUMNS", plan.tmem.allocated
    for barrier in plan.barriers:
        yield barrier.arrivals_code, barrier.arrivals.value
        if barrier.ring is not Ring.SINGLE:
            yield barrier.depth_code, barrier.depth
        if barrier.tx_bytes is not None and any(a.how is ArriveHow.TX for a in barrier.arrives):
            yield barrier.tx_code, barrier.tx_bytes.value
        rules = [arrive.mask for arrive in barrier.arrives]
        for mask in (*rules, plan.a.mask, plan.b.mask):
            yield from ((c.name, c.value) for c in (mask.constants if mask else ()))
    for role in plan.roles:
        _, _, name = role.code.partition("warp_idx == ")
        if name and len(role.warps) == 1:
            yield name, role.warps[0]


def evaluate(code: str, names: dict[str, int]) -> int | None:
    """The value of an arithmetic expression over `names`; None where it is another expression."""
    try:
        return _number(ast.parse(code, mode="eval").body, names)
    except (SyntaxError, LookupError, ZeroDivisionError):
        return None


def _number(node: ast.expr, names: dict[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.BinOp):
        left, right = _number(node.left, names), _number(node.right, names)
        return {
            ast.Add: left.__add__,
            ast.Sub: left.__sub__,
            ast.Mult: left.__mul__,
            ast.FloorDiv: left.__floordiv__,
            ast.LShift: left.__lshift__,
            ast.BitOr: left.__or__,
        }[type(node.op)](right)
    raise LookupError(type(node).__name__)
