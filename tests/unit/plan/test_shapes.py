from __future__ import annotations

import pytest
from variants import SPECS, vary

from gemmgen.plan import Plan, default_shapes, grid, make_plan
from gemmgen.spec import load_spec

ALL = sorted(path.stem for path in SPECS.glob("v*.toml"))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("sm_count", [1, 4, 148])
def test_default_shapes_satisfy_the_plan_and_do_not_repeat(name: str, sm_count: int) -> None:
    plan = make_plan(load_spec(SPECS / f"{name}.toml"))
    shapes = default_shapes(plan, sm_count)
    sizes = [(shape.m, shape.n, shape.k) for shape in shapes]
    assert len(set(sizes)) == len(sizes)
    for m, n, k in sizes:
        assert m % plan.problem.m_multiple.value == n % plan.problem.n_multiple.value == 0
        assert k % plan.problem.k_multiple == 0
        assert plan.problem.k_exact in (None, k)


def test_k_tiles_stand_around_the_depth_of_the_ring() -> None:
    plan = vary("v8_persistent")
    k_tiles = {shape.k / 64 for shape in default_shapes(plan, 4)}
    assert {1, 5, 6, 7, 13} <= k_tiles
    assert any(count % 1 for count in k_tiles), "a K that ends inside a k_tile"


def test_persistent_shapes_walk_several_tiles_and_end_ragged() -> None:
    plan = vary("v8_persistent")
    resident = 2
    tiles = [shape.m // 256 * (shape.n // 256) for shape in default_shapes(plan, 2 * resident)]
    assert max(tiles) > 2 * resident * plan.spec.pipeline.acc_stages
    assert any(count > resident and count % resident for count in tiles)


def test_grid_is_a_cta_a_tile_or_the_clusters_that_stay() -> None:
    assert grid(vary("v4_swizzle"), 384, 512, 9) == (3, 2, 1)
    assert grid(vary("v7_two_cta"), 512, 512, 9) == (4, 2, 1)
    assert grid(vary("v8_persistent"), 512, 512, 3) == (2, 1, 3)
    assert grid(vary("v8_persistent"), 512, 512, 74) == (2, 1, 4)


def test_v8_has_a_kernel_for_every_depth_of_ring_that_fits() -> None:
    v8, *swept = (_plan(name) for name in ("v8_persistent", *_combined("v8_stages_*")))
    depths = [v8.spec.pipeline.ab_stages, *(plan.spec.pipeline.ab_stages for plan in swept)]
    assert sorted(depths) == list(range(2, v8.smem.stages_max + 1))


def test_v8_has_a_kernel_for_each_group_and_one_that_no_shape_fills() -> None:
    plans = [_plan(name) for name in _combined("v8_grouped*")]
    assert sorted(plan.walk.group_m or 0 for plan in plans) == [1, 2, 4, 5, 8, 16]
    five = _plan("combined/v8_grouped_5")
    rows = {shape.m // five.geometry.cluster_tile_m for shape in default_shapes(five, 4)}
    assert all(count % 5 for count in rows)
    assert max(rows) > 5


def _combined(pattern: str) -> list[str]:
    return sorted(f"combined/{path.stem}" for path in (SPECS / "combined").glob(f"{pattern}.toml"))


def _plan(name: str) -> Plan:
    return make_plan(load_spec(SPECS / f"{name}.toml"))
