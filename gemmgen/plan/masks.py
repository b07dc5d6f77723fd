"""CTA masks of a cluster: whom a multicast or a commit reaches."""

from __future__ import annotations

from collections.abc import Callable

from gemmgen.frozen import frozen
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.values import Constant
from gemmgen.terms import ArriveTo, Operand


@frozen
class MaskRule:
    """A 16-bit CTA mask that depends on the CTA's place in its cluster.

    Attributes:
        name: variable of the generated kernel that holds it.
        code: Python expression over the mask constants, ``cta_m``, ``cta_n`` (place in the
            cluster), ``leader_rank`` and the names of other masks.
        by_rank: the mask at each cluster rank.
        text: whom it names, in words.
        constants: module constants that `code` uses.
    """

    name: str
    code: str
    by_rank: tuple[int, ...]
    text: str
    constants: tuple[Constant, ...]

    def targets(self, rank: int) -> tuple[int, ...]:
        """Ranks that the mask names at `rank`, in rising order."""
        mask = self.by_rank[rank]
        return tuple(bit for bit in range(mask.bit_length()) if mask >> bit & 1)


def _by_rank(g: Geometry, names: Callable[[int, int], bool]) -> tuple[int, ...]:
    ranks = range(g.cluster_size)
    return tuple(sum(1 << peer for peer in ranks if names(rank, peer)) for rank in ranks)


def _bits(g: Geometry, mask: int) -> str:
    return f"0b{mask:0{g.cluster_size}b}"


def _row_constant(g: Geometry) -> Constant:
    mask = sum(1 << g.rank(0, n) for n in range(g.cluster_n))
    return Constant(
        "A_MASK", mask, _bits(g, mask), "ranks of cluster row 0: they share a tile of A"
    )


def _column_constant(g: Geometry) -> Constant:
    mask = sum(1 << g.rank(m, 0) for m in range(0, g.cluster_m, g.cta_group))
    note = "ranks of cluster column 0: they share a tile of B"
    return Constant("B_MASK", mask, _bits(g, mask), note)


def _same_row(g: Geometry) -> Callable[[int, int], bool]:
    return lambda rank, peer: rank % g.cluster_m == peer % g.cluster_m


def _same_column(g: Geometry) -> Callable[[int, int], bool]:
    """CTAs that stage the same rows of B; the two halves of a pair stage different ones."""
    return lambda rank, peer: (
        rank // g.cluster_m == peer // g.cluster_m and (rank - peer) % g.cta_group == 0
    )


def multicast_mask(g: Geometry, operand: Operand) -> MaskRule:
    """The CTAs that a multicast load of `operand` writes to."""
    if operand is Operand.A:
        row = _row_constant(g)
        return MaskRule(
            name="a_mask",
            code="A_MASK" if g.is_line else "A_MASK << cta_m",
            by_rank=_by_rank(g, _same_row(g)),
            text="the CTAs of its row, which multiply the same rows of A",
            constants=(row,),
        )
    column = _column_constant(g)
    shift = "(CLUSTER_M * cta_n + cta_m % 2)" if g.is_pair else "CLUSTER_M * cta_n"
    return MaskRule(
        name="b_mask",
        code="B_MASK" if g.is_line else f"B_MASK << {shift}",
        by_rank=_by_rank(g, _same_column(g)),
        text="the CTAs of its column, which multiply the same rows of B",
        constants=(column,),
    )


def _pair_mask(g: Geometry) -> MaskRule:
    constant = Constant("PAIR_MASK", 0b11, "0b11", "the leader CTA and its peer")
    return MaskRule(
        name="pair_mask",
        code="PAIR_MASK" if g.cluster_size == 2 else "PAIR_MASK << leader_rank",
        by_rank=_by_rank(g, lambda rank, peer: g.leader(rank) == g.leader(peer)),
        text="both CTAs of the pair",
        constants=(constant,),
    )


def _sharers_mask(g: Geometry, shared: tuple[Operand, ...]) -> MaskRule:
    """CTAs whose loads write to this CTA group; a peer's mask is its leader's, one bit further."""
    parts = [multicast_mask(g, operand) for operand in shared]

    def names(rank: int, peer: int) -> bool:
        leader, target = g.leader(rank), g.leader(peer)
        return any(part.by_rank[leader] >> target & 1 for part in parts)

    own = " | ".join(part.name for part in parts)
    both = " | ".join(f"{part.name} | {part.name} << 1" for part in parts)
    return MaskRule(
        name="empty_mask",
        code=both if g.is_pair else own,
        by_rank=_by_rank(g, names),
        text="every CTA whose loads write to this one: its row and its column",
        constants=tuple(c for part in parts for c in part.constants),
    )


def arrive_mask(g: Geometry, to: ArriveTo, shared: tuple[Operand, ...]) -> MaskRule | None:
    """The CTAs that a commit sent `to` reaches; None where it reaches its own CTA only."""
    if to is ArriveTo.PAIR and g.is_pair:
        return _pair_mask(g)
    if to is ArriveTo.SHARERS and shared:
        return _sharers_mask(g, shared)
    return None
