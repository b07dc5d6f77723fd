"""Ablations print standalone files that say what they are, and leave the full kernels alone."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from gemmgen.render.ablations import ABLATIONS
from gemmgen.run.ablate import Refused, Variant, choose_ablations, make_variants
from gemmgen.terms import GemmgenError

ROOT = Path(__file__).parents[2]
SPECS = (
    "v2_pipeline", "v3_warp_specialized", "v6_multicast", "v8_persistent", "hopper/h2_tma",
    "hopper/h5_warp_specialized", "hopper/h10_pingpong",
)  # fmt: skip
Made = tuple[list[Variant], list[Refused]]


@functools.cache
def _made(name: str) -> Made:
    return make_variants(ROOT / f"specs/{name}.toml", choose_ablations(()))


def _variants(name: str) -> dict[str, Variant]:
    return {variant.name: variant for variant in _made(name)[0]}


@pytest.mark.parametrize("name", SPECS)
def test_every_ablation_is_printed_as_python_or_refused_with_a_reason(name: str) -> None:
    variants, refused = _made(name)
    assert {v.name for v in variants} | {r.name for r in refused} == {"full", *ABLATIONS}
    assert all(r.why for r in refused)
    for variant in variants:
        ast.parse(variant.source)
        lines = variant.source.splitlines()
        assert max(map(len, lines)) <= 104
        assert ("NOT A GEMM" in variant.source) == (not variant.is_gemm)
        if variant.name != "full":
            assert f"# ablation: {variant.name}" in lines


def test_an_ablation_keeps_the_waits_of_the_full_kernel() -> None:
    variants = _variants("hopper/h10_pingpong")
    waits = {name: v.source.count("mbarrier_wait") for name, v in variants.items()}
    assert set(waits.values()) == {waits["full"]}


def test_each_ablation_differs_from_the_full_kernel_and_from_every_other() -> None:
    for name in (*SPECS, "v0_single_tile", "tirx/v6_persistent"):
        variants = _variants(name).values()
        assert len({_code(variant.source) for variant in variants}) == len(variants), name


def _code(source: str) -> str:
    """Constants, kernel and launch: every ablation has another docstring, and no `main`."""
    parts = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign | ast.FunctionDef) and getattr(node, "name", "") != "main"
    ]
    return "".join(map(ast.dump, parts))


@pytest.mark.parametrize("name", ["hopper/h10_pingpong", "v8_persistent"])
def test_what_is_removed_is_not_there(name: str) -> None:
    variants = _variants(name)
    assert "cute.gemm" in variants["full"].source
    assert "cute.gemm" not in variants["loads_only"].source
    assert variants["mma_twice"].source.count("cute.gemm") == 2
    for copy in ("cute.copy(tma_a", "cute.copy(tma_b"):
        once = variants["full"].source.count(copy)
        assert variants["loads_twice"].source.count(copy) == 2 * once
    assert "make_swizzle" in variants["full"].source
    assert "tAgA[None, 0, k_tile]" in variants["same_tile"].source


def test_an_unknown_ablation_is_refused_by_name() -> None:
    with pytest.raises(GemmgenError, match="T460"):
        choose_ablations(["loads_onyl"])
