"""Each bad spec is refused with exactly the committed text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from error_pairs import BAD_SPECS, FOLDER, said_of

from gemmgen.spec.codes import CODES

# Codes that need several files, or a command line: tests/unit/spec has them.
ELSEWHERE = {"S112", "S113", "S120", "S121", "S130", "S140"}


@pytest.mark.parametrize("path", BAD_SPECS, ids=lambda path: path.stem)
def test_bad_spec_is_refused_with_the_committed_text(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    text = said_of(path.name)
    assert text, "nothing is wrong with this file"
    assert text == path.with_suffix(".txt").read_text(encoding="utf-8"), "run error_pairs.py"


def test_every_text_has_a_bad_spec() -> None:
    assert {p.stem for p in FOLDER.glob("bad_*.txt")} == {p.stem for p in BAD_SPECS}


def test_every_loader_code_has_a_pair() -> None:
    texts = "".join(p.read_text(encoding="utf-8") for p in FOLDER.glob("bad_*.txt"))
    assert set(re.findall(r"error\[(S\d+)\]", texts)) == set(CODES) - ELSEWHERE


def test_every_finding_of_a_pair_names_its_file_and_a_way_out() -> None:
    for path in BAD_SPECS:
        for block in path.with_suffix(".txt").read_text(encoding="utf-8").strip().split("\n\n"):
            assert f"--> {path.name}" in block, block
            assert "\n   = " in block, block
