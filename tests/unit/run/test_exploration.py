"""Exploring finds faults, repeats itself exactly, and says how to run a failure again."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import faults
import pytest
from click.testing import CliRunner

import gemmgen.run.explore
from gemmgen.cli import main
from gemmgen.emulate import Settings
from gemmgen.emulate.recorder import Recorder
from gemmgen.records import ExploreRecord
from gemmgen.run.explore import Exploration, explore_paths
from gemmgen.run.schedules import POLICIES
from gemmgen.run.trial import Trial

pytestmark = pytest.mark.compile
KERNEL = faults.ROOT / "generated" / "v7_two_cta.py"
SHAPE = (256, 512, 64 * 7)


def digest(trial: Trial, timing: str, seed: int, *, races: bool = False) -> str:
    """What happened in one run, in its order."""
    recorder = Recorder()
    settings = Settings(timing=timing, seed=seed, sm_count=4, races=races)
    case = trial.run(SHAPE, settings, [recorder])
    assert case.status == "passed", case.message
    return recorder.digest


def digests() -> dict[str, str]:
    trial = Trial(KERNEL)
    return {timing: digest(trial, timing, 3) for timing in (*POLICIES, "nominal")}


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return digests()


def test_one_seed_gives_one_run_in_every_process(here: dict[str, str]) -> None:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    code += "import json, test_exploration as t; print(json.dumps(t.digests()))"
    environment = os.environ | {"PYTHONHASHSEED": "4711", "PYTHONPATH": str(faults.ROOT)}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment, check=True
    )
    assert json.loads(found.stdout.splitlines()[-1]) == here


def test_policies_and_seeds_give_different_runs(here: dict[str, str]) -> None:
    assert len(set(here.values())) == len(here)
    trial = Trial(KERNEL)
    for timing in ("random", "pct", "starve", "delay"):
        assert digest(trial, timing, 4) != here[timing]
    assert digest(trial, "lazy", 4) == here["lazy"], "lazy has one schedule"


def test_looking_for_races_changes_nothing_of_a_run(here: dict[str, str]) -> None:
    trial = Trial(KERNEL)
    for timing in ("lazy", "random"):
        assert digest(trial, timing, 3, races=True) == here[timing]


class Inline:
    """A pool of one worker that is this process: starting real ones takes seconds."""

    def __init__(self, jobs: int, start: object) -> None:
        pass

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemmgen.run.explore, "WorkerPool", Inline)


def _records(paths: list[Path], options: Exploration) -> dict[str, ExploreRecord]:
    steps = explore_paths(paths, options, 1)
    return {Path(r.file).stem: r for r in steps if isinstance(r, ExploreRecord)}


def _timeless(record: Any) -> Any:
    """A record as JSON has it, without its seconds."""
    if isinstance(record, dict):
        return {key: _timeless(value) for key, value in record.items() if key != "seconds"}
    return record


def test_the_printed_command_repeats_a_failure_and_workers_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(faults.ROOT)
    path = faults.phase_never_flips(tmp_path)
    report = tmp_path / "explored.json"
    run = CliRunner().invoke(
        main, ["test", str(path), "--schedules", "24", "--jobs", "2", "--json", str(report)]
    )
    assert run.exit_code == 1, run.output
    (found,) = json.loads(report.read_text())["explorations"]
    again = next(line for line in run.output.splitlines() if line.startswith("again:"))
    words = shlex.split(again.partition(":")[2])
    assert words[0] == "gemmgen"
    assert shlex.join(words) == found["command"]
    repeated = CliRunner().invoke(main, [*words[1:], "--json", str(tmp_path / "again.json")])
    assert repeated.exit_code == 1, repeated.output
    (record,) = json.loads((tmp_path / "again.json").read_text())["tests"]
    assert _timeless(record["cases"][-1]) == _timeless(found["failure"])
    assert "E201" in found["failure"]["message"]
    assert found["shrunk"]["notes"], "the failure is shrunk"
    assert f"- {found['shrunk']['notes'][0]}" in run.output
    assert sum(found["runs"].values()) == found["index"], "everything before it passed"

    monkeypatch.setattr(gemmgen.run.explore, "WorkerPool", Inline)
    (here,) = _records([path], Exploration(24)).values()
    assert _timeless(json.loads(json.dumps(dataclasses.asdict(here)))) == _timeless(found)


@pytest.mark.usefixtures("inline")
def test_sound_kernels_pass_and_refused_shapes_are_counted(tmp_path: Path) -> None:
    path = faults.faulty(tmp_path, "v4_swizzle")
    shapes = ((128, 256, 64), (100, 256, 64))
    (record,) = _records([path], Exploration(12, shapes=shapes)).values()
    assert record.status == "passed"
    assert (sum(record.runs.values()), record.refused) == (6, 6)


@pytest.mark.usefixtures("inline")
def test_files_without_a_run_say_why_and_stop_no_other_file(tmp_path: Path) -> None:
    broken = faults.faulty(tmp_path, "v4_swizzle", ("@cute.jit", "@cute.jitter"))
    plain = tmp_path / "plain.py"
    plain.write_text("x = 1\n")
    unfit = faults.faulty(tmp_path, "v0_single_tile")
    records = _records([broken, plain, unfit], Exploration(6, shapes=((100, 256, 64),)))
    assert records["plain"].status == records["v4_swizzle"].status == "failed"
    assert "T402" in records["plain"].message
    assert "jitter" in records["v4_swizzle"].message
    assert (records["v0_single_tile"].status, records["v0_single_tile"].refused) == ("refused", 6)
    assert "M" in records["v0_single_tile"].message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--schedules", "0"], "1<=x"),
        (["--schedules", "6", "--timing", "lazy"], "leave --timing out"),
        (["--schedules", "6", "--runner", "none"], "not with --runner none"),
        (["--timing", "starve", "--target", "lode", "--shape", "256,256,64"], "T420"),
    ],
)
def test_options_that_contradict_are_refused(options: list[str], message: str) -> None:
    run = CliRunner().invoke(main, ["test", str(KERNEL), *options])
    assert run.exit_code in (1, 2)
    assert message in run.output
    assert "Traceback" not in run.output
