"""Proving one generated file: compile it, run it on every shape, compare with torch."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from gemmgen.compile import CompileError, KernelUnderTest
from gemmgen.emulate import EmulationError, Settings
from gemmgen.plan import default_shapes
from gemmgen.records import CaseRecord, TestRecord
from gemmgen.run.compare import judge
from gemmgen.run.guarded import GuardedOutput
from gemmgen.run.oracle import TORCH_DTYPE, Problem, exact_problem, random_problem
from gemmgen.run.runners import Runner, choose_runner, make_runner
from gemmgen.run.subject import Subject, read_subject
from gemmgen.terms import GemmgenError

Triple = tuple[int, int, int]
Listener = Callable[[str, CaseRecord | None, int], None]
MAKERS = {"exact": exact_problem, "random": random_problem}


@dataclass(frozen=True)
class Options:
    """How to test.

    Attributes:
        runner: ``auto``, ``emulate``, ``gpu`` or ``none`` (compile only).
        shapes: (M, N, K) to run; empty for the plan's default shapes.
        settings: timing, seed and SM count of the emulated device.
        allow: compile findings to let pass, by name.
        max_failures: stop a file after this many failed cases; 0 never stops.
    """

    runner: str = "auto"
    shapes: tuple[Triple, ...] = ()
    settings: Settings = field(default_factory=Settings)
    allow: tuple[str, ...] = ()
    max_failures: int = 1


def verify_file(path: Path, options: Options, listener: Listener | None = None) -> TestRecord:
    """Test one generated file.

    Args:
        listener: called as ``(file, case, total)``: once with ``None`` when the file has compiled, then
            with each finished case.

    Returns:
        The record; what goes wrong with the file is in it, nothing is raised for it.
    """
    try:
        subject = read_subject(path)
        name = choose_runner(options.runner, subject.plan.spec.arch)
    except GemmgenError as error:
        return TestRecord(str(path), "", "", options.runner, "failed", message=str(error))
    blank = TestRecord(str(path), subject.spec, subject.digest, name, "failed")
    try:
        kernel = KernelUnderTest(path, allow=options.allow)
    except CompileError as error:
        return dataclasses.replace(blank, message=str(error))
    compiled = dataclasses.replace(
        blank, status="compiled", resources=dataclasses.asdict(kernel.compiled.resources)
    )
    if name == "none":
        return compiled
    runner = make_runner(name, kernel, subject.plan, options.settings, path)
    cases = _run_cases(subject, kernel, runner, options, listener)
    return dataclasses.replace(compiled, status=_overall(cases), cases=cases)


def _overall(cases: tuple[CaseRecord, ...]) -> str:
    states = {case.status for case in cases}
    if "failed" in states:
        return "failed"
    return "passed" if "passed" in states else "refused"


def _run_cases(
    subject: Subject,
    kernel: KernelUnderTest,
    runner: Runner,
    options: Options,
    listener: Listener | None,
) -> tuple[CaseRecord, ...]:
    shapes = options.shapes or tuple(
        (s.m, s.n, s.k) for s in default_shapes(subject.plan, options.settings.sm_count)
    )
    total = len(shapes) * len(MAKERS)
    if listener is not None:
        listener(str(subject.path), None, total)
    cases = []
    for numerics in MAKERS:
        for shape in shapes:
            case = run_case(subject, kernel, runner, shape, numerics, options.settings)
            cases.append(case)
            if listener is not None:
                listener(str(subject.path), case, total)
            if sum(case.status == "failed" for case in cases) == options.max_failures:
                return tuple(cases)
    return tuple(cases)


def run_case(
    subject: Subject,
    kernel: KernelUnderTest,
    runner: Runner,
    shape: Triple,
    numerics: str,
    settings: Settings,
) -> CaseRecord:
    """Run one shape with one kind of inputs and judge the result."""
    problem_spec = subject.plan.spec.problem
    problem = MAKERS[numerics](*shape, problem_spec.a.dtype, problem_spec.d.dtype, settings.seed)
    out = GuardedOutput.make(shape[0], shape[1], TORCH_DTYPE[problem_spec.d.dtype])
    blank = CaseRecord(shape, numerics, "failed", timing=settings.timing, seed=settings.seed)
    refusal = _refusal(kernel, problem, out.d)
    if refusal:
        return dataclasses.replace(blank, status="refused", message=refusal)
    start = time.perf_counter()
    try:
        facts = runner.run(problem, out)
    except (EmulationError, CompileError) as error:
        seconds = time.perf_counter() - start
        return dataclasses.replace(blank, seconds=seconds, message=str(error))
    verdict = judge(problem, out)
    return dataclasses.replace(
        blank,
        status="passed" if verdict.passed else "failed",
        max_error=verdict.max_error,
        tolerance_used=verdict.tolerance_used,
        seconds=time.perf_counter() - start,
        instructions=facts.instructions,
        message=verdict.message,
    )


def _refusal(kernel: KernelUnderTest, problem: Problem, d: torch.Tensor) -> str:
    """What the generated file's own ``check_problem`` says, or an empty string."""
    module = kernel.module
    try:
        module.check_problem(problem.a, problem.b, d)
    except module.UnsupportedProblem as error:
        return str(error)
    return ""
