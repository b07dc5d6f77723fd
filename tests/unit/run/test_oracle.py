"""Inputs and bounds: exact problems are exact; the random bound holds for honest sums only."""

from __future__ import annotations

import pytest
import torch

from gemmgen.run.compare import judge
from gemmgen.run.guarded import GUARD_COLUMNS, GuardedOutput
from gemmgen.run.oracle import exact_problem, random_problem
from gemmgen.terms import Dtype


def _filled(values: torch.Tensor) -> GuardedOutput:
    out = GuardedOutput.make(*values.shape, torch.float16)
    out.d.copy_(values)
    return out


@pytest.mark.parametrize("k", [8, 64, 1024, 30_000])
def test_exact_results_are_exact_in_the_output_type(k: int) -> None:
    problem = exact_problem(32, 48, k, Dtype.F16, Dtype.F16, seed=3)
    assert torch.equal(problem.reference.half().double(), problem.reference)
    assert float((problem.a.double().abs() @ problem.b.double().abs().T).max()) <= 2048
    assert float(problem.reference.abs().max()) > 0


def test_exact_judgement_is_equality() -> None:
    problem = exact_problem(16, 16, 64, Dtype.F16, Dtype.F16, seed=1)
    assert judge(problem, _filled(problem.reference)).passed
    off = problem.reference.clone()
    off[3, 5] += 1
    verdict = judge(problem, _filled(off))
    assert not verdict.passed
    assert "(3, 5)" in verdict.message


@pytest.mark.parametrize("k", [64, 4096])
def test_random_bound_holds_for_fp32_sums_in_any_order(k: int) -> None:
    problem = random_problem(32, 32, k, Dtype.F16, Dtype.F16, seed=2)
    order = torch.randperm(k, generator=torch.Generator().manual_seed(0))
    d = torch.zeros(32, 32)
    for index in order.tolist():
        d += problem.a[:, index : index + 1].float() @ problem.b[:, index : index + 1].float().T
    assert judge(problem, _filled(d.half())).passed


def test_random_bound_refuses_fp16_sums_and_a_missing_k_tile() -> None:
    problem = random_problem(32, 32, 4096, Dtype.F16, Dtype.F16, seed=2)
    low = torch.zeros(32, 32, dtype=torch.float16)
    for start in range(0, 4096, 16):
        part = slice(start, start + 16)
        low += (problem.a[:, part].float() @ problem.b[:, part].float().T).half()
    assert not judge(problem, _filled(low)).passed
    short = problem.a[:, :-64].double() @ problem.b[:, :-64].double().T
    assert not judge(problem, _filled(short)).passed


def test_unwritten_elements_and_writes_outside_are_seen() -> None:
    problem = exact_problem(16, 16, 64, Dtype.F16, Dtype.F16, seed=1)
    out = _filled(problem.reference)
    out.d[7] = torch.nan
    assert "never written" in judge(problem, out).message
    out = _filled(problem.reference)
    out.whole[2, GUARD_COLUMNS + 3] = 0
    assert "1 elements written outside D" in judge(problem, out).message


def test_a_nan_written_outside_with_other_bits_is_seen() -> None:
    out = GuardedOutput.make(8, 8, torch.float16)
    out.whole.view(torch.int16)[0, 0] = -1
    assert out.written_outside() == 1
