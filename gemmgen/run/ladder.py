"""A ladder, rung by rung: what each one changes against its predecessor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gemmgen.plan import Plan
from gemmgen.render.diff import TextDiff, changed_regions, diff_texts
from gemmgen.run.generate import Generated, generate
from gemmgen.spec import digest, load_spec
from gemmgen.spec.find import all_specs
from gemmgen.spec.read import read_text
from gemmgen.terms import Finding, GemmgenError, Region


@dataclass(frozen=True)
class Step:
    """A rung and the step up to it.

    Attributes:
        spec_path: its spec.
        digest: of its resolved spec, as the header of its kernel has it.
        source: its kernel.
        spec, kernel: what the step changes, header and indentation of the kernel ignored; None for
            the first rung.
        regions: regions of the kernel that differ, in file order.
    """

    plan: Plan
    spec_path: Path
    digest: str
    source: str
    spec: TextDiff | None
    kernel: TextDiff | None
    regions: tuple[str, ...]


def ladder_names(root: Path) -> list[str]:
    """Ladders of the project at `root`; specs that cannot be read belong to none."""
    return list(dict.fromkeys(name for _, name in _rungs(root)))


def climb(root: Path, ladder: str) -> list[Step]:
    """The rungs of `ladder`, each after its predecessor.

    Raises:
        GemmgenError: T406, no spec belongs to it; or what its specs are refused for.
    """
    steps, refused = climb_past(root, ladder)
    if refused:
        raise GemmgenError(refused)
    return steps


def climb_past(root: Path, ladder: str) -> tuple[list[Step], list[Finding]]:
    """The rungs of `ladder` past those that are refused, and what these are refused for.

    A rung on one that is refused is no first rung, and its step cannot be told: it is left out.

    Raises:
        GemmgenError: T406, no spec belongs to it.
    """
    paths = [path for path, name in _rungs(root) if name == ladder]
    if not paths:
        known = ", ".join(f"`{name}`" for name in ladder_names(root)) or "there are none"
        raise GemmgenError([Finding("T406", f"no ladder `{ladder}`", help=f"known: {known}")])
    rungs: dict[Path, Generated] = {}
    refused: list[Finding] = []
    for path in paths:
        try:
            rungs[path] = generate(path)
        except GemmgenError as error:
            refused += error.findings
    told = [rung for rung in rungs.values() if _below(rung) in rungs or _below(rung) not in paths]
    return [_step(rung, rungs) for rung in told], refused


def _below(rung: Generated) -> Path:
    return rung.spec_path.with_name(f"{rung.plan.spec.lineage.predecessor}.toml")


def _step(rung: Generated, rungs: dict[Path, Generated]) -> Step:
    spec = rung.plan.spec
    mark = digest(spec)
    below = rungs.get(_below(rung))
    if below is None:
        return Step(rung.plan, rung.spec_path, mark, rung.source, None, None, ())
    changed = changed_regions(below.source, rung.source)
    return Step(
        plan=rung.plan,
        spec_path=rung.spec_path,
        digest=mark,
        source=rung.source,
        spec=diff_texts(
            read_text(below.spec_path),
            read_text(rung.spec_path),
            ignore_indent=False,
            ignore_header=False,
        ),
        kernel=diff_texts(below.source, rung.source),
        regions=tuple(region.value for region in Region if region in changed),
    )


def _rungs(root: Path) -> list[tuple[Path, str]]:
    found = []
    for path in all_specs(root):
        try:
            found.append((path, load_spec(path).lineage.ladder))
        except GemmgenError:
            continue
    return found
