"""`gemmgen bench` without a GPU: saved records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RECORD = Path(__file__).parents[3] / "docs" / "records" / "h200_4096x4096x4096.json"


@pytest.fixture
def slower(tmp_path: Path) -> Path:
    """The record with cuBLAS' times kept and kernels half as fast."""
    document = json.loads(RECORD.read_text())
    for shape in document["shapes"]:
        for entry in shape["entries"]:
            if not entry["name"].startswith("cublas"):
                entry["ratio"] /= 2
    path = tmp_path / "slower.json"
    path.write_text(json.dumps(document))
    return path


def test_a_saved_record_prints_its_tables_without_a_gpu(run) -> None:
    result = run("bench", "--show", RECORD, "--suite", "seeds")
    assert result.exit_code == 0
    assert "Against cuBLAS" in result.stdout
    assert "4096x4096x4096" in result.stdout
    marked = run("bench", "--show", RECORD, "--suite", "seeds", "--markdown").stdout
    assert marked.startswith("Against cuBLAS:\n\n| shape | cuBLAS us |")


def test_the_exit_code_says_whether_something_is_slower(run, slower: Path) -> None:
    same = run("bench", "--show", RECORD, "--against", RECORD)
    assert (same.exit_code, "same" in same.stdout) == (0, True)
    worse = run("bench", "--show", slower, "--against", RECORD)
    assert (worse.exit_code, "-50.0%" in worse.stdout, "slower" in worse.stdout) == (1, True, True)
    better = run("bench", "--show", RECORD, "--against", slower)
    assert (better.exit_code, "faster" in better.stdout) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name generated files, or a record"),
        (["x.py"], "give --shape"),
        (["x.py", "--show", RECORD], "--show runs nothing"),
        (["--show", "nowhere.json"], "error[T444]"),
    ],
)
def test_what_cannot_be_benched_is_bad_input(run, arguments, words) -> None:
    result = run("bench", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_records_that_settled_differently_are_compared_with_a_word(run, tmp_path: Path) -> None:
    ladder = RECORD.with_name("h200_hopper_ladder.json")
    settled = tmp_path / "settled.json"
    settled.write_text(json.dumps(json.loads(ladder.read_text()) | {"settle_ms": 5.0}))
    result = run("bench", "--show", settled, "--against", ladder)
    assert "contenders settled 5 ms before a sample, then: 40 ms" in result.stdout
    assert "settled" not in run("bench", "--show", ladder, "--against", ladder).stdout
