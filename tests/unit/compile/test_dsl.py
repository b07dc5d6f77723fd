"""The pinned DSL version, and errors that survive the way between processes."""

from __future__ import annotations

import importlib.metadata
import pickle
import tomllib
from pathlib import Path

import pytest

from gemmgen.compile import CompileError
from gemmgen.compile.dsl import PACKAGE, PINNED, check_version
from gemmgen.compile.errors import failure


def test_the_pin_is_the_one_that_the_project_installs() -> None:
    project = Path(__file__).parents[3] / "pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]["run"]
    assert f"{PACKAGE}[cu13]=={PINNED}" in extras


def test_another_version_is_refused_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "4.9.0")
    with pytest.raises(CompileError) as caught:
        check_version()
    assert caught.value.code == "C311"
    assert "4.9.0" in str(caught.value)
    assert f"=={PINNED}" in str(caught.value)


def test_a_missing_dsl_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(CompileError, match="pip install"):
        check_version()


def test_an_error_crosses_a_process_boundary_whole() -> None:
    error = failure("C305", "no", file="v.py", line=3, source="x = 1", help="do this")
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, CompileError)
    assert copy.findings == error.findings
    assert str(copy) == str(error)
