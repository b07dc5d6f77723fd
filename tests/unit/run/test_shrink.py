"""Real faults shrink to the smallest run that shows them, and the notes say what it takes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import faults
import pytest

from gemmgen.emulate import Settings
from gemmgen.records import ShrinkRecord, Triple
from gemmgen.run.shrink import lowest, shrink
from gemmgen.run.trial import Trial, failure_code

pytestmark = pytest.mark.compile


def _shrunk(path: Path, shape: Triple, settings: Settings) -> ShrinkRecord:
    trial = Trial(path)
    seeds = range(settings.seed, settings.seed + 20)
    tried = (dataclasses.replace(settings, seed=seed) for seed in seeds)
    settings = next(s for s in tried if trial.run(shape, s).status == "failed")
    record = shrink(trial, shape, settings, seconds=120)
    again = trial.run(record.case.shape, settings_of(record))
    assert again.status == "failed"
    assert again.message == record.case.message, "the smallest run repeats itself exactly"
    assert record.complete
    return record


def settings_of(record: ShrinkRecord) -> Settings:
    case = record.case
    return Settings(timing=case.timing, target=case.target, seed=case.seed, sm_count=case.sm_count)


def test_a_phase_that_never_flips_needs_the_ring_to_wrap(tmp_path: Path) -> None:
    path = faults.phase_never_flips(tmp_path)
    record = _shrunk(path, (256, 768, 16 * 9), Settings(timing="eager", sm_count=8))
    assert record.case.shape == (128, 256, 16 * 5)
    assert record.ctas == 1
    assert record.notes[0] == (
        "passes with k_tiles <= 4 = ab_stages, fails with 5: the A/B ring of 4 must wrap"
    )


def test_a_commit_without_the_peer_hangs_far_above_the_stage_count_only(tmp_path: Path) -> None:
    path = faults.commit_leaves_the_peer_out(tmp_path)
    record = _shrunk(path, (256, 512, 64 * 8), Settings(timing="random", seed=5, sm_count=8))
    assert failure_code(record.case) == "E201"
    assert record.case.shape == (256, 256, 64 * 7)
    assert (record.case.timing, record.ctas) == ("lazy", 2)
    assert "k_tiles <= 6 = ab_stages, fails with 7: the A/B ring of 6 must wrap" in record.notes[0]
    assert record.notes[-1].startswith("whatever the timing")
    assert record.command.endswith("--shape 256,256,448 --timing lazy --seed 5 --no-races")


def test_a_stage_that_restarts_with_each_tile_needs_a_second_tile_and_no_wrap(
    tmp_path: Path,
) -> None:
    path = faults.stage_restarts_with_each_tile(tmp_path)
    record = _shrunk(path, (768, 768, 64 * 3), Settings(timing="lazy", sm_count=4))
    m, n, k = record.case.shape
    assert (m * n, k, record.case.sm_count) == (2 * 256 * 256, 64, 2)
    assert record.notes[0].startswith("passes with 1 tile a cluster, fails with 2: no ring")
    assert record.command.endswith("--sm-count 2 --no-races")


def test_a_producer_that_leaves_early_is_caught_by_starving_commits_alone(tmp_path: Path) -> None:
    path = faults.producer_leaves_early(tmp_path)
    settings = Settings(timing="starve", target="commit", seed=3, sm_count=8)
    record = _shrunk(path, (128, 256, 16 * 3), settings)
    assert failure_code(record.case) == "E211"
    assert record.case.shape == (128, 256, 16)
    assert (record.case.timing, record.case.target) == ("starve", "commit")
    assert record.notes[0] == "fails in the first k_tile of the first tile: no ring has to wrap"
    assert "passes under lazy, eager" in record.notes[-1]


@pytest.mark.parametrize(("first", "last"), [(1, 1), (7, 7), (7, 13), (25, 25), (900, 4096)])
def test_the_lowest_failing_number_is_found_with_few_runs(first: int, last: int) -> None:
    asked = []

    def failing(value: int) -> bool:
        asked.append(value)
        return value >= first

    assert lowest(last, failing) == first
    assert len(asked) <= 40


def test_a_run_that_passes_is_not_shrunk() -> None:
    trial = Trial(faults.ROOT / "generated" / "v4_swizzle.py")
    with pytest.raises(ValueError, match="passed"):
        shrink(trial, (128, 256, 64), Settings())


def test_nothing_smaller_is_reported_when_time_is_over(tmp_path: Path) -> None:
    path = faults.phase_never_flips(tmp_path)
    settings = Settings(timing="eager", sm_count=8)
    record = shrink(Trial(path), (128, 256, 16 * 9), settings, seconds=0)
    assert not record.complete
    assert record.case.shape == (128, 256, 16 * 9)
    assert record.case.status == "failed"
    assert record.notes == ()
