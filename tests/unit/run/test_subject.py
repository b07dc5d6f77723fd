"""Which spec a generated file belongs to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gemmgen.run.subject import read_subject
from gemmgen.terms import GemmgenError

ROOT = Path(__file__).parents[3]


def test_a_copy_outside_any_project_finds_its_spec_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    copy = shutil.copy(ROOT / "generated/v1_kloop.py", tmp_path)
    with pytest.raises(GemmgenError, match="T403"):
        read_subject(Path(copy))
    shutil.copy(ROOT / "specs/v1_kloop.toml", tmp_path)
    subject = read_subject(Path(copy))
    assert subject.plan.spec.name == "v1_kloop"
    assert subject.spec == "specs/v1_kloop.toml"
