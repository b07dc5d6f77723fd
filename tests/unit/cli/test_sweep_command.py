"""`gemmgen sweep`: the command around gemmgen.run.sweep."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from gemmgen.report.sweep_plot import Curve, draw


@pytest.fixture
def deep(project: Path) -> Path:
    """A sweep of which nothing is legal, and nothing need be built."""
    return project / "out" / "sweep" / "v5_epilogue"


def test_a_sweep_without_a_legal_combination_lists_the_reasons_and_fails(deep: Path, run) -> None:
    result = run("sweep", "v5", "--set", "pipeline.ab_stages=40..41")
    assert result.exit_code == 1
    assert result.stdout.count("refused P220 over shared memory") == 2
    assert "2 refused" in result.stdout
    rows = list(csv.DictReader((deep / "sweep.csv").open()))
    assert [row["pipeline.ab_stages"] for row in rows] == ["40", "41"]
    assert [point["code"] for point in json.loads((deep / "sweep.json").read_text())["points"]] == [
        "P220",
        "P220",
    ]


def test_the_same_command_goes_on_and_another_question_is_refused(deep: Path, run) -> None:
    first = run("sweep", "v5", "--set", "pipeline.ab_stages=40")
    state = (deep / "sweep.json").read_bytes()
    assert run("sweep", "v5", "--set", "pipeline.ab_stages=40").stdout == first.stdout
    assert (deep / "sweep.json").read_bytes() == state
    result = run("sweep", "v5", "--set", "pipeline.ab_stages=41")
    assert result.exit_code == 2
    assert "error[T441]: another sweep of v5_epilogue" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["v5"], "give a spec and --set"),
        (["v5", "--resume", "x"], "--resume takes the sweep from its folder"),
        (["--resume", "nowhere"], "error[T440]: no sweep in nowhere"),
        (["v5", "--set", "pipeline.stages=2"], "S102"),
        (["v5", "--set", "pipeline.ab_stages=9..2"], "S130"),
    ],
)
def test_what_cannot_be_swept_is_bad_input(project: Path, run, arguments, words) -> None:
    result = run("sweep", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (project / "out").exists()


@pytest.mark.compile
def test_built_here_and_resumed_without_a_gpu_waits_for_one(
    project: Path, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gemmgen.run.many.driver_is_here", lambda: False)
    sets = ("--set", "pipeline.ab_stages=2,40", "--verify", "none")
    built = run("sweep", "v5", *sets, "--build-only", "x")
    assert built.exit_code == 0, built.output
    assert "1 built, 1 refused" in built.stdout
    assert (project / "x" / "libraries" / "v5_epilogue_000.so").stat().st_size > 1000
    resumed = run("sweep", "--resume", "x")
    assert resumed.exit_code == 0, resumed.output
    assert "1 built, 1 refused" in resumed.stdout
    assert "1 wait for a GPU of sm_100a" in resumed.stdout


@pytest.mark.parametrize(("form", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_plot_has_a_band_a_curve_and_the_line_of_cublas(form: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    curve = Curve("group_m=4", ("2", "3"), (0.8, 0.9), (0.01, 0.02))
    drawn = draw("a title", "ab_stages", [("1x1x1", [curve])], form)
    assert drawn.startswith(start)
    if form == "svg":
        text = drawn.decode()
        assert all(words in text for words in ("a title", "ab_stages", "group_m=4", "1x1x1"))
        assert "FillBetweenPolyCollection" in text
        assert drawn == draw("a title", "ab_stages", [("1x1x1", [curve])], form)
