"""`gemmgen ablate` says what it printed, what it left out and why."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gemmgen.cli import main

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def _ablate(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["ablate", *arguments])


def test_sources_are_written_and_listed_with_what_they_show(tmp_path: Path) -> None:
    result = _ablate("v4", "-o", str(tmp_path), "--only", "loads_only", "--only", "tile_k_alone")
    assert result.exit_code == 0, result.output
    names = ["v4_swizzle__full.py", "v4_swizzle__loads_only.py"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert "not a GEMM" in result.output
    assert "left out, T461: `tile_k_alone` does not apply to v4_swizzle" in result.output
    text = (tmp_path / names[1]).read_text("utf-8")
    assert text.splitlines()[2] == "# ablation: loads_only"
    assert '"""NOT A GEMM: loads only.' in text


def test_an_ablation_that_does_not_apply_alone_is_refused(tmp_path: Path) -> None:
    result = _ablate("v0", "-o", str(tmp_path), "--only", "mma_only")
    assert result.exit_code == 2
    assert "error[T461]" in result.output
    assert not list(tmp_path.iterdir())


def test_an_unknown_ablation_is_refused_with_the_known_ones() -> None:
    result = _ablate("v4", "--only", "no_such")
    assert result.exit_code == 2
    assert "error[T460]" in result.output
    assert "`loads_only`" in result.output


def test_a_record_needs_something_to_time(tmp_path: Path) -> None:
    result = _ablate("v4", "-o", str(tmp_path), "--json", str(tmp_path / "r.json"))
    assert result.exit_code == 2
    assert "--shape" in result.output
