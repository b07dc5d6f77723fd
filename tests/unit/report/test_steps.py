"""The tables of docs/hopper.md and README.md are those of the records; noise is called none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gemmgen.report.steps import RECORDS, main, steps_table

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("size", [4096, 8192])
def test_the_pages_hold_the_table_of_the_committed_records(size: int) -> None:
    texts = [(ROOT / name).read_text("utf-8") for name in RECORDS]
    predictions, profile, *benches = map(json.loads, texts)
    table = steps_table(predictions, profile, benches, (size, size, size))
    assert table.count("\n") == 13
    assert table.count("`h4_swizzle`") == 2, "once in each run that has it"
    for page in ("docs/hopper.md", "README.md"):
        assert table in (ROOT / page).read_text("utf-8"), page


def _bench(noise: float, **times: float) -> dict[str, Any]:
    entries = [
        {"name": name, "microseconds": us, "spread": 0.002, "tflops": 1.0, "ratio": 1.0}
        for name, us in times.items()
    ]
    return {"shapes": [{"shape": [8, 8, 8], "noise": noise, "entries": entries}]}


def _predictions(**cycles: float) -> dict[str, Any]:
    return {
        "predictions": [{"kernel": n, "shape": [8, 8, 8], "cycles": c} for n, c in cycles.items()]
    }


@pytest.mark.parametrize(("noise", "seen"), [(0.02, "none"), (0.005, "+1.0%")])
def test_a_gain_within_the_noise_of_its_run_is_none(noise: float, seen: str) -> None:
    predictions = _predictions(h1_kloop=2000, h2_tma=1000)
    bench = _bench(noise, h1_kloop=101.0, h2_tma=100.0)
    last = steps_table(predictions, {"profiles": []}, [bench], (8, 8, 8)).splitlines()[-1]
    assert f"| +100% | {seen} |" in last


def test_a_step_is_read_in_a_run_that_has_both_of_its_rungs() -> None:
    predictions = _predictions(h1_kloop=3000, h2_tma=2000, h3_pipeline=1000)
    cool = _bench(0.01, h1_kloop=300.0, h2_tma=200.0)
    hot = _bench(0.01, h2_tma=220.0, h3_pipeline=110.0)
    lines = steps_table(predictions, {"profiles": []}, [cool, hot], (8, 8, 8)).splitlines()
    assert "+50.0%" in lines[-3]
    assert "| 110.0 |" in lines[-1]
    assert "+100.0%" in lines[-1]


def test_where_the_run_changes_the_last_rung_is_there_again_as_the_new_run_has_it() -> None:
    predictions = _predictions(h1_kloop=3000, h2_tma=2000, h3_pipeline=1000)
    cool = _bench(0.01, h1_kloop=300.0, h2_tma=200.0)
    hot = _bench(0.02, h2_tma=220.0, h3_pipeline=110.0)
    lines = steps_table(predictions, {"profiles": []}, [cool, hot], (8, 8, 8)).splitlines()[2:]
    assert [line.split(" | ")[:2] for line in lines] == [
        ["| `h1_kloop`", "300.0"],
        ["| `h2_tma`", "200.0"],
        ["| `h2_tma`, run of the rows below", "220.0"],
        ["| `h3_pipeline`", "110.0"],
    ]
    assert "| 2.0% |" in lines[2]


def test_the_command_of_the_page_prints_both_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    main([])
    assert capsys.readouterr().out.count("`h9_persistent`") == 2


def test_records_that_are_not_there_end_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="run it in the root of the repository"):
        main([])
    with pytest.raises(SystemExit, match="usage"):
        main(["only.json"])
