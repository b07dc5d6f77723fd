"""Plain copies in place of TMA loads: what orders them is proved, and missed where it is gone."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from protocol_mutants import program_mutants, without_sync
from variants import vary

from gemmgen.check import check_plan
from gemmgen.check.protocol import check_program, sizes
from gemmgen.plan import Plan
from gemmgen.plan.program import make_program
from gemmgen.plan.steps import Arrive, Fill, Program, Step, Sync, Thread, Wait

Changes = dict[str, Any]
PLAIN = {"load.kind": "cooperative"}
RING = PLAIN | {"roles.producer.warps": [0, 1, 2, 3], "barriers.tma": None}
BESIDE = PLAIN | {
    "roles.producer.warps": [0, 1],
    "roles.mma.warps": [2],
    "barriers.ab_full.arrive.0.how": "threads",
}
WALKS = BESIDE | {"roles.producer.warps": [4, 5], "roles.mma.warps": [6]}
SAME = r".*: Wait \d dropped"
EIGHT_WARPS = {"roles.producer.warps": list(range(8)), "roles.epilogue.warps": [4, 5, 6, 7]}
AHEAD: list[tuple[str, Changes]] = [
    ("tirx/v5_two_stage", RING),
    ("tirx/v5_two_stage", RING | {"pipeline.ab_stages": 4}),
    ("tirx/v6_persistent", RING),
    ("tirx/v6_persistent", RING | {"pipeline.ab_stages": 3}),
    ("tirx/v6_persistent", RING | EIGHT_WARPS),
    ("tirx/v3_tiled", {"scheduler.kind": "persistent"}),
]
ROLES: list[tuple[str, Changes]] = [
    ("v4_swizzle", BESIDE),
    ("v4_swizzle", BESIDE | {"roles.producer.warps": [1], "roles.mma.warps": [0]}),
    ("v7_two_cta", BESIDE),
    ("v7_two_cta", BESIDE | {"cluster.m": 4}),
    ("v8_persistent", WALKS),
]


def longest(plan: Plan) -> Program:
    return make_program(plan, *sizes(plan)[-1])


def codes(program: Program) -> set[str]:
    run, faults = check_program(program)
    return {fault.code for fault in faults} | ({"hang"} if run.stuck else set())


def without(program: Program, kind: type[Step], nth: int, barrier: str = "") -> Program:
    """`program` whose threads skip their `nth` step of `kind`, on `barrier` if one is named."""
    threads = []
    for thread in program.threads:
        places = [i for i, step in enumerate(thread.steps) if isinstance(step, kind)]
        named = [i for i in places if getattr(thread.steps[i], "barrier", "") == barrier]
        gone = named[nth : nth + 1]
        kept = tuple(step for i, step in enumerate(thread.steps) if i not in gone)
        threads.append(Thread(thread.rank, thread.name, kept))
    return replace(program, threads=tuple(threads))


@pytest.mark.parametrize(("name", "changes"), AHEAD + ROLES)
def test_copies_are_proved_and_of_their_mutants_only_one_wait_of_many_is_not_missed(
    name: str, changes: Changes
) -> None:
    """A wait that one warp skips: the first lap's, or one that the CTA's barrier makes up for."""
    plan = vary(name, changes)
    assert check_plan(plan) == []
    passed = [what for what, mutant in program_mutants(longest(plan)) if not codes(mutant)]
    assert [what for what in passed if not re.fullmatch(SAME, what)] == []


@pytest.mark.parametrize(("name", "changes"), AHEAD)
def test_copies_ahead_need_their_barrier_and_the_wait_for_the_last_mma(
    name: str, changes: Changes
) -> None:
    plan = vary(name, changes)
    program = longest(plan)
    assert "P275" in codes(without_sync(program, "after the copies"))
    assert "P276" in codes(without(program, Wait, 1, "mma"))
    assert "P275" in codes(without(program, Fill, 2))
    if plan.persistent:  # without the barrier before its first MMA, which is not the one of setup
        second_tile = 1 + program.k_tiles
        assert codes(without(program, Sync, second_tile)) == {"P275", "hang"}


@pytest.mark.parametrize(("name", "changes"), ROLES)
def test_a_role_that_copies_waits_for_its_stage_and_every_thread_of_it_arrives(
    name: str, changes: Changes
) -> None:
    program = longest(vary(name, changes))
    stages = max(slots.depth for slots in program.barriers)
    assert codes(without(program, Wait, stages, "ab_empty")) & {"P274", "P276"}
    assert "hang" in codes(without(program, Arrive, 0, "ab_full"))
    assert "P275" in codes(without(program, Fill, 2))


@pytest.mark.parametrize("to", ["pair", "self", "sharers"])
def test_copies_that_are_announced_elsewhere_are_shown_where_they_lead(to: str) -> None:
    plan = vary("v7_two_cta", BESIDE | {"barriers.ab_full.arrive.0.to": to})
    found = {finding.code for finding in check_plan(plan)}
    assert "P258" in found
    assert found & {"P271", "P275", "P280"}


@pytest.mark.parametrize(("name", "changes"), ROLES)
def test_a_stage_that_lacks_one_thread_is_a_finding(name: str, changes: Changes) -> None:
    plan = vary(name, changes)
    full = plan.barriers[0]
    count = replace(full.arrivals, value=full.arrivals.value - 1)
    short = replace(plan, barriers=(replace(full, arrivals=count), *plan.barriers[1:]))
    assert "P271" in codes(longest(short))
