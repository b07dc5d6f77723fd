from __future__ import annotations

import functools
import re
from dataclasses import replace
from typing import Any

import pytest
from protocol_mutants import plan_mutants, program_mutants
from variants import SPECS, vary

from gemmgen.check.protocol import check_program, check_protocol, sizes
from gemmgen.plan import Plan, Purpose
from gemmgen.plan.program import make_program
from gemmgen.plan.steps import Load, Program, Thread, Wait

ALL = sorted(path.stem for path in SPECS.glob("v*.toml"))
HOPPER = sorted(f"hopper/{path.stem}" for path in SPECS.glob("hopper/*.toml"))
MUTATED = [*ALL, *(f"hopper/{name}" for name in ("h1_kloop", "h3_pipeline", "h5_warp_specialized"))]
SLOW = [f"hopper/{name}" for name in ("h6_two_consumers", "h7_multicast", "h10_pingpong")]

# Mutants that are the same kernel, and why.
EQUIVALENT = {
    r"v0_\w+ \w+: flips \w+": "each barrier is used once, so no wait comes after a flip",
    r"v1_\w+ \w+: flips on_wrap": "a ring of one slot wraps on each use",
    r"v2_\w+ mma_done: flips on_wrap": "a ring of one slot wraps on each use",
    r"v[3-7]_\w+ acc_full: flips \w+": "acc_full is used once, so no wait comes after a flip",
    r"v[3-8]_\w+ CTA \d producer: Wait [012] dropped": "the first lap of a pre-armed ring passes",
    r"v8_\w+ CTA 0 mma: Wait 0 dropped": "the first wait for a pre-armed slot passes",
    r"hopper/h5_\w+ CTA 0 producer: Wait [012] dropped": "the first lap of the ring passes",
    r"hopper/h5_\w+ CTA 0 mma warp \d: Retire 0 dropped": "it lets the only MMA so far go on",
}


def is_caught(program: Program) -> bool:
    run, faults = check_program(program)
    return bool(faults or run.stuck)


def is_equivalent(name: str, what: str) -> bool:
    return any(re.fullmatch(pattern, f"{name} {what}") for pattern in EQUIVALENT)


@pytest.mark.parametrize("name", [*ALL, *HOPPER])
def test_every_spec_is_proved(name: str) -> None:
    assert list(check_protocol(vary(name))) == []


@functools.cache
def survivors(name: str) -> tuple[str, ...]:
    """Mutants of a plan, and of its program, that the checker passes."""
    plan = vary(name)
    program = make_program(plan, *sizes(plan)[-1])
    plans = [what for what, mutant in plan_mutants(plan) if not list(check_protocol(mutant))]
    return (*plans, *(what for what, p in program_mutants(program) if not is_caught(p)))


@pytest.mark.parametrize("name", MUTATED)
def test_every_mutant_is_caught_or_the_same_kernel(name: str) -> None:
    assert {what for what in survivors(name) if not is_equivalent(name, what)} == set()


def test_every_equivalence_is_of_a_mutant_that_survives() -> None:
    all_survivors = [f"{name} {what}" for name in MUTATED for what in survivors(name)]
    for pattern in EQUIVALENT:
        assert any(re.fullmatch(pattern, survivor) for survivor in all_survivors), pattern


SLOW_EQUIVALENT = {
    **EQUIVALENT,
    r"hopper/\w+ CTA \d producer: Wait [012] dropped": "the first lap of a pre-armed ring passes",
    r"hopper/h10_\w+ CTA \d mma warp [4567]: Wait 0 dropped": "the first turn is consumer 0's",
    r"hopper/h10_\w+ mma_turn: flips on_wrap": "each consumer has a ring of one slot",
    r"hopper/\w+ CTA \d mma warp \d+: Retire 0 dropped": "it lets the only MMA so far go on",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_every_mutant_of_a_cluster_of_consumers_is_caught_or_the_same_kernel(name: str) -> None:
    found = [f"{name} {what}" for what in survivors(name)]
    assert [s for s in found if not any(re.fullmatch(p, s) for p in SLOW_EQUIVALENT)] == []


def test_pingpong_without_turns_may_take_an_old_phase_for_its_own() -> None:
    codes = {
        f.code for f in check_protocol(vary("hopper/h10_pingpong", {"barriers.mma_turn": None}))
    }
    assert codes == {"P275"}


CONSUMERS = {
    "tile.m": 256,
    "pipeline.ab_stages": 4,
    "pipeline.acc_stages": 1,
    "roles.mma.warps": [8, 9],
    "roles.producer.warps": [10],
    "roles.epilogue.warps": list(range(8)),
    "barriers.acc_empty.arrive.0.how": "threads",
}
GRID = {"scheduler.kind": "grid", "barriers.ld2mma": None}
LAST = {"roles.epilogue.warps": [4, 5, 6, 7]}
MMA_FIRST = {
    "roles.mma.warps": [0, 1],
    "roles.producer.warps": [2],
    "roles.epilogue.warps": list(range(4, 12)),
}
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("v8_persistent", CONSUMERS),
    ("v8_persistent", {**CONSUMERS, "pipeline.acc_stages": 2, "tile.n": 128, "mma.n": 128}),
    ("v8_persistent", {"barriers.acc_empty.arrive.0.how": "threads"}),
    ("v2_pipeline", {"scheduler.kind": "persistent"}),
    ("v1_kloop", {"scheduler.kind": "persistent"}),
    ("v7_two_cta", LAST),
    ("v1_kloop", {"roles.producer.warps": [4], "roles.mma.warps": [4]}),
    ("tirx/v9_two_consumers", GRID),
    ("tirx/v9_two_consumers", GRID | {"roles.mma.warps": [0, 1], "roles.producer.warps": [2]}),
    (
        "tirx/v9_two_consumers",
        {**MMA_FIRST, "pipeline.acc_stages": 2, "tile.n": 128, "mma.n": 128, "epilogue.chunks": 2},
    ),
]


@pytest.mark.parametrize(("name", "changes"), OTHERS)
def test_consumers_thread_arrivals_and_persistent_mainloops_are_proved(
    name: str, changes: dict[str, Any]
) -> None:
    plan = vary(name, changes)
    assert list(check_protocol(plan)) == []
    program = make_program(plan, *sizes(plan)[-1])
    caught = [is_caught(mutant) for _, mutant in program_mutants(program)]
    assert sum(caught) > 0.8 * len(caught)


CLUSTERS: list[tuple[str, dict[str, Any]]] = [
    ("v6_multicast", {"cluster.m": 4, "cluster.n": 2}),
    ("v6_multicast", {"cluster.m": 1, "load.multicast": ["a"]}),
    ("v6_multicast", {"load.multicast": ["b"]}),
    *(
        (
            "v8_persistent",
            {
                "cluster.m": m,
                "cluster.n": n,
                "load.multicast": operands,
                "barriers.ab_empty.arrive.0.to": "sharers",
            },
        )
        for m, n, operands in ((2, 2, ["a"]), (4, 1, ["b"]), (4, 2, ["a", "b"]))
    ),
]


@pytest.mark.parametrize(("name", "changes"), CLUSTERS)
def test_masks_and_counts_of_other_clusters_are_proved(name: str, changes: dict[str, Any]) -> None:
    assert list(check_protocol(vary(name, changes))) == []


def without_peer(plan: Plan) -> Plan:
    barriers = []
    for barrier in plan.barriers:
        arrives = tuple(
            replace(a, mask=None) if barrier.purpose is Purpose.AB_EMPTY else a
            for a in barrier.arrives
        )
        barriers.append(replace(barrier, arrives=arrives))
    return replace(plan, barriers=tuple(barriers))


def without_drain(program: Program) -> Program:
    """`program` whose producers wait only for stages that they load."""
    threads = []
    for thread in program.threads:
        loads = [i for i, step in enumerate(thread.steps) if isinstance(step, Load)]
        last = loads[-1] if loads else len(thread.steps)
        kept = tuple(
            step
            for i, step in enumerate(thread.steps)
            if i <= last or not (isinstance(step, Wait) and step.barrier == "ab_empty")
        )
        threads.append(Thread(thread.rank, thread.name, kept))
    return replace(program, threads=tuple(threads))


def test_a_commit_without_the_peer_hangs_only_once_a_stage_is_waited_for_again() -> None:
    plan = without_peer(vary("v7_two_cta"))
    assert check_program(without_drain(make_program(plan, 3)))[0].stuck == []
    run, _ = check_program(without_drain(make_program(plan, 16)))
    assert {thread.who for thread, _ in run.stuck} >= {"CTA 1 producer", "CTA 0 mma"}


@pytest.mark.parametrize("name", ["v3_warp_specialized", "v7_two_cta", "v8_persistent"])
def test_a_producer_that_does_not_drain_its_ring_lets_a_commit_reach_a_cta_that_left(
    name: str,
) -> None:
    plan = vary(name)
    _, faults = check_program(without_drain(make_program(plan, *sizes(plan)[-1])))
    assert {fault.code for fault in faults} == {"P279"}


def test_a_commit_without_the_peer_is_shown_as_a_hang() -> None:
    findings = list(check_protocol(without_peer(vary("v7_two_cta"))))
    assert [finding.code for finding in findings] == ["P271", "P280"]
    assert findings[0].title == "`ab_empty` of CTA 1 counts 1, and 0 arrive"
    assert "CTA 1 producer  waits for ab_empty[0] phase 0" in findings[1].source
    assert findings[1].key.startswith("barriers[")


def test_phases_reset_for_each_tile_are_right_only_for_multiples_of_twice_the_stages() -> None:
    plan = vary("v8_persistent")
    barriers = tuple(
        replace(b, waits=tuple(replace(w, carried=False) for w in b.waits))
        if b.purpose in (Purpose.AB_FULL, Purpose.AB_EMPTY)
        else b
        for b in plan.barriers
    )
    reset = replace(plan, barriers=barriers)
    stages = plan.spec.pipeline.ab_stages
    right = [k for k in range(1, 4 * stages + 1) if not is_caught(make_program(reset, k, 3))]
    assert right == [2 * stages, 4 * stages]


def test_timeline_ends_with_the_step_that_goes_wrong_and_what_may_come_later() -> None:
    plan = vary("v8_persistent")
    full = plan.barriers[0]
    assert full.tx_bytes is not None
    half = replace(full, tx_bytes=replace(full.tx_bytes, value=full.tx_bytes.value // 2))
    findings = list(check_protocol(replace(plan, barriers=(half, *plan.barriers[1:]))))
    assert [finding.code for finding in findings] == ["P270", "P275"]
    *_, wrong, late, reason = findings[1].source.splitlines()
    assert wrong.startswith("CTA 0 mma")
    assert wrong.endswith("<- here")
    assert "lands" in late
    assert late.endswith("<- may come later")
    assert reason.startswith("so: ")


def test_sizes_wrap_every_ring_twice() -> None:
    for name in ALL:
        plan = vary(name)
        k_tiles, tiles = sizes(plan)[-1]
        assert k_tiles > 2 * plan.spec.pipeline.ab_stages or plan.problem.k_exact
        assert tiles > 2 * plan.spec.pipeline.acc_stages or not plan.persistent
