"""Variants end in the emulator, and their figures follow from bytes and times."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemmgen.render.ablations import ABLATIONS
from gemmgen.run.ablate import choose_ablations, emulate_variant, make_variants, write_variants
from gemmgen.run.ablate_bench import loaded_bytes
from gemmgen.spec.override import override

ROOT = Path(__file__).parents[3]


@pytest.mark.compile
@pytest.mark.parametrize(
    ("name", "ablation"),
    [
        ("v8_persistent", "loads_only"),
        ("v6_multicast", "mma_only"),
        ("hopper/h7_multicast", "loads_only"),
    ],
)
def test_an_ablated_kernel_ends_without_a_fault(name: str, ablation: str, tmp_path: Path) -> None:
    variants, _ = make_variants(ROOT / f"specs/{name}.toml", choose_ablations([ablation]))
    path = write_variants(variants, tmp_path)[1]
    case = emulate_variant(variants[1], path)
    assert case.status == "passed", case.message
    assert not variants[1].is_gemm


@pytest.mark.compile
def test_an_ablated_kernel_that_leaves_out_a_release_fails_the_check(tmp_path: Path) -> None:
    variants, _ = make_variants(ROOT / "specs/v8_persistent.toml", choose_ablations(["loads_only"]))
    path = write_variants(variants, tmp_path)[1]
    text = path.read_text("utf-8")
    lost = "tcgen05.commit(ab_empty + stage, PAIR_MASK, tcgen05.CtaGroup.TWO)"
    assert lost in text
    path.write_text(text.replace(lost, "pass"), "utf-8")
    case = emulate_variant(variants[1], path)
    assert case.status == "failed"
    assert "ab_empty" in case.message


def test_loads_are_counted_once_a_cta_and_multicast_once_a_cluster() -> None:
    (full, *_), _ = make_variants(ROOT / "specs/hopper/h9_persistent.toml", [])
    arrived, read = loaded_bytes(full.plan, (256, 256, 64), "full")
    assert arrived == 2 * (128 + 256) * 64 * 2
    assert read == (2 * 128 + 256) * 64 * 2
    assert loaded_bytes(full.plan, (256, 256, 64), "loads_twice")[0] == 2 * arrived
    assert loaded_bytes(full.plan, (256, 256, 64), "mma_only") == (0, 0)


def test_plain_copies_of_a_role_are_doubled_and_left_out_after_a_lap(tmp_path: Path) -> None:
    changes = {
        "load.kind": "cooperative",
        "roles.producer.warps": [0, 1],
        "roles.mma.warps": [2],
        "barriers.ab_full.arrive[0].how": "threads",
    }
    spec = tmp_path / "specs" / "v4_swizzle.toml"
    spec.parent.mkdir()
    text = (ROOT / "specs/v4_swizzle.toml").read_text("utf-8")
    spec.write_text(override(text, changes), "utf-8")
    chosen = choose_ablations(["mma_only", "loads_twice"])
    (full, once, twice), refused = make_variants(spec, chosen)
    assert not refused
    copies = [v.source.count("cute.copy(copy_ab, tAgA") for v in (full, once, twice)]
    assert copies == [1, 1, 2]
    assert "if k_tile < AB_STAGES:" in once.source


def test_a_sentence_owns_up_to_noise() -> None:
    ablation = ABLATIONS["no_store"]
    assert ablation.sentence(0.9, 0.01, 0.0) == "without the store it takes 90% of the time"
    assert "the same, within the noise of 2.0%" in ablation.sentence(0.99, 0.02, 0.0)
    loads = ABLATIONS["loads_only"].sentence(0.73, 0.02, 11.81)
    assert loads == "the loads alone take 73% of the time, at 11.8 TB/s into shared memory"
