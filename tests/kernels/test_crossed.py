"""Features of one ladder in kernels of the other: a changed spec renders, compiles, is right.

pytest tests/kernels/test_crossed.py -m slow      all of them
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gemmgen.emulate import Settings
from gemmgen.plan import make_plan
from gemmgen.run.generate import generate
from gemmgen.run.options import Options
from gemmgen.run.verify import verify_file
from gemmgen.spec import load_spec
from gemmgen.spec.override import override
from gemmgen.terms import GemmgenError

pytestmark = pytest.mark.compile
SPECS = Path(__file__).parents[2] / "specs"
Shape = tuple[int, int, int]

DEPENDENT = {"launch.dependent": True}
STORE = {"epilogue.kind": "tma_store"}
LAST = {"roles.epilogue.warps": [4, 5, 6, 7]}
SHARERS = {"barriers.ab_empty.arrive[0].to": "sharers"}
ONE_CTA = {
    "cluster": None,
    "mma.cta_group": 1,
    "mma.m": 128,
    "mma.n": 128,
    "tile.n": 128,
    **{f"barriers.{name}.arrive[0].to": "self" for name in ("tma2mma", "mma2tma")},
    **{f"barriers.{name}.arrive[0].to": "self" for name in ("mma2ld", "ld2mma")},
}
SPAN_64 = {"smem.swizzle": "64b", "tile.k": 32}
SPAN_32 = {"smem.swizzle": "32b", "tile.k": 16}
SPANS_128 = {"tile.k": 128, "pipeline.ab_stages": 2}
COPIES = {"load.kind": "cooperative"}
AHEAD = COPIES | {"roles.producer.warps": [0, 1, 2, 3], "barriers.tma": None}
BESIDE = COPIES | {
    "roles.producer.warps": [0, 1],
    "roles.mma.warps": [2],
    "barriers.ab_full.arrive[0].how": "threads",
}
BEHIND = COPIES | {"roles.producer.warps": [4, 5], "roles.mma.warps": [6]}
EACH_COPIES = {"barriers.tma2mma.arrive[0].how": "threads"}
V7 = "tirx/v7_warp_specialized"
V9 = "tirx/v9_two_consumers"
TO_SHARERS = {"barriers.mma2tma.arrive[0].to": "sharers"}
COLUMN = TO_SHARERS | {"cluster": {"m": 2, "n": 1}, "load.multicast": ["b"]}
SQUARE = TO_SHARERS | {"cluster": {"m": 2, "n": 2}, "load.multicast": ["a", "b"]}
NARROW = {"tile.n": 128, "mma.n": 128, "epilogue.chunks": 2}
MMA_FIRST = {"roles.mma.warps": [0, 1], "roles.producer.warps": [2],
             "roles.epilogue.warps": list(range(4, 12))}  # fmt: skip
GRID = {"scheduler.kind": "grid", "barriers.ld2mma": None}
CROSSED: list[tuple[str, str, dict[str, Any], Shape]] = [
    ("TMA stores after one-warp loads", "v1_kloop",
     STORE | {"epilogue.d_stages": 2}, (256, 256, 80)),
    ("TMA stores without a swizzle of A and B", "v3_warp_specialized",
     STORE | {"epilogue.d_stages": 4}, (256, 512, 80)),
    ("TMA stores of rows of 16 bytes", "v2_pipeline",
     STORE | {"epilogue.d_stages": 4, "epilogue.chunks": 8, "tile.n": 64, "mma.n": 64,
              "scheduler.kind": "persistent"}, (384, 128, 80)),
    ("one staged chunk, filled four times", "v4_swizzle",
     STORE | {"epilogue.d_stages": 1, "pipeline.ab_stages": 3}, (256, 512, 320)),
    ("chunks of 32 columns, two register buffers", "v4_swizzle",
     STORE | {"epilogue.d_stages": 2, "epilogue.chunks": 8, "epilogue.register_buffers": 2,
              "pipeline.ab_stages": 3}, (256, 512, 320)),
    ("TMA stores of CTA pairs", "v7_two_cta", STORE | {"epilogue.d_stages": 2}, (512, 512, 448)),
    ("every thread releases the accumulator", "v8_persistent",
     {"barriers.acc_empty.arrive[0].how": "threads"}, (512, 768, 448)),
    ("a writeback warpgroup that does not come first", "v8_persistent",
     {"roles.epilogue.warps": [4, 5, 6, 7], "roles.mma.warps": [0], "roles.producer.warps": [1]},
     (512, 768, 448)),
    ("the same with TMA stores", "v8_persistent",
     STORE | {"epilogue.d_stages": 1, "roles.epilogue.warps": [4, 5, 6, 7],
              "roles.mma.warps": [0], "roles.producer.warps": [8]}, (512, 768, 448)),
    ("one accumulator", "v8_persistent", {"pipeline.acc_stages": 1}, (512, 768, 448)),
    ("one swizzled buffer", "v1_kloop", {"tile.k": 64, "smem.swizzle": "128b"}, (256, 512, 192)),
    ("a single tile", "v4_swizzle", {"scheduler.kind": "single"}, (128, 256, 448)),
    ("persistent, one warp, k_tiles under the stages", "v2_pipeline",
     {"scheduler.kind": "persistent"}, (256, 1536, 16)),
    ("persistent, one warp, k_tiles off the stages", "v2_pipeline",
     {"scheduler.kind": "persistent"}, (256, 1536, 112)),
    ("persistent, one warp, plain order, no staging", "tirx/v6_persistent",
     {"scheduler.group_m": None, "epilogue.kind": "direct", "epilogue.d_stages": None},
     (256, 768, 320)),
    ("four accumulators", "tirx/v7_warp_specialized",
     {"pipeline.acc_stages": 4, "epilogue.d_stages": 1, "pipeline.ab_stages": 3}, (256, 1024, 320)),
    ("single CTAs that hold their tile", "tirx/v7_warp_specialized",
     {"epilogue.kind": "direct", "epilogue.d_stages": None}, (256, 1024, 320)),
    ("plain copies of a wide tile", "tirx/v3_tiled",
     {"tile.n": 256, "mma.n": 256, "epilogue.chunks": 4}, (256, 512, 192)),
    ("two staged chunks a consumer", "tirx/v9_two_consumers",
     {"epilogue.d_stages": 2, "pipeline.ab_stages": 3, "epilogue.register_buffers": 2},
     (1024, 512, 320)),
    ("two consumers of single CTAs", "tirx/v9_two_consumers", ONE_CTA, (512, 512, 320)),
    ("two consumers, B multicast", "tirx/v9_two_consumers",
     {"cluster.m": 4, "load.multicast": ["b"], "barriers.mma2tma.arrive[0].to": "sharers"},
     (1024, 512, 320)),
    ("multicast of A alone", "v6_multicast", {"load.multicast": ["a"]}, (256, 1024, 320)),
    ("multicast of B in one column of CTAs", "v6_multicast",
     {"load.multicast": ["b"], "cluster.n": 1}, (512, 256, 320)),
    ("two pairs that share nothing", "v7_two_cta", {"cluster.m": 4}, (1024, 256, 448)),
    ("two pairs that share B", "v7_two_cta",
     SHARERS | {"cluster.m": 4, "load.multicast": ["b"]}, (1024, 256, 448)),
    ("two pairs that share A", "v7_two_cta",
     SHARERS | {"cluster.n": 2, "load.multicast": ["a"]}, (512, 1024, 448)),
    ("A multicast alone in a row of pairs", "v8_persistent",
     SHARERS | {"cluster.n": 2, "load.multicast": ["a"]}, (512, 1024, 448)),
    ("two consumers in two by two pairs", "tirx/v9_two_consumers",
     {"cluster.m": 4, "cluster.n": 2, "load.multicast": ["a", "b"],
      "barriers.mma2tma.arrive[0].to": "sharers"}, (2048, 1024, 448)),
    ("a 64-byte swizzle of CTA pairs", "v8_persistent", SPAN_64, (512, 768, 232)),
    ("a 64-byte swizzle with multicast", "v6_multicast", SPAN_64, (512, 512, 232)),
    ("a 32-byte swizzle of wgmma, TMA stores", "hopper/h9_persistent", SPAN_32, (512, 768, 120)),
    ("one wgmma step a k_tile", "hopper/h3_pipeline", {"tile.k": 16, "smem.swizzle": "none"},
     (256, 256, 120)),
    ("rows of two spans, CTA pairs", "v8_persistent", SPANS_128 | {"pipeline.ab_stages": 3},
     (512, 768, 456)),
    ("rows of two spans, multicast", "v6_multicast", SPANS_128, (512, 512, 456)),
    ("rows of two spans, one buffer", "tirx/v4_tma",
     {"tile.k": 128}, (256, 384, 328)),
    ("rows of two spans, two consumers", "tirx/v9_two_consumers",
     SPANS_128 | {"epilogue.d_stages": 1}, (1024, 512, 328)),
    ("rows of two spans, wgmma, TMA stores", "hopper/h9_persistent", SPANS_128, (512, 768, 456)),
    ("rows of three spans of 64 bytes", "v4_swizzle",
     {"smem.swizzle": "64b", "tile.k": 96, "pipeline.ab_stages": 3}, (256, 512, 200)),
    ("rows of two spans, plain copies ahead", "tirx/v5_two_stage", AHEAD | SPANS_128,
     (256, 384, 384)),
    ("rows of two spans, one plain copy", "tirx/v3_tiled", {"tile.k": 128}, (256, 384, 384)),
    ("plain copies, a 64-byte swizzle and a wider one of D", "tirx/v5_two_stage", AHEAD | SPAN_64,
     (256, 384, 224)),
    ("plain copies of rows of 32 bytes", "tirx/v6_persistent", AHEAD | SPAN_32, (256, 768, 112)),
    ("persistent, one warp, one buffer", "v1_kloop", {"scheduler.kind": "persistent"},
     (384, 1024, 112)),
    ("persistent, one warp, one buffer, TMA stores, groups", "tirx/v4_tma",
     STORE | {"epilogue.d_stages": 1, "scheduler.kind": "persistent", "scheduler.group_m": 2},
     (384, 640, 328)),
    ("persistent plain copies into one buffer", "tirx/v3_tiled", {"scheduler.kind": "persistent"},
     (384, 640, 192)),
    ("persistent plain copies of eight warps into one buffer, TMA stores", "tirx/v3_tiled",
     STORE | LAST | {"epilogue.d_stages": 1, "scheduler.kind": "persistent",
                     "roles.producer.warps": list(range(8))}, (384, 640, 192)),
    ("plain copies a stage ahead", "tirx/v5_two_stage", AHEAD, (256, 384, 320)),
    ("plain copies three stages ahead, k_tiles off the stages", "tirx/v5_two_stage",
     AHEAD | {"pipeline.ab_stages": 4, "epilogue.kind": "direct", "epilogue.d_stages": None},
     (256, 256, 576)),
    ("persistent plain copies, k_tiles under the stages", "tirx/v6_persistent",
     AHEAD | {"pipeline.ab_stages": 4, "epilogue.d_stages": 1}, (256, 768, 64)),
    ("persistent plain copies, plain order, no staging", "tirx/v6_persistent",
     AHEAD | {"scheduler.group_m": None, "epilogue.kind": "direct", "epilogue.d_stages": None,
              "pipeline.ab_stages": 3}, (256, 768, 320)),
    ("plain copies ahead without a swizzle", "tirx/v5_two_stage",
     AHEAD | {"smem.swizzle": "none", "tile.k": 32, "pipeline.ab_stages": 3}, (256, 384, 224)),
    ("one plain copy of a wide stage without a swizzle", "tirx/v3_tiled",
     {"smem.swizzle": "none", "tile.k": 128}, (256, 384, 384)),
    ("TMA stores after plain copies", "tirx/v3_tiled", STORE | {"epilogue.d_stages": 2},
     (256, 384, 192)),
    ("two warps that do nothing but copy", "v4_swizzle", BESIDE, (256, 512, 576)),
    ("the same, persistent, with TMA stores", "tirx/v7_warp_specialized", BEHIND | EACH_COPIES,
     (256, 1024, 320)),
    ("one warp that does nothing but copy", "v4_swizzle",
     BESIDE | {"roles.producer.warps": [3], "roles.mma.warps": [0]}, (256, 512, 320)),
    ("four warps that copy without a swizzle", "tirx/v7_warp_specialized",
     BEHIND | EACH_COPIES | {"roles.producer.warps": [4, 5, 6, 7], "roles.mma.warps": [8],
                             "epilogue.kind": "direct", "epilogue.d_stages": None,
                             "smem.swizzle": "none", "tile.k": 32}, (256, 768, 224)),
    ("plain copies of CTA pairs", "v7_two_cta", BESIDE, (512, 512, 576)),
    ("plain copies of two pairs that share nothing", "v7_two_cta", BESIDE | {"cluster.m": 4},
     (1024, 256, 448)),
    ("plain copies of persistent CTA pairs", "v8_persistent",
     BEHIND | {"barriers.ab_full.arrive[0].how": "threads"}, (512, 768, 448)),
    ("plain copies for two consumers", "tirx/v9_two_consumers",
     COPIES | EACH_COPIES | {"roles.producer.warps": [8, 9], "roles.mma.warps": [10, 11]},
     (1024, 512, 320)),
    ("two by two pairs", "v7_two_cta",
     SHARERS | {"cluster.m": 4, "cluster.n": 2, "load.multicast": ["a", "b"]}, (1024, 1024, 448)),
    ("a persistent kernel of clusters that share B, groups, TMA stores", V7, COLUMN,
     (768, 640, 192)),
    ("a persistent kernel of clusters that share A, plain order, no staging", V7,
     TO_SHARERS | {"cluster": {"m": 1, "n": 2}, "load.multicast": ["a"],
                   "scheduler.group_m": None, "epilogue.kind": "direct",
                   "epilogue.d_stages": None}, (384, 1280, 320)),
    ("a persistent kernel of two by two CTAs that share both, groups of columns", V7,
     SQUARE | {"pipeline.ab_stages": 4, "pipeline.acc_stages": 2, "scheduler.group_m": None,
               "scheduler.group_n": 2}, (1024, 1536, 192)),
    ("a dependent launch of a persistent kernel of clusters that share B", V7,
     COLUMN | DEPENDENT, (768, 640, 192)),
    ("two consumers of two by two CTAs that share both", V9, ONE_CTA | SQUARE,
     (1024, 768, 320)),
    ("two consumers of CTAs that share B and hold their tile", V9,
     ONE_CTA | COLUMN | {"epilogue.kind": "direct", "epilogue.d_stages": None}, (1536, 384, 320)),
    ("a single tile of one CTA pair", "v7_two_cta", {"scheduler.kind": "single"}, (256, 256, 448)),
    ("a single tile of two by two CTAs, TMA stores", "v6_multicast",
     STORE | {"epilogue.d_stages": 1, "scheduler.kind": "single", "pipeline.ab_stages": 3},
     (256, 512, 448)),
    ("a single tile of two pairs, two consumers", V9,
     GRID | TO_SHARERS | {"cluster.m": 4, "load.multicast": ["b"], "scheduler.kind": "single",
                          "scheduler.group_m": None}, (1024, 256, 448)),
    ("a grid of CTAs in groups of rows", "v5_epilogue", {"scheduler.group_m": 2}, (640, 768, 64)),
    ("a grid of CTAs in groups of columns, one warp", "v2_pipeline", {"scheduler.group_n": 2},
     (384, 1280, 16)),
    ("a grid of multicast clusters in groups", "v6_multicast", {"scheduler.group_m": 2},
     (768, 1024, 64)),
    ("a grid of CTA pairs in groups", "v7_two_cta", STORE | {"epilogue.d_stages": 2,
     "scheduler.group_m": 2}, (768, 768, 64)),
    ("a grid of two by two pairs in groups", "v7_two_cta",
     SHARERS | {"cluster.m": 4, "cluster.n": 2, "load.multicast": ["a", "b"],
                "scheduler.group_n": 2}, (1024, 1536, 64)),
    ("a grid of Hopper clusters in groups, cut off", "hopper/h8_tma_store",
     {"scheduler.group_m": 2}, (1100, 520, 72)),
    ("a writeback warpgroup of one tile a CTA", "v4_swizzle", LAST, (256, 512, 320)),
    ("a writeback warpgroup of one tile with TMA stores", "v7_two_cta",
     STORE | LAST | {"epilogue.d_stages": 2, "roles.producer.warps": [8]}, (512, 512, 448)),
    ("a writeback warpgroup before the other warps", "v6_multicast",
     {"roles.mma.warps": [4], "roles.producer.warps": [5]}, (512, 1024, 320)),
    ("a writeback warpgroup beside one warp for one tile", "v2_pipeline",
     STORE | {"epilogue.d_stages": 2, "roles.mma.warps": [4], "roles.producer.warps": [4]},
     (256, 512, 112)),
    ("a writeback warpgroup beside one warp that walks", "tirx/v6_persistent",
     {"roles.mma.warps": [4], "roles.producer.warps": [4]}, (256, 768, 320)),
    ("a writeback warpgroup of one K step", "v0_single_tile", LAST, (128, 256, 16)),
    ("a writeback warpgroup among those that copy", "tirx/v3_tiled",
     LAST | {"roles.producer.warps": list(range(8))}, (256, 512, 192)),
    ("two accumulators for each of two consumers", V9,
     NARROW | {"pipeline.acc_stages": 2}, (1024, 768, 320)),
    ("consumers whose epilogue comes last", V9, MMA_FIRST, (1024, 512, 320)),
    ("consumers whose epilogue comes last, two accumulators each", V9,
     NARROW | MMA_FIRST | {"pipeline.acc_stages": 2}, (1024, 768, 320)),
    ("consumers that hold their tile, two accumulators each", "combined/v8_two_consumers",
     NARROW | {"pipeline.acc_stages": 2, "roles.epilogue.warps": list(range(4, 12)),
               "roles.mma.warps": [12, 13], "roles.producer.warps": [0],
               "barriers.acc_empty.arrive[0].how": "thread"}, (1024, 768, 320)),
    ("consumers of one tile a CTA", V9, GRID, (1024, 512, 320)),
    ("consumers of one tile a CTA, all of whose warps write back", V9,
     GRID | {"roles.mma.warps": [3, 4], "roles.producer.warps": [5], "epilogue.kind": "direct",
             "epilogue.d_stages": None}, (1024, 512, 320)),
    ("consumers of one tile a CTA, B multicast", V9,
     GRID | MMA_FIRST | {"cluster.m": 4, "load.multicast": ["b"], "scheduler.group_m": None,
                         "barriers.mma2tma.arrive[0].to": "sharers"}, (2048, 512, 320)),
    ("consumers of a single tile", V9,
     ONE_CTA | GRID | {"scheduler.kind": "single", "scheduler.group_m": None}, (256, 128, 320)),
    ("three consumers", V9,
     NARROW | {"tile.m": 384, "pipeline.ab_stages": 3, "roles.mma.warps": [12, 13, 14],
               "roles.producer.warps": [15], "roles.epilogue.warps": list(range(12))},
     (1536, 256, 320)),
    ("four consumers of one tile a CTA, all of whose warps write back", V9,
     ONE_CTA | GRID | {"tile.m": 512, "tile.n": 64, "mma.n": 64, "epilogue.chunks": 1,
                       "pipeline.ab_stages": 2, "roles.mma.warps": [0, 1, 2, 3],
                       "roles.producer.warps": [4], "roles.epilogue.warps": list(range(16))},
     (1024, 128, 320)),
    ("a dependent launch of CTA pairs", "v8_persistent", DEPENDENT, (512, 768, 448)),
    ("a dependent launch of Hopper clusters", "hopper/h9_persistent", DEPENDENT, (520, 776, 200)),
    ("a dependent launch of two consumers", "tirx/v9_two_consumers", DEPENDENT, (1024, 512, 320)),
    ("a dependent launch of a cluster that multicasts", "v6_multicast", DEPENDENT,
     (256, 1024, 320)),
    ("a dependent launch of one K step", "v0_single_tile", DEPENDENT, (256, 512, 16)),
    ("a dependent launch of plain loads", "hopper/h1_kloop", DEPENDENT, (256, 256, 192)),
]  # fmt: skip
QUICK = {
    "a dependent launch of CTA pairs",
    "a dependent launch of Hopper clusters",
    "persistent plain copies, k_tiles under the stages",
    "two warps that do nothing but copy",
    "persistent, one warp, one buffer",
    "persistent plain copies of eight warps into one buffer, TMA stores",
    "a 64-byte swizzle of CTA pairs",
    "rows of two spans, plain copies ahead",
    "chunks of 32 columns, two register buffers",
    "the same with TMA stores",
    "persistent, one warp, k_tiles off the stages",
    "four accumulators",
    "two consumers of single CTAs",
    "multicast of B in one column of CTAs",
    "two by two pairs",
    "a persistent kernel of clusters that share B, groups, TMA stores",
    "a single tile of one CTA pair",
    "a grid of two by two pairs in groups",
    "a writeback warpgroup of one tile with TMA stores",
    "consumers whose epilogue comes last, two accumulators each",
    "four consumers of one tile a CTA, all of whose warps write back",
}


def _slow_unless(quick: bool) -> Any:
    return () if quick else pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "changes", "shape"),
    [pytest.param(*row, id=what, marks=_slow_unless(what in QUICK)) for what, *row in CROSSED],
)
def test_crossed_features_equal_torch(tmp_path: Path, name, changes, shape) -> None:
    _prove(tmp_path, name, changes, shape)


def test_a_group_that_does_not_divide_five_rows_of_tiles_covers_them(tmp_path: Path) -> None:
    _prove(tmp_path, "combined/v8_grouped", {"scheduler.group_m": 3}, (1280, 512, 64))


def test_a_ring_deeper_than_the_deepest_is_refused(tmp_path: Path) -> None:
    deepest = make_plan(load_spec(SPECS / "v8_persistent.toml")).smem.stages_max
    with pytest.raises(GemmgenError) as refusal:
        generate(_write(tmp_path, "v8_persistent", {"pipeline.ab_stages": deepest + 1}))
    assert [finding.code for finding in refusal.value.findings] == ["P220"]
    assert f"at most {deepest} stages fit" in str(refusal.value)


def _prove(folder: Path, name: str, changes: dict[str, Any], shape: Shape) -> None:
    """Render the changed spec, run it exactly and on random inputs; several tiles a cluster."""
    kernel = generate(_write(folder, name, changes))
    kernel.write()
    record = verify_file(kernel.target, Options("emulate", (shape,), Settings(sm_count=4)))
    assert record.message == ""
    assert [case.message for case in record.cases if case.status != "passed"] == []
    assert len(record.cases) == 2


def _write(folder: Path, name: str, changes: dict[str, Any]) -> Path:
    """A changed spec in a project of its own."""
    spec = folder / "specs" / f"{name.rpartition('/')[2]}.toml"
    spec.parent.mkdir(parents=True)
    spec.write_text(override((SPECS / f"{name}.toml").read_text("utf-8"), changes), "utf-8")
    return spec
