"""Rules of clusters, CTA pairs and multicast."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.check.finding import fault
from gemmgen.plan import Plan
from gemmgen.terms import Finding, LoadKind, Operand


def check_cluster(plan: Plan) -> Iterator[Finding]:
    """P240 to P243: a cluster that the MMA and the loads can use."""
    yield from _pair(plan)
    yield from _size(plan)
    yield from _multicast(plan)


def _pair(plan: Plan) -> Iterator[Finding]:
    g = plan.geometry
    if g.is_pair and g.cluster_m % 2:
        yield fault(
            "P240",
            "a CTA pair needs an even number of CTAs along M",
            "cluster.m" if plan.spec.cluster else "mma.cta_group",
            f"cluster {g.cluster_m} x {g.cluster_n}, cta_group 2",
            help="write `[cluster]` with `m = 2` and `n = 1`, or `cta_group = 1`",
        )
    if g.is_pair and g.tile_n % 2:
        yield fault(
            "P240",
            "a CTA pair halves B, so tile.n is even",
            "tile.n",
            f"{g.tile_n} / 2 = {g.tile_n / 2:g} rows of B a CTA",
            help="take an even tile.n",
        )


def _size(plan: Plan) -> Iterator[Finding]:
    g, limit = plan.geometry, plan.arch.cluster_portable
    if g.cluster_size > limit:
        yield fault(
            "P241",
            f"a cluster of {g.cluster_size} CTAs is over the portable {limit}",
            "cluster",
            f"{g.cluster_m} x {g.cluster_n} = {g.cluster_size} > {limit}",
            help=f"take at most {limit} CTAs",
        )
    if plan.spec.cluster and g.cluster_size == 1:
        yield fault(
            "P241",
            "a cluster of one CTA is written by leaving the table out",
            "cluster",
            help="remove `[cluster]`",
        )


def _multicast(plan: Plan) -> Iterator[Finding]:
    g, spec = plan.geometry, plan.spec
    if spec.load.multicast and spec.load.kind is not LoadKind.TMA:
        yield fault(
            "P242",
            "only TMA loads multicast",
            "load.multicast",
            "a plain store writes the shared memory of one CTA",
            help='write `multicast = []`, or `kind = "tma"`',
        )
    for operand in spec.load.multicast:
        is_a = operand is Operand.A
        sharers = g.cluster_n if is_a else g.cluster_m // g.cta_group
        if sharers > 1:
            continue
        extent, axis = ("cluster.n", "N") if is_a else ("cluster.m", "M")
        need = 2 if is_a else 2 * g.cta_group
        whom = "CTA" if is_a or not g.is_pair else "CTA pair"
        name = operand.value.upper()
        if spec.cluster is None:
            title = f"multicast of {name} needs a cluster"
        else:
            title = f"{name} has nobody to be shared with: one {whom} along {axis}"
        yield fault(
            "P243",
            title,
            "load.multicast",
            f"cluster {g.cluster_m} x {g.cluster_n}",
            help=f"write `{extent} = {need}`, or leave `{operand}` out of `multicast`",
        )
