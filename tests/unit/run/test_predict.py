"""What the model of a Hopper kernel must get right whatever its constants are."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemmgen.run.generate import checked_plan
from gemmgen.run.predict import Prediction, predict

SPECS = Path(__file__).parents[3] / "specs"
LARGE = (8192, 8192, 8192)


def _rung(name: str, shape: tuple[int, int, int] = LARGE) -> Prediction:
    return predict(checked_plan(SPECS / f"{name}.toml"), shape)


def test_a_tile_of_128x256_takes_the_tensor_cores_1024_cycles_a_k_tile() -> None:
    step = _rung("hopper/h9_persistent")
    assert (step.k_tile, step.bound) == (2 * 128 * 256 * 64 / 4096, "tensor")


def test_without_a_swizzle_filling_shared_memory_is_what_limits() -> None:
    assert _rung("hopper/h3_pipeline").bound == "fill"
    assert _rung("hopper/h4_swizzle").bound != "fill"


def test_512_tiles_over_132_sms_are_four_rounds() -> None:
    assert _rung("hopper/h9_persistent", (4096, 4096, 4096)).rounds == 4


@pytest.mark.parametrize("name", ["hopper/h10_pingpong", "tuned/h200_4096x4096x4096"])
def test_no_tile_shows_its_store_when_the_next_one_hides_it(name: str) -> None:
    assert _rung(name).edge < 100 < _rung("hopper/h9_persistent").edge
    assert _rung(name).tensor_share < 1


def test_work_in_twice_the_depth_takes_less_than_twice_the_cycles() -> None:
    shallow, deep = (_rung("hopper/h8_tma_store", (4096, 4096, k)) for k in (2048, 4096))
    assert shallow.cycles < deep.cycles < 2 * shallow.cycles
