"""Problem sizes that reach every turn of a kernel's rings and grid."""

from __future__ import annotations

from dataclasses import dataclass

from gemmgen.plan.launch import GridKind
from gemmgen.plan.make import Plan


@dataclass(frozen=True)
class Shape:
    """One problem size and what it is there for."""

    m: int
    n: int
    k: int
    why: str

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


def k_tile_counts(stages: int) -> tuple[tuple[int, str], ...]:
    """Mainloop lengths around the ring's depth, each with what it shows, without repeats."""
    wanted = (
        (1, "one k_tile"),
        (stages - 1, "k_tiles = stages - 1"),
        (stages, "k_tiles = stages"),
        (stages + 1, "k_tiles = stages + 1: the ring wraps"),
        (2 * stages + 1, "odd k_tiles above 2 x stages"),
    )
    seen: dict[int, str] = {}
    for count, why in wanted:
        if count > 0:
            seen.setdefault(count, why)
    return tuple(seen.items())


def resident_clusters(plan: Plan, sm_count: int) -> int:
    """Clusters that `sm_count` SMs hold at one CTA an SM; at least 1."""
    return max(1, sm_count // plan.geometry.cluster_size)


def default_shapes(plan: Plan, sm_count: int) -> tuple[Shape, ...]:
    """Default problem sizes for a device with `sm_count` SMs, smallest first.

    One tile with k_tiles around the ring's depth, several tiles along M and N, a number of tiles
    that the
    resident clusters do not divide, and a K that ends inside a k_tile.
    """
    unit_m, unit_n = plan.problem.m_multiple.value, plan.problem.n_multiple.value
    single = plan.launch.grid is GridKind.SINGLE
    if plan.problem.k_exact is not None and single:
        return (Shape(unit_m, unit_n, plan.problem.k_exact, "the one tile"),)
    if plan.problem.k_exact is not None:
        k = plan.problem.k_exact
        return (
            Shape(unit_m, unit_n, k, "one tile"),
            Shape(3 * unit_m, unit_n, k, "tiles along M"),
            Shape(2 * unit_m, 3 * unit_n, k, "tiles along M and N"),
        )
    step, stages = plan.geometry.tile_k, plan.spec.pipeline.ab_stages
    shapes = [
        Shape(unit_m, unit_n, count * step, f"one tile, {why}")
        for count, why in k_tile_counts(stages)
    ]
    if plan.problem.k_multiple < step:
        tail = stages * step + plan.problem.k_multiple
        shapes.append(Shape(unit_m, unit_n, tail, "K ends inside a k_tile"))
    return (*shapes, *(() if single else _grids(plan, sm_count, unit_m, unit_n)))


def _grids(plan: Plan, sm_count: int, unit_m: int, unit_n: int) -> tuple[Shape, ...]:
    step, stages = plan.geometry.tile_k, plan.spec.pipeline.ab_stages
    k = (stages + 1) * step
    if plan.launch.grid is not GridKind.PERSISTENT:
        return (
            Shape(3 * unit_m, unit_n, k, "tiles along M"),
            Shape(2 * unit_m, 3 * unit_n, k, "tiles along M and N"),
        )
    resident = resident_clusters(plan, sm_count)
    laps = 2 * plan.spec.pipeline.acc_stages
    columns = -(-(laps * resident + 1) // 3)
    walk = (
        f"{3 * columns} tiles over {resident} clusters: all accumulator slots twice, phases carried"
    )
    return (
        Shape(unit_m, (resident + 1) * unit_n, k, "one cluster walks two tiles, the others one"),
        Shape(3 * unit_m, columns * unit_n, k, walk),
        Shape(unit_m, (2 * resident + 1) * unit_n, step, "one k_tile a tile, ragged last wave"),
    )


def grid(plan: Plan, m: int, n: int, max_active_clusters: int) -> tuple[int, int, int]:
    """Launch grid in CTAs for a problem of `m` x `n`, which satisfies `plan.problem`."""
    g = plan.geometry
    if plan.launch.grid is GridKind.SINGLE:
        return (1, 1, 1)
    if plan.launch.grid is GridKind.TILES:
        return (m // g.tile_m, n // g.tile_n, 1)
    tiles = (m // g.cluster_tile_m) * (n // g.cluster_tile_n)
    return (g.cluster_m, g.cluster_n, min(tiles, max_active_clusters))
