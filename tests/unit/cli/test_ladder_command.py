"""`gemmgen ladder`: the tables of a ladder in documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemmgen.records import CaseRecord, TestRecord, write_records
from gemmgen.spec import digest, load_spec

MARKS = "before\n<!-- ladder cute -->\nold\n<!-- end ladder -->\nafter\n"


def test_ladder_brings_the_table_of_a_document_up_to_date(project: Path, run) -> None:
    document = project / "README.md"
    document.write_text(MARKS)
    assert run("ladder", "--into", document, "--check").exit_code == 1
    assert document.read_text() == MARKS
    assert run("ladder", "--into", document).stdout == f"written  {document}\n"
    text = document.read_text()
    assert text.startswith("before\n<!-- ladder cute -->\n| kernel |")
    assert text.endswith("<!-- end ladder -->\nafter\n")
    assert "[`v5_epilogue`](generated/v5_epilogue.py)" in text
    assert run("ladder", "--into", document, "--check").exit_code == 0


@pytest.mark.parametrize("text", ["no marks\n", MARKS.replace("cute", "other")])
def test_a_document_without_a_place_for_the_table_is_bad_input(project: Path, run, text) -> None:
    document = project / "README.md"
    document.write_text(text)
    assert run("ladder", "--into", document).exit_code == 2
    assert document.read_text() == text


def test_ladder_calls_verified_only_what_was_verified_in_this_form(spec: Path, run) -> None:
    case = CaseRecord((128, 256, 64), "exact", "passed", 0.0)
    figures = {
        "registers": 94, "dynamic_smem_bytes": 1024, "static_smem_bytes": 0, "tmem_columns": 256,
    }  # fmt: skip
    mark = digest(load_spec(spec))
    record = TestRecord("x.py", "x", mark, "emulate", "passed", figures, (case,))
    write_records(Path("records.json"), [record])
    line = run("ladder", "--records", "records.json").stdout.splitlines()[-1]
    assert line.endswith("| emulator, 1 cases |")
    assert "94, 1.0 KiB, 256 columns" in line
    spec.write_text(spec.read_text().replace("register_buffers = 2", "register_buffers = 1"))
    changed = run("ladder", "--records", "records.json").stdout.splitlines()[-1]
    assert changed.endswith("| no |")


@pytest.mark.parametrize("text", ["{", "{}", '{"schema": 9, "tests": []}', "\udcff"])
def test_what_is_no_record_is_bad_input(project: Path, run, text: str) -> None:
    Path("records.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    result = run("ladder", "--records", "records.json")
    assert result.exit_code == 2
    assert "error[T411]" in result.stderr
