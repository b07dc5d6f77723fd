"""A plan that contradicts itself is refused before anything is printed from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from variants import SPECS, vary

from gemmgen.check import check_plan
from gemmgen.check.agreement import check_agreement, evaluate
from gemmgen.plan import Plan, Sum, make_plan
from gemmgen.spec import load_spec

ALL = sorted(p.relative_to(SPECS).with_suffix("").as_posix() for p in SPECS.rglob("*.toml"))


def _moved(plan: Plan, name: str, offset: int) -> Plan:
    fields = tuple(replace(f, offset=offset) if f.name == name else f for f in plan.smem.fields)
    return replace(plan, smem=replace(plan.smem, fields=fields))


def _constant(plan: Plan, name: str, code: str) -> Plan:
    lines = tuple(
        replace(
            line,
            constants=tuple(replace(c, code=code) if c.name == name else c for c in line.constants),
        )
        for line in plan.constants
    )
    return replace(plan, constants=lines)


def _tmem(plan: Plan, allocated: int) -> Plan:
    assert plan.tmem is not None
    return replace(plan, tmem=replace(plan.tmem, allocated=allocated))


def _m_multiple(plan: Plan, rows: int) -> Plan:
    return replace(plan, problem=replace(plan.problem, m_multiple=Sum(rows, str(rows))))


FAULTS: dict[str, tuple[str, Callable[[Plan], Plan]]] = {
    "B over A": ("P265", lambda p: _moved(p, "b", p.smem.field("a").offset)),
    "A off its alignment": ("P265", lambda p: _moved(p, "a", p.smem.field("a").offset + 128)),
    "a barrier elsewhere": (
        "P265",
        lambda p: replace(p, barriers=(replace(p.barriers[0], offset=8), *p.barriers[1:])),
    ),
    "half the columns": ("P266", lambda p: _tmem(p, 256)),
    "a warp without threads": (
        "P267",
        lambda p: replace(p, launch=replace(p.launch, threads=p.threads - 32)),
    ),
    "no cluster": ("P267", lambda p: replace(p, launch=replace(p.launch, cluster=(1, 1, 1)))),
    "too little shared memory": (
        "P267",
        lambda p: replace(p, launch=replace(p.launch, smem_bytes=0)),
    ),
    "the mma role in both CTAs": (
        "P267",
        lambda p: replace(p, roles=tuple(replace(r, leader_only=False) for r in p.roles)),
    ),
    "M of half a tile": ("P267", lambda p: _m_multiple(p, p.geometry.cluster_tile_m // 2)),
    "bytes of one CTA": ("P268", lambda p: _constant(p, "AB_BYTES", "TILE_M * TILE_K * 2")),
    "a shorter ring": ("P268", lambda p: _constant(p, "AB_STAGES", "5")),
    "another warp": ("P268", lambda p: _constant(p, "MMA_WARP", "5")),
}


@pytest.mark.parametrize("name", ALL)
def test_no_committed_spec_breaks_them(name: str) -> None:
    assert list(check_agreement(make_plan(load_spec(SPECS / f"{name}.toml")))) == []


@pytest.mark.parametrize("what", FAULTS)
def test_contradiction_is_found(what: str) -> None:
    code, change = FAULTS[what]
    assert code in {finding.code for finding in check_plan(change(vary("v8_persistent")))}


def test_swapped_grid_is_found() -> None:
    plan = vary("v5_epilogue")
    x, y, z = plan.launch.grid_code
    swapped = replace(plan, launch=replace(plan.launch, grid_code=(y, x, z)))
    assert {finding.code for finding in check_plan(swapped)} == {"P267"}


def test_one_cta_for_the_one_tile_of_a_cluster_is_found() -> None:
    plan = vary("v7_two_cta", {"scheduler.kind": "single"})
    assert check_plan(plan) == []
    alone = replace(plan, launch=replace(plan.launch, grid_code=("1", "1", "1")))
    assert {finding.code for finding in check_plan(alone)} == {"P267"}


def test_expressions_are_evaluated_over_the_names_before_them() -> None:
    assert evaluate("2 * (TILE_M + 1) // 3 << 1", {"TILE_M": 8}) == 12
    assert evaluate("cutlass.min(1, 2)", {}) is None
    assert evaluate("MISSING + 1", {}) is None
