"""Kernels that nobody here wrote pass in the emulator: a part of `make conformance`."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path

import pytest
import torch

pytest.importorskip("cutlass", reason="CuTe DSL is not installed")

import conformance.__main__
from conformance import cutlass_examples, page, quack, worker
from conformance.model import Case
from conformance.runs import POLICIES, Row, run_case, run_once, settings_of

pytestmark = [
    pytest.mark.compile,
    pytest.mark.conformance,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
CASES = {case.name: case for case in (*quack.cases(), *cutlass_examples.cases())}
FIXED = {  # the policies that each kernel of the fixed part runs under
    "quack_pingpong_one_cluster": ("lazy", "pct"),
    "quack_cooperative_bf16": ("eager", "starve"),
    "quack_pairs_clc": ("lazy", "delay"),
}


def needed(case: Case) -> Case:
    """Skip where the kernel's source is not installed."""
    source = quack if case.name.startswith("quack_") else cutlass_examples
    if reason := source.missing():
        pytest.skip(reason)
    return case


@pytest.mark.parametrize("name", FIXED)
def test_foreign_kernel_equals_torch_under_hostile_timing(name: str) -> None:
    row = run_case(needed(CASES[name]), FIXED[name])
    assert row.message == ""
    assert row.runs >= len(FIXED[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_foreign_kernel_equals_torch_under_every_policy(name: str) -> None:
    row = run_case(needed(CASES[name]))
    assert row.message == ""


def test_a_wrong_element_of_a_foreign_kernel_would_be_seen() -> None:
    prepared = needed(CASES["quack_cooperative_256"]).prepare()
    settings = next(settings_of(CASES["quack_cooperative_256"], prepared, ("lazy",)))
    assert run_once(prepared, settings)[1] == ""
    prepared.matrices["d"].storage[255, 3] += 1
    assert "1 of 65536 elements wrong; first at (255, 3)" in prepared.judge()
    prepared.matrices["d"].storage.fill_(torch.nan)
    assert prepared.judge().startswith("65536 of 65536")


def test_names_are_unique_and_policies_are_all_turned_over() -> None:
    assert max(Counter(case.name for case in quack.cases()).values()) == 1
    assert max(Counter(case.name for case in cutlass_examples.cases()).values()) == 1
    assert set().union(*FIXED.values()) <= set(POLICIES)


def test_workers_can_import_what_they_run() -> None:
    """``spawn`` does not import a package's ``__main__``, where a function would not be found."""
    assert worker.run.__module__ == "conformance.worker"
    assert "worker.run" in inspect.getsource(conformance.__main__)


def test_the_page_counts_runs_by_policy_and_names_what_failed() -> None:
    good, bad = (Case(name, "k", "sm_90a", "c", lambda: None) for name in ("good", "bad"))  # type: ignore[arg-type, return-value]
    rows = {
        "good": Row("good", 3, 1000, 1.0, 1.0, passed={"lazy": 1, "random": 2}),
        "bad": Row("bad", 1, 10, 1.0, 1.0, "lazy seed 0: error[E262]: a | b\nmore"),
    }
    text = page.page((good, bad), rows, races=True)
    assert "| good | k | sm_90a | c | 1 | - | 2 | - | - | - | equal |" in text
    assert "| lazy seed 0: error[E262]: a / b |" in text
    assert "1 of 2 cases are equal with no finding: 4 runs, 1,010 warp instructions." in text
    assert "Rules(strict=False)" in text
    assert "does not listen" in page.page((good, bad), rows, races=False)


def test_the_page_says_whether_its_rows_have_cutlass_examples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def versions(kernel: str) -> str:
        case = Case("c", kernel, "sm_90a", "c", lambda: None)  # type: ignore[arg-type, return-value]
        text = page.page((case,), {"c": Row("c", 1, 10, 1.0, 1.0)}, races=True)
        return next(line for line in text.splitlines() if line.startswith("Versions: "))

    monkeypatch.setenv(cutlass_examples.VARIABLE, "/somewhere")
    assert versions("quack ping-pong").endswith("CUTLASS examples left out.")
    monkeypatch.delenv(cutlass_examples.VARIABLE)
    kernels = {case.kernel for case in cutlass_examples.cases()}
    assert kernels
    assert all(versions(k).endswith("CUTLASS examples included.") for k in kernels)


def test_the_versions_of_the_committed_page_agree_with_its_rows() -> None:
    text = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text("utf-8")
    assert ("CUTLASS examples included" in text) == ("| CUTLASS " in text)
