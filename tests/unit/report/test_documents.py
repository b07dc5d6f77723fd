"""Records are told apart by what is in them, and what is none is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gemmgen.report.page.documents import read_documents
from gemmgen.terms import GemmgenError


def test_the_committed_records_are_of_known_kinds(root: Path) -> None:
    documents = read_documents([root / "docs/records"], root)
    assert "docs/records/h200_hopper_ladder.json" in [named.name for named in documents.benches]
    assert documents.tests
    assert documents.profiles


def test_sweeps_and_ablations_are_told_apart(
    sweep: dict[str, Any], ablation: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(sweep))
    (tmp_path / "b.json").write_text(json.dumps(ablation))
    (tmp_path / "c.json").write_text('{"schema": 1, "something": []}')
    documents = read_documents([tmp_path])
    assert [named.name for named in documents.sweeps] == ["a.json"]
    assert [named.name for named in documents.ablations] == ["b.json"]
    assert documents.others == ["c.json"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("[]", "no JSON object"),
        ('{"kind": "ablate", "kernel": "h9"}', "without shapes, device, date"),
        ('{"tests": [{"file": 1}]}', "T411"),
        ('{"copy_terabytes": 1, "schema": 1}', "T444"),
    ],
)
def test_a_broken_record_is_refused_by_name(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(GemmgenError, match=reason) as refusal:
        read_documents([path])
    assert "broken.json" in str(refusal.value)


def test_a_path_that_is_not_there_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(GemmgenError, match="T470"):
            read_documents([path])
