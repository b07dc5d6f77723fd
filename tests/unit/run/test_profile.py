"""Reading what ncu prints, and its two ways to refuse."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gemmgen.run.profile import FIGURES, STALL, document, parse, profile
from gemmgen.terms import GemmgenError

SHAPE = (4096, 4096, 4096)


def _page(cells: dict[str, tuple[str, str]]) -> str:
    rows = [["ID", *cells], ["", *(unit for unit, _ in cells.values())]]
    rows.append(["0", *(value for _, value in cells.values())])
    csv = "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)
    return f"==PROF== Connected to process 1\n{csv}\n"


PAGE = _page(
    {
        FIGURES["microseconds"][0]: ("nsecond", "212,480"),
        FIGURES["tensor_percent"][0]: ("%", "93.25"),
        FIGURES["sm_mhz"][0]: ("Ghz", "1.25"),
        FIGURES["waves"][0]: ("", "1"),
        STALL.format("barrier"): ("inst", "0.5"),
        STALL.format("gmma"): ("inst", "7.25"),
    }
)


def test_figures_come_in_their_units_and_missing_metrics_are_left_out() -> None:
    result = parse(PAGE, "h9", SHAPE)
    assert result.figures == pytest.approx(
        {"microseconds": 212.48, "tensor_percent": 93.25, "sm_mhz": 1250.0, "waves": 1.0}
    )


def test_a_metric_under_another_name_is_taken() -> None:
    *_, last = FIGURES["tensor_percent"]
    page = _page({FIGURES["tensor_percent"][0]: ("", "n/a"), last: ("%", "88.5")})
    assert parse(page, "h9", SHAPE).figures == {"tensor_percent": 88.5}


def test_stalls_are_sorted_most_first() -> None:
    assert parse(PAGE, "h9", SHAPE).stalls == (("gmma", 7.25), ("barrier", 0.5))


def _answers(code: int, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], code, text, "")


@pytest.mark.parametrize(
    ("code", "text", "wanted"),
    [
        (1, "==ERROR== ERR_NVGPUCTRPERM - no permission", "T431"),
        (1, "Traceback", "T432"),
        (0, "==PROF== Disconnected", "T432"),
    ],
)
def test_a_refusal_of_ncu_is_a_coded_error(code: int, text: str, wanted: str) -> None:
    with pytest.raises(GemmgenError) as caught:
        profile(Path("h9.py"), SHAPE, run=lambda _: _answers(code, text))
    assert caught.value.findings[0].code == wanted


def test_a_missing_ncu_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GemmgenError) as caught:
        profile(Path("h9.py"), SHAPE)
    assert caught.value.findings[0].code == "T430"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "h9.py"
    path.write_text("# spec: specs/h9.toml\n# digest: sha256:0123\n")
    return path


def test_the_command_leaves_clocks_alone_and_profiles_one_launch(kernel: Path) -> None:
    seen: list[list[str]] = []

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        return _answers(0, PAGE)

    profile(kernel, SHAPE, Path("built"), run=run)
    (command,) = seen
    assert command[command.index("--clock-control") + 1] == "none"
    assert command[command.index("--launch-count") + 1] == "1"
    assert command[-5:] == [str(kernel), "4096", "4096", "4096", "built"]


def test_a_record_says_which_spec_ran_where_and_when(kernel: Path) -> None:
    result = profile(kernel, SHAPE, run=lambda _: _answers(0, PAGE))
    record = document([result], {"name": "NVIDIA H200", "driver": "580.1"}, "2026-11-30")
    assert record["profiles"][0]["digest"] == "sha256:0123"
    assert (record["device"]["driver"], record["date"]) == ("580.1", "2026-11-30")
