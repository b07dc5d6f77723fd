"""What becomes of a drawn spec: refused by name, or a kernel that equals torch, or a fault."""

from __future__ import annotations

import dataclasses
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.draw import Drawn
from fuzz.values import texts
from gemmgen.check import check_plan
from gemmgen.emulate import Settings
from gemmgen.plan import Plan, default_shapes, make_plan
from gemmgen.records import Triple
from gemmgen.render.engine import render
from gemmgen.run.schedules import command_line, delayed, starved_kinds
from gemmgen.run.trial import Trial, failure_code
from gemmgen.spec import parse_spec
from gemmgen.spec.override import override
from gemmgen.terms import GemmgenError

LARGEST = 640 * 640 * 640  # multiplications of the problem that is run
LONGEST = 6_000_000  # warp instructions
REFUSED, EQUAL = "refused", "equal"
FAULTS = ("crash", "code", "render", "compile", "refusal", "run", "wrong", "died", "overran")


@dataclass(frozen=True)
class Outcome:
    """What became of a drawn spec.

    Attributes:
        kind: ``refused``, ``equal``, or one of `FAULTS`: an exception that is no coded error; a
            code of another layer; templates that fail; a kernel that does not compile, refuses a
            problem of its own, fails in the emulator, or computes something else.
        code: of the first finding or error.
        message: what was said.
        text: the spec as TOML, where it could be written.
        command: runs the kernel again, once it is rendered.
    """

    kind: str
    code: str = ""
    message: str = ""
    text: str = ""
    command: str = ""
    seconds: float = 0.0

    @property
    def fault(self) -> bool:
        return self.kind not in (REFUSED, EQUAL)

    @property
    def signature(self) -> tuple[str, str, str]:
        """Equal for what is most likely one fault."""
        words = (
            "".join(c for c in self.message.splitlines()[0] if not c.isdigit())
            if self.message
            else ""
        )
        return self.kind, self.code, words[:60]


def examine(drawn: Drawn, *, run: bool = True) -> Outcome:
    """Check, render, compile and run one spec; nothing is raised.

    Args:
        run: whether to compile and run what is accepted; otherwise it is rendered only.
    """
    start = time.perf_counter()
    try:
        outcome = _examine(drawn, run)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
        outcome = Outcome("crash", type(error).__name__, message, text_of(drawn))
    return dataclasses.replace(outcome, seconds=time.perf_counter() - start)


def text_of(drawn: Drawn) -> str:
    try:
        return override(texts()[drawn.base], dict(drawn.changes))
    except Exception:
        return ""


def _examine(drawn: Drawn, run: bool) -> Outcome:
    stem = drawn.base.rpartition("/")[2]
    try:
        text = override(texts()[drawn.base], dict(drawn.changes))
        plan = make_plan(parse_spec(text, f"{stem}.toml"))
    except GemmgenError as error:
        return _refused([f.code for f in error.findings], str(error), "S", text_of(drawn))
    findings = check_plan(plan)
    if findings:
        return _refused([f.code for f in findings], findings[0].title, "P", text)
    try:
        source = render(plan, spec_path=f"specs/{stem}.toml")
    except GemmgenError as error:
        return Outcome("render", error.findings[0].code, str(error), text)
    if not run:
        compile(source, f"{stem}.py", "exec")
        return Outcome(EQUAL, text=text)
    with TemporaryDirectory(prefix="gemmgen-fuzz-") as folder:
        specs, kernel = Path(folder, "specs"), Path(folder, "generated", f"{stem}.py")
        for path, content in ((specs / f"{stem}.toml", text), (kernel, source)):
            path.parent.mkdir()
            path.write_text(content, "utf-8")
        return _run(drawn, plan, kernel, text)


def _refused(codes: list[str], message: str, letter: str, text: str) -> Outcome:
    """A refusal, whose codes must be those of its layer."""
    right = bool(codes) and all(code.startswith(letter) for code in codes)
    return Outcome(REFUSED if right else "code", codes[0] if codes else "", message, text)


def _run(drawn: Drawn, plan: Plan, kernel: Path, text: str) -> Outcome:
    try:
        trial = Trial(kernel)
    except GemmgenError as error:
        return Outcome("compile", error.findings[0].code, str(error), text)
    shape, settings = schedule(drawn, plan)
    case = trial.run(shape, settings)
    command = command_line(f"generated/{kernel.name}", shape, settings)
    if case.status == "passed":
        return Outcome(EQUAL, "", "", text, command)
    if case.status == "refused":
        return Outcome("refusal", "", case.message, text, command)
    code = failure_code(case)
    kind = "wrong" if code == "wrong result" else "run"
    return Outcome(kind, code, case.message, text, command)


def schedule(drawn: Drawn, plan: Plan) -> tuple[Triple, Settings]:
    """The problem and the timing that a draw means for a plan."""
    size = plan.geometry.cluster_size
    sm_count = size * (1 + drawn.pick % 2)
    shapes = [(s.m, s.n, s.k) for s in default_shapes(plan, sm_count)]
    small = [(m, n, k) for m, n, k in shapes if m * n * k <= LARGEST] or [min(shapes)]
    targets = {"starve": starved_kinds(plan), "delay": delayed(plan)}.get(drawn.policy, ("",))
    settings = Settings(
        timing=drawn.policy,
        target=targets[drawn.pick % len(targets)],
        seed=drawn.seed,
        sm_count=sm_count,
        max_instructions=LONGEST,
        races=True,
    )
    return small[drawn.pick // 2 % len(small)], settings


def smallest(drawn: Drawn, outcome: Outcome) -> tuple[Drawn, Outcome]:
    """The fewest of the changes that still end in the same fault."""
    for change in drawn.changes:
        fewer = dataclasses.replace(drawn, changes=tuple(c for c in drawn.changes if c != change))
        again = examine(fewer)
        if (again.kind, again.code) == (outcome.kind, outcome.code):
            drawn, outcome = fewer, again
    return drawn, outcome
