"""Problem sizes that reach every turn of a kernel's rings and grid."""

from __future__ import annotations

from gemmgen.frozen import frozen
from gemmgen.plan.launch import GridKind
from gemmgen.plan.make import Plan
from gemmgen.terms import MainloopKind


@frozen
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
    that the resident clusters do not divide, a K that ends inside a k_tile, and where the kernel
    takes it an M and an N that end inside a tile.
    """
    unit_m, unit_n = plan.geometry.cluster_tile_m, plan.geometry.cluster_tile_n
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
    if plan.problem.ragged:
        tail_m, tail_n = plan.geometry.tile_m // 2 + 3, plan.problem.n_multiple.value
        k = stages * step
        shapes.append(Shape(unit_m - tail_m, unit_n - tail_n, k, "M and N end inside a tile"))
        shapes.append(Shape(1, tail_n, k, "one row, the fewest columns"))
    return (*shapes, *(() if single else _grids(plan, sm_count, unit_m, unit_n)))


def _grids(plan: Plan, sm_count: int, unit_m: int, unit_n: int) -> tuple[Shape, ...]:
    step, stages = plan.geometry.tile_k, plan.spec.pipeline.ab_stages
    k = (stages + 1) * step
    if plan.launch.grid is not GridKind.PERSISTENT:
        return (
            Shape(3 * unit_m, unit_n, k, "tiles along M"),
            Shape(2 * unit_m, 3 * unit_n, k, "tiles along M and N"),
            *_groups(plan, unit_m, unit_n),
        )
    resident = resident_clusters(plan, sm_count)
    laps = 2 * plan.spec.pipeline.acc_stages
    if plan.spec.mainloop.kind is MainloopKind.PINGPONG:
        laps *= plan.geometry.consumers
    columns = -(-(laps * resident + 1) // 3)
    walk = (
        f"{3 * columns} tiles over {resident} clusters: all accumulator slots twice, phases carried"
    )
    return (
        Shape(unit_m, (resident + 1) * unit_n, k, "one cluster walks two tiles, the others one"),
        Shape(3 * unit_m, columns * unit_n, k, walk),
        Shape(unit_m, (2 * resident + 1) * unit_n, step, "one k_tile a tile, ragged last wave"),
        *_groups(plan, unit_m, unit_n),
    )


def _groups(plan: Plan, unit_m: int, unit_n: int) -> tuple[Shape, ...]:
    """A last group of tiles with less in it than the others."""
    rows, columns = plan.walk.group_m, plan.walk.group_n
    step, why = plan.geometry.tile_k, "the last group of tiles is cut off"
    if 1 in (rows, columns):
        why = "two groups, of one line of tiles each"
    if rows is not None:
        return (Shape((rows + 1) * unit_m, 2 * unit_n, step, why),)
    if columns is not None:
        return (Shape(2 * unit_m, (columns + 1) * unit_n, step, why),)
    return ()


def grid(plan: Plan, m: int, n: int, max_active_clusters: int) -> tuple[int, int, int]:
    """Launch grid in CTAs for a problem of `m` x `n`, which satisfies `plan.problem`."""
    g = plan.geometry
    rows, columns = -(-m // g.cluster_tile_m), -(-n // g.cluster_tile_n)
    if plan.launch.grid is GridKind.SINGLE:
        return (g.cluster_m, g.cluster_n, 1)
    if plan.launch.grid is GridKind.TILES:
        return (rows * g.cluster_m, columns * g.cluster_n, 1)
    return (g.cluster_m, g.cluster_n, min(rows * columns, max_active_clusters))
