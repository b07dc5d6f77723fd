"""Every combination of a sweep: rendered where the checker lets it, else refused with its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gemmgen.check import check_plan
from gemmgen.files import write_atomic
from gemmgen.plan import make_plan
from gemmgen.render.engine import render
from gemmgen.run.sweep.state import KERNELS, REFUSED, SPECS, Point, Sweep, Triple
from gemmgen.spec import digest
from gemmgen.spec.load import parse
from gemmgen.spec.override import override, sweep
from gemmgen.terms import GemmgenError


def make_sweep(
    text: str,
    file: str,
    sets: Sequence[str],
    *,
    shapes: Sequence[Triple],
    rounds: int,
    slice_ms: float,
    verify: str,
) -> Sweep:
    """A sweep of the spec `text` over all combinations of `sets`; nothing is rendered yet.

    Raises:
        GemmgenError: what `text` is refused for; S102 and S130, a key or text of `sets` is.
    """
    spec, _ = parse(text, file)
    combinations = sweep(sets)
    for values in combinations[:1]:
        override(text, values, file)
    points = [
        Point(index, f"{spec.name}_{index:03d}", values)
        for index, values in enumerate(combinations)
    ]
    return Sweep(
        spec.name,
        spec.arch.value,
        text,
        tuple(sets),
        tuple(shapes),
        rounds,
        slice_ms,
        verify,
        points,
    )


def write_points(state: Sweep, folder: Path, tell: Callable[[], None] = lambda: None) -> None:
    """Write spec and kernel of every legal combination into `folder`; mark the others refused."""
    for point in state.points:
        try:
            spec_text, source = _render(state.text, point)
        except GemmgenError as error:
            first = error.findings[0]
            point.status, point.code = REFUSED, first.code
            point.reason = "; ".join(_words(finding) for finding in error.findings[:3])
        else:
            write_atomic(folder / SPECS / f"{point.name}.toml", spec_text)
            write_atomic(folder / KERNELS / f"{point.name}.py", source)
        tell()


def _render(text: str, point: Point) -> tuple[str, str]:
    """Spec and kernel of one combination, which stands outside of its ladder."""
    own: dict[str, Any] = {
        "name": point.name,
        "lineage.predecessor": None,
        "lineage.published": None,
    }
    spec_text = override(text, {**point.values, **own})
    spec, source = parse(spec_text, f"{point.name}.toml")
    plan = make_plan(spec)
    findings = check_plan(plan)
    if findings:
        raise GemmgenError(source.place_all(findings))
    point.digest = digest(spec)
    return spec_text, render(plan, spec_path=f"{SPECS}/{point.name}.toml")


def _words(finding: Any) -> str:
    arithmetic = f": {finding.source}" if finding.source and not finding.line else ""
    return f"{finding.code} {finding.title}{arithmetic} ({finding.key})"
