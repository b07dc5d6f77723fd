"""The tile that each CTA of a grid takes, as the generated setup computes it."""

from __future__ import annotations

import itertools
import re
from types import SimpleNamespace
from typing import Any

import pytest
from variants import vary

from gemmgen.check import check_plan
from gemmgen.plan.shapes import grid
from gemmgen.render.engine import render

LADDERS = ["v1_kloop", "v5_epilogue", "v6_multicast", "v7_two_cta", "tirx/v3_tiled"]
SPECS = [*LADDERS, "hopper/h5_warp_specialized", "hopper/h7_multicast"]
Place = tuple[int, int]


def _taken(name: str, changes: dict[str, Any], m_tiles: int, n_tiles: int) -> list[list[Place]]:
    """Tiles (row, column) of a grid of cluster tiles, one list a cluster, in order of launch."""
    plan = vary(name, changes)
    assert check_plan(plan) == []
    g, source = plan.geometry, render(plan, spec_path="specs/any.toml")
    m, n = m_tiles * g.cluster_tile_m, n_tiles * g.cluster_tile_n
    names: dict[str, Any] = {
        "cutlass": SimpleNamespace(min=min),
        **{c.name: c.value for line in plan.constants for c in line.constants},
        "mD": SimpleNamespace(shape=(m, n)),
    }
    (order,) = re.findall(r"^def tile_at.*?\n\n\n", source, re.DOTALL | re.MULTILINE)
    exec(order, names)
    setup = source[source.index("x, y, _ = ") : source.index("k_tiles = ")]
    wanted = ("x,", "m_tile", "n_tile", "tile ", "cta_")
    lines = [line.strip() for line in setup.splitlines() if line.strip().startswith(wanted)]
    columns, rows, _ = grid(plan, m, n, 0)
    out: list[list[Place]] = []
    for cy, cx in itertools.product(range(rows // g.cluster_n), range(columns // g.cluster_m)):
        out.append([])
        for rank in range(g.cluster_size):
            in_m, in_n = rank % g.cluster_m, rank // g.cluster_m
            arch = SimpleNamespace(
                block_idx=lambda x=cx, y=cy: (x, y, 0),
                cluster_idx=lambda x=cx, y=cy: (x, y, 0),
                block_idx_in_cluster=lambda r=rank: r,
                block_in_cluster_idx=lambda i=in_m, j=in_n: (i, j, 0),
            )
            names["cute"] = SimpleNamespace(arch=arch, ceil_div=lambda a, b: -(-a // b))
            place: dict[str, Any] = {}
            exec("\n".join(lines), names, place)
            out[-1].append((place["m_tile"], place["n_tile"]))
    return out


@pytest.mark.parametrize("group", ["group_m", "group_n"])
@pytest.mark.parametrize("size", [1, 2, 8])
@pytest.mark.parametrize("name", SPECS)
def test_a_grid_in_groups_computes_every_tile_once(name: str, group: str, size: int) -> None:
    m_tiles, n_tiles = 5, 3
    taken = _taken(name, {f"scheduler.{group}": size}, m_tiles, n_tiles)
    g = vary(name).geometry
    every = itertools.product(range(m_tiles * g.cluster_m), range(n_tiles * g.cluster_n))
    assert sorted(place for cluster in taken for place in cluster) == sorted(every)


@pytest.mark.parametrize("name", ["v5_epilogue", "v7_two_cta"])
def test_clusters_launched_together_stay_in_a_group_of_rows_and_the_last_is_cut_off(name) -> None:
    taken = _taken(name, {"scheduler.group_m": 2}, 5, 3)
    down = vary(name).geometry.cluster_m
    rows = [place[0] // down for place, *_ in taken]
    assert rows == [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 4, 4, 4]
    assert [place[1] for place, *_ in taken] == [0, 0, 1, 1, 2, 2] * 2 + [0, 1, 2]
