from __future__ import annotations

from typing import Any

import pytest
from variants import SPECS, vary

from gemmgen.check import check_plan, check_spec

Changes = dict[str, Any]
ALL = sorted(path.stem for path in SPECS.glob("v*.toml"))

V3, V8 = "v3_warp_specialized", "v8_persistent"
H5, H6 = "hopper/h5_warp_specialized", "hopper/h6_two_consumers"
H9, H10 = "hopper/h9_persistent", "hopper/h10_pingpong"
PLAIN = {"load.kind": "cooperative", "barriers.ab_full.arrive.0.how": "threads"}
BAD: list[tuple[str, str, str, Changes]] = [
    ("P201", "another architecture's instruction", "v4_swizzle", {"mma.kind": "wgmma"}),
    ("P202", "columns beyond 256", "v4_swizzle", {"tile.n": 512, "mma.n": 512}),
    ("P202", "columns off the step", "v4_swizzle", {"tile.n": 72, "mma.n": 72}),
    ("P202", "rows of a pair for one CTA", "v4_swizzle", {"tile.m": 256, "mma.m": 256}),
    ("P202", "K of another type", "v4_swizzle", {"mma.k": 32}),
    ("P203", "rows no multiple", "v4_swizzle", {"tile.m": 192}),
    ("P203", "pair rows no multiple", "v7_two_cta", {"tile.m": 64}),
    ("P203", "columns no multiple", "v4_swizzle", {"tile.n": 192}),
    ("P204", "K step no multiple", "v0_single_tile", {"tile.k": 24}),
    ("P205", "K step under the swizzle", "v4_swizzle", {"tile.k": 16}),
    ("P205", "K step off the swizzle", "v4_swizzle", {"tile.k": 96, "pipeline.ab_stages": 2}),
    ("P206", "slices of A", "v6_multicast", {"cluster.n": 3}),
    ("P206", "slice rows off a core matrix", "v6_multicast", {"tile.n": 24, "mma.n": 24}),
    ("P207", "two operand types", "v4_swizzle", {"problem.b.dtype": "bf16"}),
    ("P207", "accumulation in bf16", "v4_swizzle", {"problem.acc_dtype": "bf16"}),
    ("P210", "half a warpgroup", H5, {"roles.mma.warps": [4, 5]}),
    ("P210", "mma across two warpgroups", H5,
     {"roles.mma.warps": [5, 6, 7, 8], "roles.epilogue.warps": [5, 6, 7, 8]}),
    ("P210", "an epilogue without accumulators", H5, {"roles.epilogue.warps": [0, 1, 2, 3]}),
    ("P211", "a producer among those that multiply", H5,
     {"roles.producer.warps": [3], "roles.mma.warps": [0, 1, 2], "roles.epilogue.warps": [0, 1, 2]}),  # noqa: E501
    ("P211", "a load by a warp that does nothing else", "hopper/h2_tma",
     {"roles.producer.warps": [4]}),
    ("P212", "96 rows", H5, {"tile.m": 96}),
    ("P212", "32 rows a consumer", H6, {"tile.m": 64}),
    ("P213", "two accumulators in registers", H9, {"pipeline.acc_stages": 2}),
    ("P214", "one consumer in turn", H10,
     {"roles.mma.warps": [4, 5, 6, 7], "roles.epilogue.warps": [4, 5, 6, 7]}),
    ("P214", "turns with one tile a CTA", H10, {"scheduler.kind": "grid", "scheduler.group_n": None}),  # noqa: E501
    ("P215", "nothing to defer to", "hopper/h8_tma_store", {"epilogue.deferred": True}),
    ("P215", "deferred without chunks", H9, {"epilogue.deferred": True, "epilogue.kind": "direct",
     "epilogue.d_stages": None}),
    ("P215", "one staged chunk", H9, {"epilogue.deferred": True, "epilogue.d_stages": 1}),
    ("P216", "an accumulator of 256 registers", H10, {"tile.n": 256, "mma.n": 256,
     "epilogue.chunks": 4, "pipeline.ab_stages": 2}),
    ("P216", "an accumulator that shares the registers", H10, {"roles.mma.registers": None,
     "roles.producer.registers": None}),
    ("P217", "only one side of setmaxnreg", H6, {"roles.producer.registers": None}),
    ("P217", "registers that the producer does not have", H6, {"roles.producer.registers": 176}),
    ("P218", "direct stores in chunks", H5, {"epilogue.chunks": 2}),
    ("P218", "chunks of 24 columns", H10, {"epilogue.chunks": 8}),
    ("P220", "too many stages", V8, {"pipeline.ab_stages": 8}),
    ("P220", "one stage too large", "v4_swizzle", {"tile.k": 1024, "pipeline.ab_stages": 1}),
    ("P221", "three accumulators of 256", V8, {"pipeline.acc_stages": 3}),
    ("P222", "a stage of a mebibyte", "v7_two_cta", {"tile.k": 1024}),
    ("P223", "chunks that do not divide", "v4_swizzle", {"epilogue.chunks": 3}),
    ("P223", "a chunk under 16 bytes", "v4_swizzle", {"epilogue.kind": "tma_store",
     "epilogue.d_stages": 1, "epilogue.chunks": 64}),
    ("P223", "a chunk tcgen05.ld cannot read", "v4_swizzle", {"epilogue.chunks": 1}),
    ("P224", "a thousand threads", "v4_swizzle", {"roles.producer.warps": [31]}),
    ("P224", "eleven warps, three to a quarter of the SM", "combined/v8_two_consumers",
     {"epilogue.chunks": 4}),
    ("P224", "a tile held in 144 of 168 registers", "combined/v8_two_consumers",
     {"epilogue.chunks": 8}),
    ("P225", "more registers than an SM", V8,
     {"roles.epilogue.registers": 256, "roles.epilogue.warps": list(range(8, 20))}),
    ("P230", "producer without warps", V8, {"roles.producer.warps": []}),
    ("P231", "producer and mma on one warp", V3, {"roles.mma.warps": [0]}),
    ("P231", "mma inside a running epilogue", V8, {"roles.mma.warps": [3]}),
    ("P232", "two warps of a serial mainloop", "v1_kloop", {"roles.mma.warps": [1]}),
    ("P232", "two mma warps of a serial mainloop", "v1_kloop", {"roles.mma.warps": [0, 1],
     "roles.producer.warps": [0, 1]}),
    ("P232", "two mma warps of plain copies", "tirx/v3_tiled", {"roles.mma.warps": [0, 1]}),
    ("P221", "two accumulators of 256 for two consumers", "tirx/v9_two_consumers",
     {"pipeline.acc_stages": 2}),
    ("P233", "epilogue warps with a gap", "v4_swizzle", {"roles.epilogue.warps": [0, 1, 2, 4]}),
    ("P234", "three epilogue warps", "v4_swizzle", {"roles.epilogue.warps": [0, 1, 2]}),
    ("P234", "epilogue from warp 2", V8, {"roles.epilogue.warps": [2, 3, 4, 5],
     "roles.mma.warps": [0], "roles.producer.warps": [1]}),
    ("P235", "copies by one warp", "tirx/v2_k_loop", {"roles.producer.warps": [0]}),
    ("P235", "a row for more threads than divide the CTA", "tirx/v2_k_loop",
     {"smem.swizzle": "none", "tile.k": 208}),
    ("P235", "a row for more threads than there are", "v3_warp_specialized",
     PLAIN | {"tile.k": 512, "pipeline.ab_stages": 1}),
    ("P235", "copies by warps apart", V8,
     PLAIN | {"roles.producer.warps": [4, 6], "roles.mma.warps": [5]}),
    ("P235", "rows off a pass", "tirx/v2_k_loop", {"tile.n": 72, "mma.n": 72}),
    ("P236", "consumers apart", "tirx/v9_two_consumers", {"roles.mma.warps": [8, 10]}),
    ("P236", "two consumers of one instruction", V8, {"roles.mma.warps": [4, 5],
     "roles.producer.warps": [6]}),
    ("P236", "one warpgroup for two consumers", "tirx/v9_two_consumers",
     {"roles.epilogue.warps": [0, 1, 2, 3]}),
    ("P240", "a pair without a cluster", "v7_two_cta", {"cluster": None}),
    ("P240", "a pair along N", "v7_two_cta", {"cluster.m": 1, "cluster.n": 2}),
    ("P241", "a cluster of sixteen", "v6_multicast", {"cluster.m": 4, "cluster.n": 4}),
    ("P241", "a cluster of one", "v4_swizzle", {"cluster.m": 1, "cluster.n": 1}),
    ("P242", "multicast without TMA", "v6_multicast", {"load.kind": "cooperative"}),
    ("P243", "multicast without a cluster", "v5_epilogue", {"load.multicast": ["a"]}),
    ("P243", "A with nobody along N", "v6_multicast", {"cluster.n": 1}),
    ("P250", "nobody arrives", V8, {"barriers.acc_empty.arrive": []}),
    ("P251", "nobody waits", V8, {"barriers.acc_full.wait": []}),
    ("P252", "epilogue to producer", V8, {"barriers.acc_empty.wait": ["producer"]}),
    ("P253", "no ab_empty", V3, {"barriers.ab_empty": None}),
    ("P253", "no acc_empty", V8, {"barriers.acc_empty": None}),
    ("P253", "no mma_done", "v2_pipeline", {"barriers.mma_done": None}),
    ("P253", "no ab_full", "v1_kloop", {"barriers.ab_full": None}),
    ("P254", "a release that nobody needs", V8,
     {"scheduler.kind": "grid", "pipeline.acc_stages": 1}),
    ("P255", "one slot for a ring of stages", V3, {"barriers.ab_full.ring": "single"}),
    ("P255", "one slot for two accumulators", V8, {"barriers.acc_full.ring": "single"}),
    ("P255", "accumulator slots of one tile", "v4_swizzle", {"barriers.acc_full.ring": "acc"}),
    ("P256", "ab_empty not pre-armed", V3, {"barriers.ab_empty.pre_armed": False}),
    ("P256", "ab_full pre-armed", V3, {"barriers.ab_full.pre_armed": True}),
    ("P257", "thread arrival for loads", "v4_swizzle", {"barriers.ab_full.arrive.0.how": "thread"}),
    ("P257", "bytes of plain copies", "v4_swizzle", {"load.kind": "cooperative"}),
    ("P257", "thread arrival for MMAs", "v4_swizzle", {"barriers.ab_empty.arrive.0.how": "thread"}),
    ("P258", "commit without the peer", "v7_two_cta", {"barriers.ab_empty.arrive.0.to": "self"}),
    ("P258", "commit to itself under multicast", "v6_multicast",
     {"barriers.ab_empty.arrive.0.to": "self"}),
    ("P258", "release in each CTA", V8, {"barriers.acc_empty.arrive.0.to": "self"}),
    ("P258", "a leader without pairs", "v4_swizzle", {"barriers.ab_full.arrive.0.to": "leader"}),
    ("P260", "stages of a serial mainloop", "v1_kloop", {"pipeline.ab_stages": 2}),
    ("P260", "prefetch with one stage", "v2_pipeline", {"pipeline.ab_stages": 1}),
    ("P261", "two accumulators for one tile", "v7_two_cta", {"pipeline.acc_stages": 2}),
    ("P261", "two accumulators, one after the other", "tirx/v6_persistent",
     {"pipeline.acc_stages": 2}),
    ("P262", "one step through a ring", "v4_swizzle", {"problem.k_extent": "one_step"}),
    ("P263", "groups of a single tile", "v4_swizzle",
     {"scheduler.kind": "single", "scheduler.group_m": 8}),
    ("P264", "nowhere to stage D", "v4_swizzle", {"epilogue.kind": "tma_store"}),
    ("P264", "staged D without TMA stores", "v4_swizzle", {"epilogue.d_stages": 2}),
    ("P263", "groups of rows and of columns", H9, {"scheduler.group_m": 4}),
    ("P264", "staged chunks that do not divide", "v4_swizzle",
     {"epilogue.kind": "tma_store", "epilogue.d_stages": 3}),
    ("P291", "bf16", "v4_swizzle", {"problem.a.dtype": "bf16", "problem.b.dtype": "bf16"}),
    ("P291", "f32 output", "v4_swizzle", {"problem.d.dtype": "f32"}),
    ("P291", "f16 accumulation", "v4_swizzle", {"problem.acc_dtype": "f16"}),
    ("P292", "M-major A", "v4_swizzle", {"problem.a.major": "m"}),
    ("P292", "M-major D", "v4_swizzle", {"problem.d.major": "m"}),
    ("P293", "one K step of several MMAs", "v0_single_tile", {"tile.k": 64}),
    ("P293", "one K step", "v1_kloop", {"problem.k_extent": "one_step"}),
    ("P293", "one K step of plain loads", "tirx/v3_tiled", {"problem.k_extent": "one_step"}),
    ("P293", "ping-pong", "v4_swizzle", {"mainloop.kind": "pingpong"}),
    ("P293", "a persistent serial mainloop", "hopper/h2_tma", {"scheduler.kind": "persistent"}),
    ("P293", "a cluster of prefetch mainloops", "v2_pipeline", {"cluster.m": 2, "cluster.n": 2,
     "load.multicast": ["a", "b"]}),
    ("P293", "a cluster of serial mainloops", "v1_kloop", {"cluster.m": 2, "cluster.n": 2,
     "load.multicast": ["a", "b"]}),
    ("P258", "MMAs of one sequence that the sharers do not hear of", "v1_kloop", {"cluster.m": 2,
     "cluster.n": 1, "load.multicast": ["b"]}),
    ("P294", "cluster launch control", V8, {"scheduler.kind": "clc"}),
    ("P293", "clusters without warp specialisation", "hopper/h4_swizzle", {"cluster.m": 2,
     "cluster.n": 1, "load.multicast": ["b"], "barriers.ab_full.wait": ["mma"]}),
    ("P294", "a single tile on Hopper", H5, {"scheduler.kind": "single"}),
    ("P295", "two register buffers beside the accumulator", H9, {"epilogue.register_buffers": 2}),
    ("P295", "chunks wider than a swizzle span", H9, {"epilogue.chunks": 2}),
    ("P296", "two consumers in step", "hopper/h4_swizzle", {"roles.mma.warps": list(range(8)),
     "roles.epilogue.warps": list(range(8))}),
    ("P298", "both operands multicast on Hopper", "hopper/h7_multicast", {"cluster.n": 2,
     "load.multicast": ["a", "b"]}),
    ("P299", "a warpgroup without a role", H5, {"roles.mma.warps": [8, 9, 10, 11],
     "roles.epilogue.warps": [8, 9, 10, 11]}),
    ("P296", "half the lanes", "v4_swizzle", {"tile.m": 64, "mma.m": 64}),
    ("P296", "two MMAs along N", "v4_swizzle", {"mma.n": 128}),
    ("P298", "a cluster for nothing", "v5_epilogue", {"cluster.m": 2, "cluster.n": 1}),
    ("P299", "setmaxnreg", V8, {"roles.mma.registers": 40}),
    ("P299", "two producer warps", V8, {"roles.producer.warps": [5, 6]}),
    ("P299", "eight epilogue warps", "v4_swizzle", {"roles.epilogue.warps": list(range(8))}),
]  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_every_committed_spec_passes_every_rule(name: str) -> None:
    assert check_spec(SPECS / f"{name}.toml") == []


@pytest.mark.parametrize(
    ("code", "name", "changes"),
    [(code, name, changes) for code, _, name, changes in BAD],
    ids=[f"{code} {what}" for code, what, _, _ in BAD],
)
def test_fault_is_found(code: str, name: str, changes: Changes) -> None:
    findings = check_plan(vary(name, changes))
    assert code in {finding.code for finding in findings}
    for finding in findings:
        assert finding.help, "a way out"
        assert finding.key


SOLE = [row for row in BAD if row[0] in {"P220", "P221", "P231", "P250", "P253", "P256", "P258"}]


@pytest.mark.parametrize(
    ("code", "name", "changes"),
    [(code, name, changes) for code, _, name, changes in SOLE if "leader" not in str(changes)],
)
def test_one_fault_gives_findings_of_one_subject(code: str, name: str, changes: Changes) -> None:
    subjects = {finding.code[:3] for finding in check_plan(vary(name, changes))}
    assert subjects <= {code[:3], "P27", "P28", "P29"}


def test_every_rule_is_exercised() -> None:
    from gemmgen.check import codes

    assert {code for code, *_ in BAD} == set(codes.CODES) - codes.PROTOCOL - codes.AGREEMENT


def test_way_out_of_too_many_stages_is_accepted() -> None:
    over = check_plan(vary(V8, {"pipeline.ab_stages": 8}))
    assert [f.help for f in over] == ["at most 7 stages fit: write `ab_stages = 7`"]
    assert check_plan(vary(V8, {"pipeline.ab_stages": 7})) == []
    assert "= 263_168 > 232_448" in over[0].source


def test_all_findings_come_at_once() -> None:
    changes = {"tile.k": 16, "pipeline.acc_stages": 3, "barriers.acc_empty": None, "cluster": None}
    codes = {finding.code for finding in check_plan(vary(V8, changes))}
    assert {"P205", "P221", "P253", "P240"} <= codes


def test_names_of_barriers_do_not_matter() -> None:
    changes = {"barriers.ab_full.name": "acc_empty2", "barriers.acc_empty.name": "ab_full2"}
    assert check_plan(vary(V8, changes)) == []
