"""Tile, instruction and cluster geometry."""

from __future__ import annotations

from gemmgen.frozen import frozen
from gemmgen.spec.model import Spec
from gemmgen.terms import MainloopKind, MmaKind


@frozen
class Geometry:
    """How a cluster's output tile is cut into CTAs and instructions. All extents in elements.

    Attributes:
        tile_m, tile_n, tile_k: output tile of one CTA and its K step.
        mma_m, mma_n, mma_k: shape of one instruction; with a CTA pair, that of the pair.
        cta_group: CTAs that issue one instruction together, 1 or 2.
        pair_m: rows of the output tile of a CTA group: ``tile_m * cta_group``.
        cluster_m, cluster_n: CTAs of a cluster along M and N.
        a_rows, b_rows: rows of A and of B that one CTA stages in a k_tile. A CTA pair halves B.
        consumers: mma warps of a CTA group, or warpgroups with wgmma; each multiplies its share of
            A with the same B, or in a ping-pong mainloop tiles of its own.
        acc_rows: rows of D that one CTA has in one accumulator.
        m_blocks: instructions along M that one consumer issues in a k_block.
        k_blocks: MMA steps in a k_tile.
        m_steps, n_steps: instructions that cover the tile of a CTA group along M and N.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    mma_m: int
    mma_n: int
    mma_k: int
    cta_group: int
    pair_m: int
    cluster_m: int
    cluster_n: int
    a_rows: int
    b_rows: int
    consumers: int
    acc_rows: int
    m_blocks: int
    k_blocks: int
    m_steps: int
    n_steps: int

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        return self.cluster_m * self.cluster_n

    @property
    def is_line(self) -> bool:
        """Whether the cluster is one row or column of CTAs without pairs: its rank is its place."""
        return self.cluster_size > 1 and 1 in (self.cluster_m, self.cluster_n) and not self.is_pair

    @property
    def is_pair(self) -> bool:
        """Whether two CTAs share one instruction."""
        return self.cta_group == 2

    @property
    def cluster_tile_m(self) -> int:
        """Rows of D that a cluster computes at a time."""
        return self.tile_m * self.cluster_m

    @property
    def cluster_tile_n(self) -> int:
        """Columns of D that a cluster computes at a time."""
        return self.tile_n * self.cluster_n

    def rank(self, m: int, n: int) -> int:
        """Rank in its cluster of the CTA at (m, n): M is x (PTX ISA, ``%cluster_ctarank``)."""
        return m + n * self.cluster_m

    def leader(self, rank: int) -> int:
        """Rank of the CTA that leads the CTA group of `rank`: the even one of a pair."""
        return rank - rank % self.cta_group


def consumer_count(spec: Spec) -> int:
    """Consumers of a CTA group: mma warps, or warpgroups with wgmma; at least 1.

    Source: PTX ISA, wgmma.mma_async: the four warps of a warpgroup execute it together.
    """
    warps = len(spec.roles.mma.warps)
    return max(1, -(-warps // 4) if spec.mma.kind is MmaKind.WGMMA else warps)


def plan_geometry(spec: Spec) -> Geometry:
    """Geometry of `spec`; extents that do not divide are rounded up and reported by the checker."""
    tile, mma = spec.tile, spec.mma
    pair_m = tile.m * mma.cta_group
    consumers = consumer_count(spec)
    sharing = 1 if spec.mainloop.kind is MainloopKind.PINGPONG else consumers
    acc_rows = -(-tile.m // sharing)
    return Geometry(
        tile_m=tile.m,
        tile_n=tile.n,
        tile_k=tile.k,
        mma_m=mma.m,
        mma_n=mma.n,
        mma_k=mma.k,
        cta_group=mma.cta_group,
        pair_m=pair_m,
        cluster_m=spec.cluster.m if spec.cluster else 1,
        cluster_n=spec.cluster.n if spec.cluster else 1,
        a_rows=tile.m,
        b_rows=-(-tile.n // mma.cta_group),
        consumers=consumers,
        acc_rows=acc_rows,
        m_blocks=-(-acc_rows * mma.cta_group // mma.m),
        k_blocks=-(-tile.k // mma.k),
        m_steps=-(-pair_m // mma.m),
        n_steps=-(-tile.n // mma.n),
    )
