from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gemmgen.cli import main

ROOT = Path(__file__).parents[3]
Run = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own with two rungs, rendered; the current folder."""
    for folder, end in (("specs", ".toml"), ("generated", ".py")):
        (tmp_path / folder).mkdir()
        for name in ("v4_swizzle", "v5_epilogue"):
            shutil.copy(ROOT / folder / f"{name}{end}", tmp_path / folder)
    first = tmp_path / "specs" / "v4_swizzle.toml"
    first.write_text(first.read_text().replace('predecessor = "v3_warp_specialized"\n', ""))
    monkeypatch.chdir(tmp_path)
    assert invoke("render", "--all").exit_code == 0
    return tmp_path


def invoke(*args: str | Path) -> Result:
    """Run one command in this process; whatever it does, it leaves no traceback."""
    result = CliRunner().invoke(main, [str(arg) for arg in args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def run() -> Run:
    return invoke


@pytest.fixture
def spec(project: Path) -> Path:
    return project / "specs" / "v5_epilogue.toml"


@pytest.fixture
def kernel(project: Path) -> Path:
    return project / "generated" / "v5_epilogue.py"


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colour and no width from the terminal that runs the tests."""
    for name in ("FORCE_COLOR", "COLUMNS", "GEMMGEN_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    assert os.environ.get("PATH")
