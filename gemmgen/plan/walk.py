"""The order of output tiles: a persistent CTA or cluster walks over them, a grid has one each."""

from __future__ import annotations

from gemmgen.frozen import frozen
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.roles import is_persistent
from gemmgen.spec.model import Spec


@frozen
class WalkPlan:
    """Expressions of a tile's place, over ``tile``, the counts of tiles and the CTA's rank.

    Attributes:
        index, count: variables with the number of this cluster (or CTA) and how many there are.
        group_m: rows of cluster tiles that are walked before the next column; None: all of them.
        group_n: columns of cluster tiles that are walked before the next row, instead.
        row, column: place of the cluster's tile.
        m_tile, n_tile: place of this CTA's tile, in CTA tiles.
        b_tile: which rows of B it stages, in units of what a CTA stages.
        launched: place in the grid of this cluster (or CTA), where each computes one tile. The
            hardware launches along x first.
    """

    index: str
    count: str
    group_m: int | None
    group_n: int | None
    row: str
    column: str
    m_tile: str
    n_tile: str
    b_tile: str
    launched: str

    @property
    def grouped(self) -> bool:
        """Whether tiles are walked in groups."""
        return self.group_m is not None or self.group_n is not None


def plan_walk(spec: Spec, g: Geometry) -> WalkPlan:
    """The walk of `spec`: down M first, or inside groups of rows or of columns."""
    scheduler = spec.scheduler
    group = scheduler.group_m or scheduler.group_n
    row, column = ("row", "column") if group else ("(tile % m_tiles)", "(tile // m_tiles)")
    if not is_persistent(spec):
        row, column = "m_tile", "n_tile"
    bare_row, bare_column = row.strip("()"), column.strip("()")
    down = "cta_rank" if g.cluster_n == 1 else "cta_m"
    across = "cta_rank" if g.is_line else "cta_n"
    m_tile = f"CLUSTER_M * {row} + {down}" if g.cluster_m > 1 else bare_row
    n_tile = f"CLUSTER_N * {column} + {across}" if g.cluster_n > 1 else bare_column
    whole = f"({n_tile})" if g.cluster_n > 1 else column
    half = down if g.cluster_m == 2 else f"{down} % 2"
    return WalkPlan(
        index="cluster" if g.cluster_size > 1 else "cta",
        count="clusters" if g.cluster_size > 1 else "ctas",
        group_m=scheduler.group_m,
        group_n=scheduler.group_n,
        row=bare_row,
        column=bare_column,
        m_tile=m_tile,
        n_tile=n_tile,
        b_tile=f"2 * {whole} + {half}" if g.is_pair else n_tile,
        launched=f"cute.arch.{'cluster' if g.cluster_size > 1 else 'block'}_idx()",
    )
