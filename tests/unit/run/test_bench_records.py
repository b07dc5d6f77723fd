"""Records of `gemmgen bench`: what a fake timer makes of them, compared and tabled."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import pytest

from gemmgen.bench_records import BenchRecord, State, read_bench
from gemmgen.gpu.timing import Samples
from gemmgen.report.against import changes
from gemmgen.report.suite import SEEDS, activity, against_cublas, gain_of, gains, suite_shapes
from gemmgen.run.bench import shape_record
from gemmgen.run.rungs import rungs_of
from gemmgen.run.subject import read_subject
from gemmgen.terms import GemmgenError

SHAPE = (4096, 4096, 4096)
DEVICE = {"name": "NVIDIA H200", "sm_count": 132}


class Timer:
    """Rounds on a card whose clock sinks from `start` to 90 % of it, with relative `jitter`."""

    def __init__(self, seed: int, start: float = 1.0, jitter: float = 0.003) -> None:
        self.random, self.start, self.jitter = random.Random(seed), start, jitter

    def rounds(self, micros: dict[str, float], count: int = 15) -> dict[str, Samples]:
        times: dict[str, list[float]] = {name: [] for name in micros}
        for turn in range(count):
            clock = self.start * (1.0 - 0.1 * turn / count)
            for name, value in micros.items():
                times[name].append(value / clock * self.random.gauss(1.0, self.jitter))
        return {name: Samples(tuple(own), 50, False) for name, own in times.items()}


def record(micros: dict[str, float], *, seed: int = 0, start: float = 1.0, shapes=(SHAPE,)):
    timer = Timer(seed, start)
    contenders = {"cublas": 200.0, "cublas_again": 200.0, **micros}
    found = tuple(
        shape_record(shape, 3, timer.rounds(contenders), {"h9": "sha256:1"}, {}, (8e14, 4e12))
        for shape in shapes
    )
    return BenchRecord(DEVICE, {"torch": "2.13"}, "2026-11-30", 4.0, 800.0, found)


@pytest.mark.parametrize(
    ("time", "verdict"), [(210.0, "same"), (190.0, "faster"), (240.0, "slower")]
)
@pytest.mark.parametrize("start", [1.0, 0.8])
def test_a_change_counts_beyond_the_noise_on_a_fast_and_on_a_slow_card(
    time: float, verdict: str, start: float
) -> None:
    before = record({"h9": 210.0}, seed=1)
    (change,) = changes(record({"h9": time}, seed=2, start=start), before)
    assert (change.kernel, change.verdict) == ("h9", verdict)
    assert change.gain == pytest.approx(210.0 / time - 1.0, abs=0.02)


def test_a_gain_within_either_runs_noise_is_no_gain() -> None:
    before, now = record({"h9": 210.0}), record({"h9": 200.0})
    (quiet,) = before.shapes
    noisy = dataclasses.replace(before, shapes=(dataclasses.replace(quiet, noise=0.2),))
    assert changes(now, noisy)[0].verdict == "same"
    assert changes(noisy, now)[0].verdict == "same"


def test_records_of_other_devices_or_other_kernels_cannot_be_compared() -> None:
    now = record({"h9": 200.0})
    elsewhere = dataclasses.replace(now, device={"name": "NVIDIA B200"})
    for other in (elsewhere, record({"h8": 200.0}), record({"h9": 1.0}, shapes=((256, 256, 64),))):
        with pytest.raises(GemmgenError, match="T445"):
            changes(now, other)


def test_another_spec_of_the_same_name_is_said() -> None:
    now = record({"h9": 200.0})
    (found,) = now.shapes
    entries = tuple(dataclasses.replace(e, digest="sha256:2") for e in found.entries)
    other = dataclasses.replace(now, shapes=(dataclasses.replace(found, entries=entries),))
    assert changes(other, now)[0].respecified
    assert not changes(now, now)[0].respecified


def ladder() -> BenchRecord:
    made = record({"h1": 400.0, "h2": 200.0, "h3": 200.4}, shapes=(SHAPE, (256, 8192, 8192)))
    rungs = (("h1", "first"), ("h2", "second"), ("h3", "third"))
    return dataclasses.replace(made, rungs=rungs)


def test_gains_are_between_neighbours_by_regime_and_marked_within_noise() -> None:
    rows = gains(ladder(), "seeds")
    assert rows[0] == ("rung", "change", *SEEDS)
    second, third = rows[1:]
    assert second[:2] == ("h2", "second")
    assert float(second[2]) == pytest.approx(2.0, abs=0.05)
    assert third[2].endswith(" =")
    assert second[rows[0].index("prefill")] == "-"
    assert second[rows[0].index("decode M=256")] != "-"


def test_a_regime_of_several_shapes_is_a_geometric_mean() -> None:
    gain = gain_of(ladder(), "h1", "h2", [SHAPE, (256, 8192, 8192)])
    assert gain is not None
    assert gain.factor == pytest.approx(2.0, abs=0.05)
    assert gain.tells


def test_the_best_and_the_last_rung_stand_against_cublas() -> None:
    heading, first, _ = against_cublas(ladder())
    row = dict(zip(heading, first, strict=True))
    assert row["shape"] == "4096x4096x4096"
    assert row["best"] in ("h2", "h3")
    assert row["verdict"] == "same"
    assert float(row["h3 x cuBLAS"]) == pytest.approx(1.0, abs=0.02)


def test_activity_is_listed_beside_the_rate_and_absent_readings_stay_absent() -> None:
    made = ladder()
    assert len(activity(made)) == 1
    alone = {"h1": State(1500.0, 3201.0, 500.0, 60.0, 100.0, None)}
    shown = dataclasses.replace(made.shapes[0], alone=alone)
    row = activity(dataclasses.replace(made, shapes=(shown,)))[1]
    assert row[:2] == ("4096x4096x4096", "h1")
    assert row[3:] == ("100", "-", "500", "1500")


def test_the_suite_of_the_seeds_has_each_regime_and_no_shape_twice() -> None:
    shapes = suite_shapes("seeds")
    assert len(shapes) == len(set(shapes)) == 9
    assert {(4096, 4096, 4096), (8192, 8192, 8192), (8192, 28672, 8192)} < set(shapes)


def test_a_record_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    made = ladder()
    state = State(1500.0, 3201.0, 500.0, 60.0)
    made = dataclasses.replace(
        made, shapes=(dataclasses.replace(made.shapes[0], during=state, alone={"h1": state}),)
    )
    made.write(tmp_path / "r.json")
    assert read_bench(tmp_path / "r.json") == made


def test_records_from_before_nvml_are_read() -> None:
    records = Path(__file__).parents[3] / "docs" / "records"
    old = read_bench(records / "h200_8192x8192x8192.json")
    assert old.shapes[0].shape == (8192, 8192, 8192)


@pytest.mark.parametrize("text", [None, "", "{", '{"schema": 9}', '{"schema": 1}'])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "r.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(GemmgenError, match="T444"):
        read_bench(path)


def test_a_shape_record_is_json(tmp_path: Path) -> None:
    document = json.loads(json.dumps(dataclasses.asdict(record({"h9": 210.0}))))
    assert document["shapes"][0]["entries"][2]["name"] == "h9"


def test_rungs_climb_by_predecessor_and_not_by_name() -> None:
    folder = Path(__file__).parents[3] / "generated" / "hopper"
    names = ("h10_pingpong", "h8_tma_store", "h9_persistent")
    subjects = [read_subject(folder / f"{name}.py") for name in names]
    climbed = [name for name, _ in rungs_of(subjects)]
    assert climbed == ["h8_tma_store", "h9_persistent", "h10_pingpong"]
    assert rungs_of([subjects[0], subjects[1]]) == ()
