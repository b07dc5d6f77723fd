"""Sweeps: combinations, an interrupt, hanging kernels, and when there is a best."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import sweep_fakes as fakes

from gemmgen.compile.manifest import check_library
from gemmgen.run.executor import Died
from gemmgen.run.sweep import Driver, Sweep, Work, measure, read_sweep
from gemmgen.run.sweep import drive as drive_module
from gemmgen.run.sweep.points import make_sweep, write_points
from gemmgen.run.sweep.results import csv_text, judge_final, ranking, verdict_text
from gemmgen.run.sweep.tasks import Kernel
from gemmgen.terms import GemmgenError

SHAPE = "4096x4096x4096"


def start(folder: Path, *sets: str) -> Sweep:
    state = make_sweep(
        fakes.SPEC.read_text(),
        "h8_tma_store.toml",
        sets,
        shapes=[(4096, 4096, 4096)],
        rounds=9,
        slice_ms=10.0,
        verify="quick",
    )
    write_points(state, folder)
    state.write(folder)
    return state


def drive(state: Sweep, folder: Path, timer: Any) -> list[tuple[str, int, int]]:
    told: list[tuple[str, int, int]] = []
    work = Work(build=fakes.fake_build, measure=timer)
    driver = Driver(state, folder, fakes.Here(), lambda *step: told.append(step), work)
    driver.build()
    driver.measure()
    return told


def test_illegal_combinations_are_kept_with_their_reason_and_never_built(tmp_path: Path) -> None:
    state = start(tmp_path, "pipeline.ab_stages=3..6")
    refused = state.with_status("refused")
    assert [(point.values["pipeline.ab_stages"], point.code) for point in refused] == [
        (5, "P220"),
        (6, "P220"),
    ]
    assert "over shared memory" in refused[0].reason
    told = drive(state, tmp_path, fakes.Timer(state, {3: 90.0, 4: 80.0}))
    assert told[0] == ("building", 0, 2)
    assert {path.stem for path in (tmp_path / "libraries").iterdir()} == {
        "h8_tma_store_000",
        "h8_tma_store_001",
    }
    assert read_sweep(tmp_path) == state


def test_an_unknown_key_refuses_the_sweep_and_not_each_combination() -> None:
    with pytest.raises(GemmgenError, match="S102"):
        start(Path("nowhere"), "pipeline.stages=2..4")


def test_a_folder_stands_alone_once_it_is_built(tmp_path: Path) -> None:
    state = start(tmp_path / "here", "pipeline.ab_stages=3,4")
    driver = Driver(
        state, tmp_path / "here", fakes.Here(), lambda *_: None, Work(build=fakes.fake_build)
    )
    driver.build()
    there = (tmp_path / "here").rename(tmp_path / "there")
    moved = read_sweep(there)
    drive(moved, there, fakes.Timer(moved, {3: 90.0, 4: 80.0}))
    assert [point.status for point in moved.points] == ["measured", "measured"]
    assert moved.settle_ms == 3 * moved.slice_ms, "a record says how long contenders settled"
    for name in ("h8_tma_store_000", "h8_tma_store_001"):
        source = there / "generated" / f"{name}.py"
        assert check_library(there / "libraries" / f"{name}.json", source=source)


def test_a_damaged_library_is_built_again(tmp_path: Path) -> None:
    state = start(tmp_path, "pipeline.ab_stages=3,4")
    work = Work(build=fakes.fake_build)
    Driver(state, tmp_path, fakes.Here(), lambda *_: None, work).build()
    (tmp_path / "libraries" / "h8_tma_store_001.so").write_bytes(b"half")
    told: list[Any] = []
    Driver(state, tmp_path, fakes.Here(), lambda *step: told.append(step), work).build()
    assert told[-1] == ("building", 1, 1)
    assert (tmp_path / "libraries" / "h8_tma_store_001.so").read_bytes() == b"so"


def test_a_killed_sweep_goes_on_and_does_nothing_twice(tmp_path: Path) -> None:
    folder, log = tmp_path / "sweep", tmp_path / "log"
    start(folder, "pipeline.ab_stages=2..4", "epilogue.d_stages=1,2")
    code = (
        "import sys; from pathlib import Path; import sweep_fakes as fakes;"
        "from gemmgen.run.sweep import Driver, Work, read_sweep;"
        "folder = Path(sys.argv[1]);"
        "Driver(read_sweep(folder), folder, fakes.Here(), print, Work(fakes.slow_build)).build()"
    )
    command = [sys.executable, "-c", code, str(folder)]
    environment = {**os.environ, "BUILD_LOG": str(log), "PYTHONPATH": str(Path(__file__).parent)}
    first = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(read_sweep(folder).with_status("built")) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = {point.name for point in read_sweep(folder).with_status("built")}
    assert 2 <= len(kept) < 6
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    built = log.read_text().split()
    assert {point.status for point in read_sweep(folder).points} == {"built"}
    assert all(built.count(name) == 1 for name in kept)


@pytest.mark.parametrize(("spread", "clear"), [(0.001, True), (0.05, False)])
def test_there_is_a_best_only_beyond_the_noise(tmp_path: Path, spread: float, clear: bool) -> None:
    state = start(tmp_path, "pipeline.ab_stages=2..4")
    drive(state, tmp_path, fakes.Timer(state, {2: 90.0, 3: 82.0, 4: 80.0}, spread))
    final = state.finals[SHAPE]
    assert (final.best, final.clear) == ("h8_tma_store_002", clear)
    text = verdict_text(state, SHAPE)
    wanted = "best is pipeline.ab_stages=4, 2.5% faster" if clear else "no clear best"
    assert wanted in text


def test_batches_are_compared_by_their_own_cublas_and_the_best_are_timed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive_module, "BATCH", 2)
    state = start(tmp_path, "pipeline.ab_stages=2..4", "epilogue.d_stages=1,2")
    timer = fakes.Timer(state, {2: 80.0, 3: 82.0, 4: 78.0})
    drive(state, tmp_path, timer)
    assert [len(call) for call in timer.calls] == [2, 2, 2, 4]
    slow_card = state.points[4].times[SHAPE].microseconds
    assert slow_card > state.points[2].times[SHAPE].microseconds
    assert [point.values["pipeline.ab_stages"] for point in ranking(state, SHAPE)][:4] == [
        4,
        4,
        2,
        2,
    ]
    assert state.finals[SHAPE].runner_up == "h8_tma_store_005"
    assert not state.finals[SHAPE].clear


def test_a_sweep_that_is_measured_measures_nothing_again(tmp_path: Path) -> None:
    state = start(tmp_path, "pipeline.ab_stages=3,4")
    timer = fakes.Timer(state, {3: 90.0, 4: 80.0})
    drive(state, tmp_path, timer)
    calls = len(timer.calls)
    assert drive(read_sweep(tmp_path), tmp_path, timer) == []
    assert len(timer.calls) == calls


def test_csv_has_a_line_a_combination_and_says_why_one_is_refused(tmp_path: Path) -> None:
    state = start(tmp_path, "pipeline.ab_stages=4,5")
    drive(state, tmp_path, fakes.Timer(state, {4: 80.0}))
    rows = list(csv.DictReader(io.StringIO(csv_text(state))))
    assert [row["pipeline.ab_stages"] for row in rows] == ["4", "5"]
    assert float(rows[0]["x_cublas"]) == 1.25
    assert rows[1]["reason"].startswith("P220")


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 1}', '{"schema": 2}'])
def test_a_folder_without_a_readable_sweep_is_refused(tmp_path: Path, text: str) -> None:
    if text:
        (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(GemmgenError, match="T440"):
        read_sweep(tmp_path)


@pytest.mark.parametrize(
    ("bad", "code"), [("hang", "T416: hang hangs"), ("die", "T415: die ended"), ("late", "T416")]
)
def test_a_kernel_that_hangs_or_dies_is_named_and_the_others_are_timed(
    monkeypatch: pytest.MonkeyPatch, bad: str, code: str
) -> None:
    monkeypatch.setattr(measure, "CHILD", "sweep_fakes")
    monkeypatch.setattr(measure, "CASE_LIMIT", 0.5)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    kernels = tuple((Kernel(name, "", ""), {}) for name in ("one", bad, "two"))
    out = measure.measure(measure.Batch(kernels, ((1, 1, 1),), 1, 1.0, "quick"))
    assert {name: v.status for name, v in out.verified.items()} == {
        "one": "passed",
        bad: "failed",
        "two": "passed",
    }
    assert out.verified[bad].message.startswith(code)
    timed = sorted(entry["name"] for record in out.shapes for entry in record["entries"])
    assert timed == ["one", "two"]


def test_a_machine_that_runs_no_kernel_condemns_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "CHILD", "sweep_fakes")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    batch = measure.Batch(((Kernel("unfit", "", ""), {}),), ((1, 1, 1),), 1, 1.0, "quick")
    with pytest.raises(RuntimeError, match="T414"):
        measure.measure(batch)
    state = start(tmp_path, "pipeline.ab_stages=3")
    drive(state, tmp_path, lambda batch, device: Died("error[T414]: no tvm_ffi"))
    (point,) = state.points
    assert (point.status, point.reason) == ("built", "error[T414]: no tvm_ffi")


def test_the_state_on_disk_is_plain_json(tmp_path: Path) -> None:
    state = start(tmp_path, "pipeline.ab_stages=3,5")
    document = json.loads((tmp_path / "sweep.json").read_text())
    assert [point["status"] for point in document["points"]] == ["planned", "refused"]
    assert document["text"] == state.text


RECORDS = sorted((Path(__file__).parents[3] / "docs" / "records").glob("h200_sweep_*.json"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_committed_sweeps_are_measured_verified_and_judged(tmp_path: Path, record: Path) -> None:
    (tmp_path / "sweep.json").write_bytes(record.read_bytes())
    state = read_sweep(tmp_path)
    assert {point.status for point in state.points} <= {"measured", "refused"}
    assert all(point.verified == "GPU, 4 cases" for point in state.with_status("measured"))
    for shape, final in state.finals.items():
        assert final == judge_final(final.times)
        assert final.best in {point.name for point in ranking(state, shape)}
