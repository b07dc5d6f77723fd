"""Every swizzle, of rows of one span or of several, on both architectures, beside any of D."""

from __future__ import annotations

import re

import pytest
from variants import vary

from gemmgen.check import check_plan
from gemmgen.render.engine import render

SPANS = {"128b": (64, 1024, 3), "64b": (32, 512, 2), "32b": (16, 256, 1)}
STORES = {"epilogue.kind": "tma_store", "epilogue.d_stages": 2}


@pytest.mark.parametrize("swizzle", SPANS)
@pytest.mark.parametrize("name", ["v4_swizzle", "v8_persistent", "hopper/h9_persistent"])
def test_a_swizzle_of_a_whole_row_is_printed(name: str, swizzle: str) -> None:
    step, align, bits = SPANS[swizzle]
    plan = vary(name, {"smem.swizzle": swizzle, "tile.k": step})
    assert check_plan(plan) == []
    text = render(plan, spec_path="specs/x.toml")
    assert f"assert TILE_K * 2 == {2 * step}" in text
    assert f"swizzle = cute.make_swizzle({bits}, 4, 3)" in text
    assert f"# {align}-byte alignment: the swizzle repeats every 8 rows" in text
    assert ("K_BLOCKS" in text) == (step > plan.geometry.mma_k or name.startswith("hopper"))


@pytest.mark.parametrize("swizzle", SPANS)
@pytest.mark.parametrize("name", ["v4_swizzle", "tirx/v3_tiled", "hopper/h6_two_consumers"])
def test_a_row_of_two_spans_is_printed_span_by_span(name: str, swizzle: str) -> None:
    span, _, bits = SPANS[swizzle]
    stages = 1 if name == "tirx/v3_tiled" else 2
    changes = {"smem.swizzle": swizzle, "tile.k": 2 * span, "pipeline.ab_stages": stages}
    plan = vary(name, changes)
    assert check_plan(plan) == []
    text = render(plan, spec_path="specs/x.toml")
    assert f"AB_SPAN = {span}  #" in text
    assert "assert TILE_K % AB_SPAN == 0" in text
    assert text.count("(AB_SPAN, TILE_K // AB_SPAN)") == 2
    assert f"swizzle = cute.make_swizzle({bits}, 4, 3)" in text


@pytest.mark.parametrize("name", ["v4_swizzle", "hopper/h6_two_consumers"])
def test_a_row_that_is_no_whole_number_of_spans_is_refused(name: str) -> None:
    plan = vary(name, {"tile.k": 96, "pipeline.ab_stages": 2})
    assert [finding.code for finding in check_plan(plan)] == ["P205"]


@pytest.mark.parametrize("swizzle", [*SPANS, "none"])
def test_shared_memory_is_aligned_for_d_where_that_asks_for_more(swizzle: str) -> None:
    step = SPANS[swizzle][0] if swizzle in SPANS else 32
    plan = vary("v4_swizzle", STORES | {"smem.swizzle": swizzle, "tile.k": step})
    text = render(plan, spec_path="specs/x.toml")
    asked = [int(align) for align in re.findall(r", (\d+)\]\n", text)]
    assert max(asked) == 1024
    assert "get_dyn_smem(cutlass.Int8, alignment=1024)" in text
