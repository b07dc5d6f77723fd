"""Proving one generated file: compile it, run it on every shape, compare with torch."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gemmgen.compile import CompileError, KernelUnderTest, read_manifest
from gemmgen.compile.dsl import refusals
from gemmgen.emulate import EmulationError, Settings
from gemmgen.plan import default_shapes
from gemmgen.records import CaseRecord, TestRecord
from gemmgen.run.compare import judge
from gemmgen.run.guarded import GuardedOutput
from gemmgen.run.options import Options, Triple
from gemmgen.run.oracle import TORCH_DTYPE, Problem, exact_problem, random_problem
from gemmgen.run.runners import (
    BothRunner,
    EmulateRunner,
    Runner,
    RunnersDisagreeError,
    choose_runner,
    device_runner,
)
from gemmgen.run.subject import Subject, read_subject
from gemmgen.terms import GemmgenError

Listener = Callable[[str, CaseRecord | None, int], None]
MAKERS = {"exact": exact_problem, "random": random_problem}


def verify_file(path: Path | str, options: Options, listener: Listener | None = None) -> TestRecord:
    """Test one generated file.

    Args:
        listener: called as ``(file, case, total)``: once with ``None`` when the file has compiled,
            then with each finished case.

    Returns:
        The record; what goes wrong with the file is in it, nothing is raised for it, unless
        ``GEMMGEN_TRACEBACK=1`` asks for what gemmgen did not expect (T415).
    """
    try:
        return _verify(path, options, listener)
    except Exception as error:
        if os.environ.get("GEMMGEN_TRACEBACK"):
            raise
        return unexpected(Path(path), options.runner, error)


def unexpected(path: Path, runner: str, error: Exception) -> TestRecord:
    """The record of a file whose test ended with an error that has no code."""
    reason = str(error).strip().partition("\n")[0]
    message = f"T415: {path.name} ended with {type(error).__name__}: {reason}"
    return TestRecord(str(path), "", "", runner, "failed", message=message)


def _verify(path: Path | str, options: Options, listener: Listener | None) -> TestRecord:
    try:
        subject = read_subject(Path(path))
        name = choose_runner(options.runner, subject.plan.spec.arch)
    except GemmgenError as error:
        return TestRecord(str(path), "", "", options.runner, "failed", message=str(error))
    blank = TestRecord(str(path), subject.spec, subject.digest, name, "failed")
    try:
        target = _prepare(subject, name, options)
    except GemmgenError as error:
        return dataclasses.replace(blank, message=str(error))
    ready = dataclasses.replace(blank, status="compiled", resources=target.resources)
    if target.runner is None:
        return ready
    cases = _run_cases(subject, target, options, listener)
    return dataclasses.replace(ready, status=_overall(cases), cases=cases)


@dataclass(frozen=True)
class Target:
    """A compiled file and where it runs.

    Attributes:
        check: the file's own ``check_problem``: raises a ValueError that names the rule.
        runner: None to compile only.
        resources: what the kernel uses, by name.
    """

    check: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]
    runner: Runner | None
    resources: dict[str, Any]


def _prepare(subject: Subject, name: str, options: Options) -> Target:
    """Compile the file, or load its library."""
    device = None
    if name in ("gpu", "both"):
        device = device_runner(subject.path, subject.digest, options.libraries)
    if name == "gpu" and options.libraries is not None:
        manifest = read_manifest(options.libraries / f"{subject.path.stem}.json")
        assert device is not None
        return Target(device.kernel.check, device, manifest.resources)
    kernel = KernelUnderTest(subject.path, allow=options.allow)
    resources = dataclasses.asdict(kernel.compiled.resources)
    emulator = EmulateRunner(kernel, subject.plan, options.settings)
    runner: Runner | None = {"emulate": emulator, "gpu": device}.get(name)
    if name == "both" and device is not None:
        runner = BothRunner(emulator, device)
    return Target(kernel.check, runner, resources)


def _overall(cases: tuple[CaseRecord, ...]) -> str:
    states = {case.status for case in cases}
    if "failed" in states:
        return "failed"
    return "passed" if "passed" in states else "refused"


def _run_cases(
    subject: Subject, target: Target, options: Options, listener: Listener | None
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
            case = run_case(subject, target, shape, numerics, options.settings)
            cases.append(case)
            if listener is not None:
                listener(str(subject.path), case, total)
            failed = sum(case.status == "failed" for case in cases)
            if 0 < options.max_failures <= failed:
                return tuple(cases)
    return tuple(cases)


def run_case(
    subject: Subject, target: Target, shape: Triple, numerics: str, settings: Settings
) -> CaseRecord:
    """Run one shape with one kind of inputs and judge the result."""
    problem_spec = subject.plan.spec.problem
    problem = MAKERS[numerics](*shape, problem_spec.a.dtype, problem_spec.d.dtype, settings.seed)
    out = GuardedOutput.make(shape[0], shape[1], TORCH_DTYPE[problem_spec.d.dtype])
    blank = CaseRecord(
        shape,
        numerics,
        "failed",
        timing=settings.timing,
        target=settings.target,
        seed=settings.seed,
        sm_count=settings.sm_count,
    )
    try:
        refusal = _refusal(subject.path, target, problem, out.d)
    except CompileError as error:
        return dataclasses.replace(blank, message=str(error))
    if refusal:
        return dataclasses.replace(blank, status="refused", message=refusal)
    assert target.runner is not None
    start = time.perf_counter()
    try:
        facts = target.runner.run(problem, out)
    except (EmulationError, CompileError, RunnersDisagreeError, RuntimeError) as error:
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


def _refusal(path: Path, target: Target, problem: Problem, d: torch.Tensor) -> str:
    """What the generated file's own ``check_problem`` says, or an empty string.

    Raises:
        CompileError: C314, it raises something else than a ValueError.
    """
    with refusals(str(path), "C314"):
        try:
            target.check(problem.a, problem.b, d)
        except ValueError as error:
            return str(error) or "check_problem refuses it without a reason"
    return ""
