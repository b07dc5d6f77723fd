"""The runs that a mutant must survive: small problems that wrap every ring, hostile timing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gemmgen.emulate import Settings
from gemmgen.plan import Plan
from gemmgen.run.schedules import starved_kinds

Triple = tuple[int, int, int]
LIVELOCK = 100_000
LIMIT = 2_000_000
SEEDS = 3


@dataclass(frozen=True)
class Run:
    """A problem and a timing."""

    shape: Triple
    settings: Settings

    def __str__(self) -> str:
        s = self.settings
        target = f" {s.target}" if s.target else ""
        m, n, k = self.shape
        return f"{m}x{n}x{k} {s.timing}{target} seed {s.seed} on {s.sm_count} SMs"


def problems(plan: Plan) -> tuple[tuple[Triple, int], ...]:
    """(M, N, K) and SM count, cheapest first.

    One tile whose K wraps the ring and ends inside a k_tile; several tiles along M and along N, or
    for a persistent kernel tiles that wrap both rings while one cluster walks them all; K of one
    k_tile. A kernel that takes tiles in part has a last problem that ends inside a tile.
    """
    unit_m, unit_n = units(plan)
    less_m, less_n = unit_m - plan.problem.m_multiple.value, unit_n - plan.problem.n_multiple.value
    step, stages, size = (
        plan.geometry.tile_k,
        plan.spec.pipeline.ab_stages,
        plan.geometry.cluster_size,
    )
    if plan.problem.k_exact is not None:
        k = plan.problem.k_exact
        return (
            ((unit_m, unit_n, k), 2),
            ((2 * unit_m, unit_n, k), 2),
            ((unit_m, 2 * unit_n, k), 2),
        )
    tail = (stages + 1) * step - plan.problem.k_multiple
    laps = (2 * stages + 1) * step
    if not plan.persistent:
        return (
            ((unit_m, unit_n, tail), size),
            ((unit_m, unit_n, step), size),
            ((2 * unit_m, unit_n, laps), 2 * size),
            ((unit_m, 2 * unit_n, (stages + 2) * step), 2 * size),
        )
    slots = plan.spec.pipeline.acc_stages
    return (
        ((2 * unit_m, unit_n, tail), size),
        ((unit_m, (2 * slots + 1) * unit_n, step), size),
        ((2 * unit_m, 3 * unit_n, 2 * step), 2 * size),
        ((unit_m - less_m // 2, 2 * unit_n - less_n // 16 * 8, laps), size),
    )


def units(plan: Plan) -> tuple[int, int]:
    """Rows and columns of D that one cluster computes at a time, of whole tiles."""
    geometry, problem = plan.geometry, plan.problem
    rows = geometry.tile_m * geometry.cluster_m
    columns = geometry.tile_n * geometry.cluster_n
    return max(problem.m_multiple.value, rows), max(problem.n_multiple.value, columns)


def refused_problems(plan: Plan) -> tuple[Triple, ...]:
    """Problems that the plan's rules refuse: half a unit of M or of N, and K off its multiple."""
    unit_m, unit_n = units(plan)
    step = plan.geometry.tile_k
    k = step + plan.problem.k_multiple // 2 if plan.problem.k_exact is None else 2 * step
    return (
        (unit_m + unit_m // 2, unit_n, step),
        (unit_m, unit_n + unit_n // 2, step),
        (unit_m, unit_n, k),
    )


def timings(plan: Plan) -> Iterator[tuple[str, str, int]]:
    """Policy, target and seed: the two extremes first."""
    yield "lazy", "", 0
    yield "eager", "", 0
    for seed in range(SEEDS):
        yield "random", "", seed
        yield "pct", "", seed
    for kind in starved_kinds(plan):
        yield "starve", kind, 0
    size = plan.geometry.cluster_size
    for rank in range(size if size > 1 else 0):
        yield "delay", str(rank), 0
    for rank in range(min(size, 2)):
        for warp in sorted({0, 1, *(w for role in plan.roles for w in role.warps)}):
            yield "delay", f"{rank}.{warp}", 0


def battery(plan: Plan) -> Iterator[Run]:
    """Every run, those that find most first."""
    pairs = problems(plan)
    late = []
    for number, (policy, target, seed) in enumerate(timings(plan)):
        for shape, sms in pairs:
            settings = Settings(
                timing=policy,
                target=target,
                seed=seed,
                sm_count=sms,
                livelock_instructions=LIVELOCK,
                max_instructions=LIMIT,
            )
            if number < 2:
                yield Run(shape, settings)
            elif shape != pairs[-1][0] or policy == "starve":
                late.append(Run(shape, settings))
    yield from late
