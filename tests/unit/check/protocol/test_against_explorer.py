"""The prover and a search of all interleavings agree on small kernels and all their mutants."""

from __future__ import annotations

from typing import Any

import pytest
from protocol_explorer import Explorer, TooManyError
from protocol_mutants import plan_mutants, program_mutants
from variants import vary

from gemmgen.check.protocol import check_program
from gemmgen.plan.program import make_program
from gemmgen.plan.steps import Program

LIMIT = 20_000
COPIES_AHEAD = {
    "load.kind": "cooperative",
    "roles.producer.warps": [0, 1, 2, 3],
    "barriers.tma": None,
}
COPIES_BESIDE = {
    "load.kind": "cooperative",
    "pipeline.ab_stages": 1,
    "roles.producer.warps": [0, 1],
    "roles.mma.warps": [2],
    "barriers.ab_full.arrive.0.how": "threads",
}
CONSUMERS = {
    "tile.m": 256,
    "pipeline.ab_stages": 1,
    "roles.mma.warps": [1, 2],
    "roles.epilogue.warps": list(range(8)),
    "barriers.acc_full.ring": "acc",
}
LAST = {"pipeline.ab_stages": 1, "roles.epilogue.warps": [4, 5, 6, 7]}
FEW = [
    ("v0_single_tile", {}, 1, 1),
    ("v1_kloop", {}, 3, 1),
    ("v2_pipeline", {"pipeline.ab_stages": 2}, 5, 1),
    ("v3_warp_specialized", {"pipeline.ab_stages": 1}, 3, 1),
    ("v3_warp_specialized", {"pipeline.ab_stages": 2}, 5, 1),
    ("tirx/v5_two_stage", COPIES_AHEAD, 3, 1),
    ("v3_warp_specialized", COPIES_BESIDE, 3, 1),
    ("v3_warp_specialized", LAST, 3, 1),
    ("v3_warp_specialized", CONSUMERS, 3, 1),
]
SHARED = {"cluster.m": 1, "load.multicast": ["a"]}
MANY = [
    ("v6_multicast", {**SHARED, "pipeline.ab_stages": 1}, 3, 1),
    ("v7_two_cta", {"pipeline.ab_stages": 1}, 3, 1),
    ("v7_two_cta", {"pipeline.ab_stages": 2}, 5, 1),
    ("v8_persistent", {"pipeline.ab_stages": 1, "pipeline.acc_stages": 1}, 1, 3),
    ("v8_persistent", {"pipeline.ab_stages": 1, "pipeline.acc_stages": 2}, 1, 5),
]
# Whether a peer runs when a pair allocates is no state of the search.
UNSEEN = {"no barrier: setup"}


def assert_agreement(name: str, changes: dict[str, Any], k_tiles: int, tiles: int) -> None:
    plan = vary(name, changes)
    program = make_program(plan, k_tiles, tiles)
    cases: list[tuple[str, Program]] = [("as planned", program)]
    cases += [(what, make_program(p, k_tiles, tiles)) for what, p in plan_mutants(plan)]
    cases += program_mutants(program)
    decided = 0
    for what, case in cases:
        run, faults = check_program(case)
        try:
            wrong = Explorer(case, LIMIT, program).wrong()
        except TooManyError:
            continue
        decided += 1
        if what not in UNSEEN:
            assert bool(wrong) == bool(faults or run.stuck), (what, wrong, faults[:1])
    assert decided > len(cases) // 2


@pytest.mark.parametrize(("name", "changes", "k_tiles", "tiles"), FEW)
def test_prover_and_search_agree(
    name: str, changes: dict[str, Any], k_tiles: int, tiles: int
) -> None:
    assert_agreement(name, changes, k_tiles, tiles)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "changes", "k_tiles", "tiles"), MANY)
def test_prover_and_search_agree_on_clusters(
    name: str, changes: dict[str, Any], k_tiles: int, tiles: int
) -> None:
    assert_agreement(name, changes, k_tiles, tiles)
