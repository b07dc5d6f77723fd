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
from gemmgen.plan.steps import Read
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
    ("beside one warp that walks over tiles", "tirx/v6_persistent", ONE_WARP),
    ("one K step", "v0_single_tile", LAST),
    ("a single tile", "v4_swizzle", LAST | {"scheduler.kind": "single"}),
]


def _ids(rows: list[tuple[str, str, Changes]]) -> Any:
    return pytest.mark.parametrize(
        ("name", "changes"), [row[1:] for row in rows], ids=[row[0] for row in rows]
    )


@_ids(WRITEBACK)
def test_a_combination_is_proved_and_printed_without_a_name_too_many(name, changes) -> None:
    plan = vary(name, changes)
    assert check_plan(plan) == []
    source = render(plan, spec_path="specs/any.toml")
    lines = source.splitlines()
    assert len(lines) <= 400
    assert max(map(len, lines)) <= 100
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
        assert reads == (thread.name == "epilogue")
