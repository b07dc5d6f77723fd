"""Who finds a mutant: the checker, the compiler, the emulator."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from gemmgen.check import check_plan
from gemmgen.check.codes import PROTOCOL
from gemmgen.compile import CompileError, KernelUnderTest
from gemmgen.compile.launch import Launch
from gemmgen.emulate import EmulationError, Hang
from gemmgen.emulate.race import RaceDetector, Rules
from gemmgen.plan import Plan
from gemmgen.render.engine import render
from gemmgen.run.compare import judge
from gemmgen.run.guarded import GuardedOutput
from gemmgen.run.oracle import TORCH_DTYPE, Problem, exact_problem
from gemmgen.run.runners import EmulateRunner
from gemmgen.terms import GemmgenError
from mutants.battery import Run, battery, refused_problems
from mutants.model import Detector, Layer, Mutant, Outcome
from mutants.subjects import Rung, rung

# PTX that the emulator cannot read or has no opcode for, or Python that is no kernel: a bad edit,
# and no find.
UNREADABLE = ("E203", "E215")
NO_KERNEL = re.compile(
    r"NameError|SyntaxError|IndentationError|UnboundLocal|not Python|TypeError|AttributeError"
)
LINES = 4


@dataclass(frozen=True)
class Edited:
    """A compiled kernel whose launches run another PTX; what `EmulateRunner` asks a kernel for."""

    kernel: KernelUnderTest
    ptx: str

    def launch(self, a: Any, b: Any, d: Any, *, sm_count: int = 148, stream: int = 0) -> Launch:
        """The launch, with the PTX exchanged."""
        return replace(self.kernel.launch(a, b, d, sm_count=sm_count, stream=stream), ptx=self.ptx)


def detect(mutant: Mutant, subject: Rung) -> Outcome:
    """Ask every detector in turn, up to the first that finds `mutant`."""
    start = time.perf_counter()
    content = mutant.content
    if isinstance(content, Plan):
        outcome = of_plan(content, subject)
    elif mutant.kind.layer is Layer.TEXT:
        outcome = of_text(content, subject.plan)
    else:
        kernel = original(subject.name)
        outcome = of_runs(Edited(kernel, content), kernel.module.check_problem, subject.plan)
    return replace(outcome, seconds=round(time.perf_counter() - start, 2))


def of_plan(plan: Plan, subject: Rung) -> Outcome:
    """Check a plan; print and run one that passes."""
    findings = check_plan(plan)
    if findings:
        codes = tuple(dict.fromkeys(finding.code for finding in findings))
        protocol = [code for code in codes if code in PROTOCOL]
        detector = Detector.PROTOCOL if protocol else Detector.CHECK
        first = next(f for f in findings if f.code == (protocol or codes)[0])
        return Outcome(detector, first.code, first.title, codes=codes)
    try:
        source = render(plan, spec_path=f"specs/{subject.name}.toml")
    except GemmgenError as error:
        finding = error.findings[0]
        # R301 is a fault of the templates: it does not tell that the plan is wrong.
        detector = Detector.BROKEN if finding.code == "R301" else Detector.RENDER
        return Outcome(detector, finding.code, finding.title)
    if source == subject.source:
        return Outcome(
            Detector.NONE, message="no check sees it, and the kernel is printed as before"
        )
    return of_text(source, plan)


def of_text(source: str, plan: Plan) -> Outcome:
    """Compile a kernel's text and run what compiles."""
    with tempfile.TemporaryDirectory(prefix="gemmgen-mutant-") as folder:
        path = Path(folder) / f"{plan.name}.py"
        path.write_text(source, "utf-8")
        try:
            kernel = KernelUnderTest(path)
        except CompileError as error:
            title = error.findings[0].title
            broken = NO_KERNEL.match(title) and "assert" not in title.lower()
            return Outcome(Detector.BROKEN if broken else Detector.COMPILE, error.code, title)
        return of_runs(kernel, kernel.module.check_problem, plan)


def of_runs(kernel: KernelUnderTest | Edited, check: Callable[..., None], plan: Plan) -> Outcome:
    """Run a compiled kernel on the whole battery, and on problems that it must refuse."""
    count = 0
    for count, run in enumerate(battery(plan), 1):
        try:
            found = one_run(kernel, check, plan, run)
        except Exception as error:
            found = Outcome(Detector.BROKEN, type(error).__name__, str(error)[:300])
        if found is not None:
            return replace(found, run=str(run))
        if count == 2 and (found := refusals(kernel, check, plan, run)):
            return found
    return Outcome(Detector.NONE, run=f"{count} runs")


def refusals(
    kernel: KernelUnderTest | Edited, check: Callable[..., None], plan: Plan, run: Run
) -> Outcome | None:
    """Problems that the plan refuses: the kernel must refuse them too, or get them right."""
    for shape in refused_problems(plan):
        spec = plan.spec.problem
        problem = problem_of(*shape, spec.a.dtype, spec.d.dtype)
        d = GuardedOutput.make(shape[0], shape[1], TORCH_DTYPE[spec.d.dtype]).d
        try:
            check(problem.a, problem.b, d)
        except ValueError:
            continue
        found = one_run(kernel, check, plan, replace(run, shape=shape))
        if found is not None:
            return replace(found, run=f"{shape}, which should be refused")
    return odd_tensors(check, plan, run)


def odd_tensors(check: Callable[..., None], plan: Plan, run: Run) -> Outcome | None:
    """Matrices that no kernel here can read: check_problem must refuse each."""
    m, n, k = run.shape
    kind = TORCH_DTYPE[plan.spec.problem.a.dtype]
    other = torch.bfloat16 if kind is not torch.bfloat16 else torch.float16
    a, b, d = (torch.zeros(shape, dtype=kind) for shape in ((m, k), (n, k), (m, n)))
    wide = torch.zeros((m, k + 8), dtype=kind)
    cases = {
        "an expanded A": (torch.zeros((1, k), dtype=kind).expand(m, k), b, d),
        "a transposed A": (torch.zeros((k, m), dtype=kind).t(), b, d),
        "every other column of a wider A": (torch.zeros((m, 2 * k), dtype=kind)[:, ::2], b, d),
        "a misaligned A": (wide[:, 1 : k + 1], b, d),
        "an A of another type": (a.to(other), b, d),
        "a B with more K than A": (a, torch.zeros((n, 2 * k), dtype=kind), d),
    }
    for what, tensors in cases.items():
        try:
            check(*tensors)
        except ValueError:
            continue
        return Outcome(
            Detector.RESULT, message=f"check_problem accepts {what}", run="check_problem"
        )
    return None


def one_run(
    kernel: KernelUnderTest | Edited, check: Callable[..., None], plan: Plan, run: Run
) -> Outcome | None:
    """One run: None when its result is right."""
    spec = plan.spec.problem
    problem = problem_of(*run.shape, spec.a.dtype, spec.d.dtype)
    out = GuardedOutput.make(run.shape[0], run.shape[1], TORCH_DTYPE[spec.d.dtype])
    try:
        check(problem.a, problem.b, out.d)
    except ValueError as error:
        if run.shape in refused_problems(plan):
            return None
        return Outcome(Detector.RESULT, message=f"refuses a problem that it is for: {error}")
    try:
        listeners = (RaceDetector(Rules(once=frozenset({"d"}))),)
        EmulateRunner(kernel, plan, run.settings, listeners).run(problem, out)  # type: ignore[arg-type]
    except EmulationError as error:
        message = "\n".join(str(error).splitlines()[:LINES])
        if error.code in UNREADABLE:
            return Outcome(Detector.BROKEN, error.code, message)
        hangs = isinstance(error, Hang) or error.code == "E218"
        return Outcome(Detector.HANG if hangs else Detector.FAULT, error.code, message)
    except CompileError as error:
        return Outcome(Detector.COMPILE, error.code, error.findings[0].title)
    verdict = judge(problem, out)
    return None if verdict.passed else Outcome(Detector.RESULT, message=verdict.message)


@lru_cache(maxsize=64)
def problem_of(m: int, n: int, k: int, dtype: Any, out: Any) -> Problem:
    """The inputs and the reference of one shape."""
    return exact_problem(m, n, k, dtype, out, 0)


@lru_cache(maxsize=2)
def original(name: str) -> KernelUnderTest:
    """The committed kernel, compiled."""
    return KernelUnderTest(Path(__file__).parents[2] / "generated" / f"{name}.py")


def ptx_of(name: str, source: str) -> str:
    """PTX of the committed kernel `name`; for `subjects.rung`."""
    return original(name).compiled.ptx


def subject_of(name: str) -> Rung:
    """The rung called `name`, with a compiler."""
    return rung(name, ptx_of)
