"""Comparing an output with the reference, and saying where it is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gemmgen.run.guarded import GuardedOutput
from gemmgen.run.oracle import Problem


@dataclass(frozen=True)
class Verdict:
    """How far an output is from the reference.

    Attributes:
        passed: every element written and within its bound, nothing written outside.
        max_error: largest absolute distance; NaN when an element is not a number.
        tolerance_used: largest ratio of distance to bound; 0 for exact inputs.
        message: empty, or where and how it is wrong.
    """

    passed: bool
    max_error: float
    tolerance_used: float
    message: str


def judge(problem: Problem, out: GuardedOutput) -> Verdict:
    """Compare D with the reference element by element."""
    got = out.d.double().cpu()
    distance = (got - problem.reference).abs()
    wrong = ~(distance <= problem.bound)
    outside = out.written_outside()
    messages = []
    if outside:
        messages.append(f"{outside} elements written outside D")
    if bool(wrong.any()):
        unwritten = out.unwritten()
        if unwritten:
            messages.append(f"{unwritten} elements never written (or NaN)")
        messages.append(_where(wrong, got, problem.reference))
    ratio = 0.0
    if bool(problem.bound.any()):
        ratio = float((distance / problem.bound).max())
    worst = float(distance.max())
    return Verdict(not messages, worst, ratio, "; ".join(messages))


def _where(wrong: torch.Tensor, got: torch.Tensor, reference: torch.Tensor) -> str:
    rows, columns = wrong.any(1).nonzero().flatten(), wrong.any(0).nonzero().flatten()
    row, column = (int(x) for x in wrong.nonzero()[0])
    return (
        f"{int(wrong.sum())} of {wrong.numel()} elements wrong, "
        f"rows {int(rows[0])}..{int(rows[-1])}, columns {int(columns[0])}..{int(columns[-1])}; "
        f"first at ({row}, {column}): got {float(got[row, column])}, "
        f"want {float(reference[row, column])}"
    )
