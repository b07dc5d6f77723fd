from __future__ import annotations

from typing import Any

import pytest
from variants import vary

from gemmgen.plan import Plan, Purpose

CLUSTERS = [
    {"cluster.m": m, "cluster.n": n}
    for m, n in ((2, 2), (4, 1), (1, 4), (2, 4), (4, 2))
]  # fmt: skip
PAIRS = [{"cluster.m": m, "cluster.n": n} for m, n in ((2, 1), (2, 2), (4, 1), (4, 2))]


def multicast_plan(changes: dict[str, Any]) -> Plan:
    return vary("v6_multicast", changes)


def pair_plan(changes: dict[str, Any]) -> Plan:
    return vary(
        "v7_two_cta",
        {**changes, "load.multicast": ["a", "b"], "barriers.ab_empty.arrive.0.to": "sharers"},
    )


def evaluate(plan: Plan, rank: int, code: str) -> int:
    """`code` of a mask in the CTA at `rank`, with the names that a generated kernel has."""
    g = plan.geometry
    scope = {c.name: c.value for line in plan.constants for c in line.constants}
    scope |= {"cta_m": rank % g.cluster_m, "cta_n": rank // g.cluster_m}
    scope["leader_rank"] = g.leader(rank)
    for copy in plan.copies:
        if copy.mask:
            scope[copy.mask.name] = eval(copy.mask.code, {}, scope)
        else:
            scope[f"{copy.operand}_mask"] = 1 << rank
    return int(eval(code, {}, scope))


def assert_codes_give_masks(plan: Plan) -> None:
    ranks = range(plan.geometry.cluster_size)
    leaders = [rank for rank in ranks if plan.geometry.leader(rank) == rank]
    for copy in plan.copies:
        if copy.mask:
            assert [evaluate(plan, r, copy.mask.code) for r in ranks] == list(copy.mask.by_rank)
    for barrier in plan.barriers:
        if barrier.mask:
            got = [evaluate(plan, rank, barrier.mask.code) for rank in leaders]
            assert got == [barrier.mask.by_rank[rank] for rank in leaders]


@pytest.mark.parametrize("changes", CLUSTERS)
def test_mask_expressions_give_the_planned_masks(changes: dict[str, int]) -> None:
    assert_codes_give_masks(multicast_plan(changes))


@pytest.mark.parametrize("changes", PAIRS)
def test_mask_expressions_of_pairs_give_the_planned_masks(changes: dict[str, int]) -> None:
    assert_codes_give_masks(pair_plan(changes))


@pytest.mark.parametrize("make", [multicast_plan, pair_plan])
@pytest.mark.parametrize(
    "changes", [{"cluster.m": 4, "cluster.n": 2}, {"cluster.m": 2, "cluster.n": 2}]
)
def test_a_stage_is_freed_by_exactly_the_ctas_that_read_what_its_loads_wrote(
    make: Any, changes: dict[str, int]
) -> None:
    """From the loads' masks alone: arrivals at a CTA come from the readers of its writes."""
    plan = make(changes)
    g, empty = plan.geometry, plan.barrier(Purpose.AB_EMPTY)
    assert empty is not None
    assert empty.mask is not None
    for rank in range(g.cluster_size):
        readers = {rank}
        for copy in plan.copies:
            readers |= set(copy.mask.targets(rank)) if copy.mask else set()
        leaders = {g.leader(reader) for reader in readers}
        arrivals = {
            leader
            for leader in {g.leader(r) for r in range(g.cluster_size)}
            if rank in empty.mask.targets(leader)
        }
        assert arrivals == leaders
        assert empty.arrivals.value == len(leaders)


def test_multicast_masks_of_a_2x2_cluster() -> None:
    plan = vary("v6_multicast")
    assert plan.a.mask is not None
    assert plan.b.mask is not None
    assert plan.a.mask.by_rank == (0b0101, 0b1010, 0b0101, 0b1010)
    assert plan.b.mask.by_rank == (0b0011, 0b0011, 0b1100, 0b1100)


def test_commit_of_a_pair_names_the_peer() -> None:
    plan = vary("v7_two_cta")
    empty = plan.barrier(Purpose.AB_EMPTY)
    assert empty is not None
    assert empty.mask is not None
    assert empty.mask.by_rank == (0b11, 0b11)


def test_only_one_operand_shared_counts_only_its_sharers() -> None:
    plan = vary("v6_multicast", {"load.multicast": ["a"]})
    empty = plan.barrier(Purpose.AB_EMPTY)
    assert empty is not None
    assert empty.mask is not None
    assert (empty.arrivals.value, empty.mask.by_rank[0]) == (2, 0b0101)
    assert plan.b.slices == 1
