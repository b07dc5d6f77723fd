"""Variants of one kernel with something removed or doubled: sources, and a run that must end."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemmgen.check import check_plan
from gemmgen.files import project_root, write_atomic
from gemmgen.plan import Plan, default_shapes, make_plan
from gemmgen.records import CaseRecord, Triple
from gemmgen.render.ablate import Ablation
from gemmgen.render.ablations import ABLATIONS
from gemmgen.render.engine import render
from gemmgen.render.facts import Facts
from gemmgen.spec import load, parse_spec
from gemmgen.spec.override import override
from gemmgen.terms import Finding, GemmgenError

FULL = "full"
SMS = 4


@dataclass(frozen=True)
class Variant:
    """A kernel with one ablation, or the full one.

    Attributes:
        kernel: name of the spec.
        name: of the ablation; ``full`` for the kernel itself.
        title, shows: see `gemmgen.render.ablate.Ablation`.
        is_gemm: whether its result is still D = A @ B.T.
        settings: keys of the spec that differ.
        plan: with those settings.
        source: the generated text.
    """

    kernel: str
    name: str
    title: str
    shows: str
    is_gemm: bool
    settings: dict[str, Any]
    plan: Plan
    source: str

    @property
    def stem(self) -> str:
        """Of its files."""
        return f"{self.kernel}__{self.name}"


@dataclass(frozen=True)
class Refused:
    """An ablation that does not apply to a kernel, and why."""

    kernel: str
    name: str
    why: str


def choose_ablations(names: Sequence[str]) -> list[Ablation]:
    """The ablations called `names`, all of them for none; raises GemmgenError T460."""
    unknown = [name for name in names if name not in ABLATIONS]
    if unknown:
        known = "one of " + ", ".join(f"`{name}`" for name in ABLATIONS)
        findings = [Finding("T460", f"no ablation `{name}`", help=known) for name in unknown]
        raise GemmgenError(findings)
    return [ABLATIONS[name] for name in names or ABLATIONS]


def make_variants(
    spec_path: Path, ablations: Sequence[Ablation]
) -> tuple[list[Variant], list[Refused]]:
    """The full kernel of a spec first, then each ablation that applies to it.

    Raises:
        GemmgenError: what the spec itself is refused for.
    """
    spec, source = load(spec_path)
    plan = make_plan(spec)
    if findings := check_plan(plan):
        raise GemmgenError(source.place_all(findings))
    shown = _shown(spec_path)
    text = render(plan, spec_path=shown)
    variants = [Variant(spec.name, FULL, "the full kernel", "", True, {}, plan, text)]
    refused: list[Refused] = []
    for ablation in ablations:
        made = _make(ablation, plan, source.text, spec_path, shown)
        if isinstance(made, Refused):
            refused.append(made)
        else:
            variants.append(made)
    return variants, refused


def _shown(spec_path: Path) -> str:
    """The path for headers: from the project's root, where it is in one."""
    root, path = project_root(spec_path.parent), spec_path.resolve()
    inside = root is not None and path.is_relative_to(root)
    return path.relative_to(root).as_posix() if root and inside else path.name


def _make(
    ablation: Ablation, whole: Plan, text: str, spec_path: Path, shown: str
) -> Variant | Refused:
    name = whole.spec.name
    if why := ablation.lacks(Facts.of(whole), whole.spec):
        return Refused(name, ablation.name, why)
    settings = ablation.settings(whole.spec)
    plan = whole
    if settings:
        try:
            plan = make_plan(parse_spec(override(text, settings), str(spec_path)))
            findings = list(check_plan(plan))
        except GemmgenError as error:
            findings = list(error.findings)
        if findings:
            first = findings[0]
            keys = ", ".join(f"{key} = {value}" for key, value in settings.items())
            return Refused(name, ablation.name, f"with {keys}: {first.code}, {first.title}")
    printed = render(plan, spec_path=shown, ablation=ablation)
    return Variant(
        name,
        ablation.name,
        ablation.title,
        ablation.shows,
        ablation.is_gemm,
        settings,
        plan,
        printed,
    )


def write_variants(variants: Sequence[Variant], folder: Path) -> list[Path]:
    """Write each as ``<kernel>__<name>.py`` into `folder`."""
    paths = []
    for variant in variants:
        path = folder / f"{variant.stem}.py"
        write_atomic(path, variant.source)
        paths.append(path)
    return paths


def check_shape(plan: Plan, sm_count: int = SMS) -> Triple:
    """A small problem with several tiles a CTA, where it walks, and a ring that wraps."""
    shape = max(default_shapes(plan, sm_count), key=lambda shape: shape.m * shape.n)
    if plan.problem.k_exact is not None:
        return shape.m, shape.n, shape.k
    return shape.m, shape.n, (plan.spec.pipeline.ab_stages + 2) * plan.geometry.tile_k


def emulate_variant(variant: Variant, path: Path, shape: Triple | None = None) -> CaseRecord:
    """Run it in the emulator: it must end without a fault.

    A variant that is still a GEMM is compared with the reference; of another only what the
    emulator finds counts: a hang, a fault, a race, a write outside of D.
    """
    from gemmgen.compile import KernelUnderTest
    from gemmgen.emulate import Settings
    from gemmgen.run.runners import EmulateRunner
    from gemmgen.run.subject import Subject
    from gemmgen.run.verify import Target, run_case

    kernel = KernelUnderTest(path)
    settings = Settings(sm_count=SMS)
    runner = EmulateRunner(kernel, variant.plan, settings)
    subject = Subject(path, "", "", variant.plan)
    target = Target(kernel.check, runner, {})
    started = time.perf_counter()
    case = run_case(subject, target, shape or check_shape(variant.plan), "exact", settings)
    if variant.is_gemm or case.status != "failed" or case.max_error is None:
        return case
    outside = "written outside" in case.message
    return dataclasses.replace(
        case,
        status="failed" if outside else "passed",
        message=case.message if outside else "",
        seconds=time.perf_counter() - started,
    )
