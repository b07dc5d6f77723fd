"""Features of sm_100a that no committed spec combines: accepted, proved, printed without residue.

`tests/kernels/test_crossed.py` runs such kernels.
"""

from __future__ import annotations

import ast
from typing import Any

import pytest
from variants import vary

from gemmgen.check import check_plan
from gemmgen.plan.program import make_program
from gemmgen.plan.steps import Mma, Read
from gemmgen.render.engine import render
from gemmgen.terms import Role

Changes = dict[str, Any]
LAST = {"roles.epilogue.warps": [4, 5, 6, 7]}
STORE = {"epilogue.kind": "tma_store", "epilogue.d_stages": 2}
ONE_WARP = {"roles.producer.warps": [4], "roles.mma.warps": [4]}

WRITEBACK: list[tuple[str, str, Changes]] = [
    ("last warps", "v4_swizzle", LAST),
    ("first warps", "v6_multicast", {"roles.producer.warps": [5], "roles.mma.warps": [4]}),
    ("TMA stores of a pair", "v7_two_cta", LAST | STORE),
    ("warps in between", "v5_epilogue", LAST | STORE | {"roles.producer.warps": [8]}),
    ("beside one warp that loads and multiplies", "v1_kloop", ONE_WARP),
    ("beside a ring of one warp", "v2_pipeline", ONE_WARP | STORE),
    (
        "beside one warp that walks over tiles, one buffer",
        "v1_kloop",
        ONE_WARP | {"scheduler.kind": "persistent"},
    ),
    ("beside one warp that walks over tiles", "tirx/v6_persistent", ONE_WARP),
    ("one K step", "v0_single_tile", LAST),
    ("half of those that copy", "tirx/v3_tiled", LAST | {"roles.producer.warps": list(range(8))}),
    ("a single tile", "v4_swizzle", LAST | {"scheduler.kind": "single"}),
]
V9 = "tirx/v9_two_consumers"
NARROW = {"tile.n": 128, "mma.n": 128, "epilogue.chunks": 2}
TWICE = NARROW | {"pipeline.acc_stages": 2}
MMA_FIRST = {
    "roles.mma.warps": [0, 1],
    "roles.producer.warps": [2],
    "roles.epilogue.warps": list(range(4, 12)),
}
GRID = {"scheduler.kind": "grid", "barriers.ld2mma": None}
DIRECT = {"epilogue.kind": "direct", "epilogue.d_stages": None}
JOINED = GRID | {"roles.mma.warps": [3, 4], "roles.producer.warps": [5]}
HELD = {
    "roles.mma.warps": [12, 13],
    "roles.producer.warps": [0],
    "roles.epilogue.warps": list(range(4, 12)),
    "barriers.acc_empty.arrive.0.how": "thread",
}
THREE = {
    "tile.m": 384,
    "pipeline.ab_stages": 3,
    "roles.mma.warps": [12, 13, 14],
    "roles.producer.warps": [15],
    "roles.epilogue.warps": list(range(12)),
}

CONSUMERS: list[tuple[str, str, Changes]] = [
    ("two accumulators each", V9, TWICE),
    ("mma first", V9, MMA_FIRST),
    ("mma first, two accumulators each", V9, MMA_FIRST | TWICE),
    ("a held tile, two accumulators each", "combined/v8_two_consumers", HELD | TWICE),
    ("one tile a CTA", V9, GRID),
    ("one tile a CTA, mma first", V9, GRID | MMA_FIRST | DIRECT),
    ("one tile a CTA, all warps write back", V9, JOINED),
    ("one tile a CTA, all warps write back directly", V9, JOINED | DIRECT),
    ("three", V9, NARROW | THREE),
    ("three of one tile a CTA", V9, NARROW | THREE | GRID),
]

FOUR = {"cluster.m": 4}
WIDE = FOUR | {"cluster.n": 2}

PAIRS: list[tuple[str, str, Changes]] = [
    ("two a cluster, one tile a CTA", "v7_two_cta", FOUR),
    ("four a cluster, one tile a CTA", "v7_two_cta", WIDE),
    ("two a cluster", "v8_persistent", FOUR),
    ("four a cluster", "v8_persistent", WIDE),
    ("two a cluster, two consumers", "combined/v8_two_consumers", FOUR),
    ("two a cluster, two consumers that stage D", V9, FOUR),
]


def _ids(rows: list[tuple[str, str, Changes]]) -> Any:
    return pytest.mark.parametrize(
        ("name", "changes"), [row[1:] for row in rows], ids=[row[0] for row in rows]
    )


@_ids(WRITEBACK + CONSUMERS + PAIRS)
def test_a_combination_is_proved_and_printed_without_a_name_too_many(name, changes) -> None:
    plan = vary(name, changes)
    assert check_plan(plan) == []
    source = render(plan, spec_path="specs/any.toml")
    assert max(map(len, source.splitlines())) <= 100
    tree = ast.parse(source)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    fields = {node.target for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)}
    written = {name.id for name in names if isinstance(name.ctx, ast.Store) and name not in fields}
    assert written - read <= {"_"}


@_ids(WRITEBACK)
def test_only_the_warps_of_the_epilogue_read_the_accumulator(name, changes) -> None:
    plan = vary(name, changes)
    source = render(plan, spec_path="specs/any.toml")
    epilogue = source[source.index("# --- epilogue") : source.index("# --- teardown")]
    guard = f"if {plan.role(Role.EPILOGUE).code}:"
    before, inside = epilogue.split(guard, 1)
    assert "tmem_load" in inside
    assert "tmem" not in before
    for thread in make_program(plan, 3, 2).threads:
        reads = any(isinstance(step, Read) for step in thread.steps)
        assert reads == (thread.name in {"epilogue", "copies"})


@_ids(CONSUMERS)
def test_each_consumer_has_its_slots_its_warps_and_its_rows_of_d(name, changes) -> None:
    """Evaluate the expressions that the kernel prints, for every warp of the epilogue and mma."""
    plan = vary(name, changes)
    assert plan.consumer is not None
    assert plan.tmem is not None
    count, stages = plan.geometry.consumers, plan.spec.pipeline.acc_stages
    constants = {c.name: c.value for line in plan.constants for c in line.constants}
    mma, epilogue = plan.role(Role.MMA).warps, plan.role(Role.EPILOGUE).warps

    def of(code: str, warp: int, thread: int = 0) -> int:
        names = constants | {"warp_idx": warp, "thread_idx": thread}
        return int(eval(code, {}, names))

    assert [of(plan.consumer.of_mma, warp) for warp in mma] == list(range(count))
    readers = [of(plan.consumer.of_epilogue, warp) for warp in epilogue]
    assert readers == [each for each in range(count) for _ in range(4)]
    rows = [
        of(plan.consumer.d_row, 0, t) for warp in epilogue for t in range(32 * warp, 32 * warp + 32)
    ]
    assert rows == list(range(plan.geometry.tile_m))
    first = [eval(plan.consumer.first_slot, {}, constants | {"consumer": c}) for c in range(count)]
    columns = [plan.tmem.slots[slot] for slot in first]
    assert columns == [slot * plan.geometry.tile_n for slot in first]
    assert first == [consumer * stages for consumer in range(count)]


@_ids(CONSUMERS)
def test_a_warp_reads_the_accumulators_of_the_consumer_whose_rows_it_stores(name, changes) -> None:
    plan = vary(name, changes)
    stages, g = plan.spec.pipeline.acc_stages, plan.geometry
    program = make_program(plan, 2, 5)
    for thread in program.threads:
        slots = {step.acc_slot // stages for step in thread.steps if isinstance(step, Read)}
        written = {step.acc_slot // stages for step in thread.steps if isinstance(step, Mma)}
        role, _, number = thread.name.partition(" ")
        if role == "epilogue":
            assert slots == {int(number)}
        elif role == "mma":
            joined = set(plan.role(Role.EPILOGUE).warps)
            warp = plan.role(Role.MMA).warps[int(number)]
            first = min(joined)
            assert slots == ({(warp - first) // 4} if warp in joined else set())
            assert written == ({int(number)} if thread.rank % g.cta_group == 0 else set())
