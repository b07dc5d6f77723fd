"""The tensor cores' own sums, and what `--runner both` makes of a difference."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gemmgen.run.guarded import GuardedOutput
from gemmgen.run.oracle import Problem, exact_problem, random_problem
from gemmgen.run.runners import BothRunner, RunFacts, RunnersDisagreeError
from gemmgen.run.settle import hopper_sum
from gemmgen.terms import Arch, Dtype

# Shape, element, and what an H200 wrote there: h3, h7_multicast, h7_multicast_n and
# h200_256x8192x28672, 2026-11-30. In the last the largest term is a product of two significands
# over 2: the others are aligned to the sum of its factors' exponents.
MEASURED = [
    ((128, 128, 576), (126, 76), -5.841255187988281e-06),
    ((768, 256, 320), (44, 93), -3.618001937866211e-05),
    ((128, 512, 576), (77, 460), 1.6033649444580078e-05),
    ((128, 1280, 448), (23, 873), -4.971027374267578e-05),
]


def _random(shape: tuple[int, int, int]) -> Problem:
    return random_problem(*shape, Dtype.F16, Dtype.F16, 0)


@pytest.mark.parametrize(("shape", "element", "value"), MEASURED)
def test_sums_that_cancel_are_what_an_h200_wrote_to_the_bit(
    shape: tuple[int, int, int], element: tuple[int, int], value: float
) -> None:
    problem, (row, column) = _random(shape), element
    total = hopper_sum(problem.a[row : row + 1], problem.b[column : column + 1])
    assert float(total.to(torch.float16)) == value
    ours = (problem.a[row].float() @ problem.b[column].float()).to(torch.float16)
    assert float(ours) != value


def test_sums_of_integers_are_exact() -> None:
    problem = exact_problem(64, 64, 200, Dtype.F16, Dtype.F16, 1)
    a, b = problem.a.repeat_interleave(64, 0), problem.b.repeat(64, 1)
    assert torch.equal(hopper_sum(a, b), problem.reference.flatten())


class _Writes:
    """A runner that writes `d`."""

    name = "writes"
    kernel = SimpleNamespace(compiled=SimpleNamespace(arch=Arch.SM90A))

    def __init__(self, d: torch.Tensor) -> None:
        self.written = d

    def run(self, problem: Problem, out: GuardedOutput) -> RunFacts:
        out.d.copy_(self.written)
        return RunFacts()


def _compare(problem: Problem, emulated: torch.Tensor, on_gpu: torch.Tensor) -> None:
    runners: Any = (_Writes(emulated), _Writes(on_gpu))
    rows, columns = emulated.shape
    BothRunner(*runners).run(problem, GuardedOutput.make(rows, columns, torch.float16))


def test_both_accepts_the_tensor_cores_own_sum_and_nothing_near_it() -> None:
    shape, (row, column), value = MEASURED[0]
    problem = _random(shape)
    emulated = problem.reference.to(torch.float16)
    on_gpu = emulated.clone()
    on_gpu[row, column] = value
    _compare(problem, emulated, on_gpu)
    on_gpu[row, column] = value + 2 * 2.0**-24
    with pytest.raises(RunnersDisagreeError, match=r"1 elements; first at \(126, 76\)"):
        _compare(problem, emulated, on_gpu)


def test_both_wants_the_same_bits_on_exact_inputs() -> None:
    problem = exact_problem(64, 64, 64, Dtype.F16, Dtype.F16, 1)
    right = problem.reference.to(torch.float16)
    wrong = right.clone()
    wrong[3, 5] += 1
    _compare(problem, right, right)
    with pytest.raises(RunnersDisagreeError, match=r"first at \(3, 5\)"):
        _compare(problem, right, wrong)
