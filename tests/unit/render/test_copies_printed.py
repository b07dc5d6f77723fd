"""Kernels whose threads copy A and B: what orders a copy stands where it must, and nothing else."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from variants import vary

from gemmgen.check import check_plan
from gemmgen.render.engine import render

Changes = dict[str, Any]
PLAIN = {"load.kind": "cooperative"}
RING = PLAIN | {"roles.producer.warps": [0, 1, 2, 3], "barriers.tma": None}
THREADS = {"barriers.ab_full.arrive.0.how": "threads"}
BESIDE = PLAIN | THREADS | {"roles.producer.warps": [0, 1], "roles.mma.warps": [2]}
BEHIND = PLAIN | THREADS | {"roles.producer.warps": [4, 5], "roles.mma.warps": [6]}
NONE = {"smem.swizzle": "none", "tile.k": 32}
WALKS = {"scheduler.kind": "persistent"}
TOGETHER: list[tuple[str, str, Changes]] = [
    ("a ring", "tirx/v5_two_stage", RING),
    ("a ring without a swizzle", "tirx/v5_two_stage", RING | NONE),
    ("a ring of a walk", "tirx/v6_persistent", RING),
    ("one buffer of a walk", "tirx/v3_tiled", WALKS),
    ("one buffer without a swizzle", "tirx/v3_tiled", NONE),
]
ROLES: list[tuple[str, str, Changes]] = [
    ("one tile", "v4_swizzle", BESIDE),
    ("one warp", "v4_swizzle", BESIDE | {"roles.producer.warps": [3], "roles.mma.warps": [0]}),
    ("a pair", "v7_two_cta", BESIDE),
    ("two pairs", "v7_two_cta", BESIDE | {"cluster.m": 4}),
    ("a walk of pairs", "v8_persistent", BEHIND),
]
FENCE = 'cute.arch.fence_proxy("async.shared", space="cta")'


def printed(name: str, changes: Changes) -> list[str]:
    """The kernel's lines, stripped: Python of at most 100 columns, without TMA loads."""
    plan = vary(name, changes)
    assert check_plan(plan) == []
    text = render(plan, spec_path="specs/x.toml")
    ast.parse(text)
    assert max(map(len, text.splitlines())) <= 100
    assert "tma_a," not in text
    assert "expect_tx" not in text
    assert "TMA fills" not in text
    return [line.strip() for line in text.splitlines()]


@pytest.mark.parametrize(
    ("name", "changes"), [row[1:] for row in TOGETHER], ids=[row[0] for row in TOGETHER]
)
def test_all_threads_fence_their_copies_and_meet_before_the_mmas(
    name: str, changes: Changes
) -> None:
    lines = printed(name, changes)
    at = lines.index(FENCE)
    assert lines[at + 1 : at + 3] == ["cute.arch.sync_threads()", "if warp_idx == MMA_WARP:"]
    walks = any(line.startswith("for tile in") for line in lines)
    assert ("# The other warps have read the accumulator of the tile before." in lines) == walks


@pytest.mark.parametrize(
    ("name", "changes"), [row[1:] for row in ROLES], ids=[row[0] for row in ROLES]
)
def test_each_thread_of_a_role_fences_its_copies_and_then_arrives(
    name: str, changes: Changes
) -> None:
    lines = printed(name, changes)
    after = [line for line in lines[lines.index(FENCE) + 1 :] if not line.startswith("#")]
    pair = any("CLUSTER" in line for line in lines)
    assert after[0].startswith("cute.arch.mbarrier_arrive(ab_full + stage")
    assert after[0].endswith("scope=nvvm.MemScopeKind.CLUSTER)") == pair
    threads = "128" if pair else "32" if "PRODUCER_WARPS = 2" not in lines else "64"
    assert any(line.startswith(f"AB_FULL_ARRIVALS = {threads}  #") for line in lines)
    assert any("producer: every thread" in line for line in lines)
