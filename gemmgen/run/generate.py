"""Spec file -> checked plan -> generated file: what `gemmgen render` does, as functions."""

from __future__ import annotations

from pathlib import Path

from gemmgen.check import check_plan
from gemmgen.files import project_root, write_atomic
from gemmgen.frozen import frozen
from gemmgen.plan import Plan, make_plan
from gemmgen.spec import load
from gemmgen.terms import Finding, GemmgenError

SPEC_LINE = "# spec: "


@frozen
class Generated:
    """A rendered kernel and where it belongs.

    Attributes:
        spec_path: the spec it came from.
        target: the generated file.
        source: its text.
        current: whether `target` holds exactly `source` now.
    """

    spec_path: Path
    target: Path
    plan: Plan
    source: str

    @property
    def current(self) -> bool:
        return self.target.is_file() and self.target.read_bytes() == self.source.encode("utf-8")

    def write(self) -> None:
        """Write the generated file, unless it is current."""
        if not self.current:
            write_atomic(self.target, self.source)


def checked_plan(spec_path: Path | str, *, allow: frozenset[str] = frozenset()) -> Plan:
    """Load, check and plan one spec.

    Args:
        allow: finding codes to let pass, by name.

    Raises:
        GemmgenError: everything wrong with the spec, all at once.
    """
    spec, source = load(spec_path)
    plan = make_plan(spec)
    findings = [finding for finding in check_plan(plan) if finding.code not in allow]
    if findings:
        raise GemmgenError(source.place_all(findings))
    return plan


def generate(
    spec_path: Path | str,
    *,
    target: Path | None = None,
    templates: Path | None = None,
    allow: frozenset[str] = frozenset(),
) -> Generated:
    """Render one spec; nothing is written until `Generated.write`.

    Args:
        target: file to write; by default ``generated/`` beside ``specs/``, same folder, same stem.
        templates: another folder of templates.
        allow: finding codes to let pass, by name.

    Raises:
        GemmgenError: the spec is refused, or the templates are at fault; R303 where the default
            target is the kernel of another spec, or `target` is a spec or the place of another's
            kernel.
    """
    from gemmgen.render.engine import render

    spec_path = Path(spec_path)
    plan = checked_plan(spec_path, allow=allow)
    shown, default = _places(spec_path, plan.spec.name)
    if target is None or target.resolve() == default.resolve():
        _require_own(default, shown, spec_path)
    else:
        _require_free(target, spec_path)
    source = render(plan, spec_path=shown, templates=templates)
    return Generated(spec_path, target or default, plan, source)


def _require_own(target: Path, shown: str, spec_path: Path) -> None:
    """R303 where `target` holds the kernel of another spec."""
    if not target.is_file():
        return
    with target.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    other = first.removeprefix(SPEC_LINE).strip()
    if first.startswith(SPEC_LINE) and other != shown:
        help_ = "name another file with `-o FILE`, rename the spec, or put it below specs/"
        what = f"{target.as_posix()} is the kernel of {other}, and is not overwritten"
        raise GemmgenError([Finding("R303", what, file=str(spec_path), help=help_)])


def _require_free(target: Path, spec_path: Path) -> None:
    """R303 where `target` is a spec, or what another spec of its project is printed to."""
    real = target.resolve()
    if not real.is_file():
        return
    what = "a spec" if real.suffix == ".toml" else _kernel_of(real)
    if what:
        title = f"{target.as_posix()} is {what}, and is not overwritten"
        help_ = "name another file with `-o FILE`"
        raise GemmgenError([Finding("R303", title, file=str(spec_path), help=help_)])


def _kernel_of(real: Path) -> str:
    root = project_root(real.parent)
    if root is None or not real.is_relative_to(root / "generated"):
        return ""
    inside = real.relative_to(root / "generated").with_suffix(".toml")
    return f"the kernel of specs/{inside.as_posix()}" if (root / "specs" / inside).is_file() else ""


def _places(spec_path: Path, name: str) -> tuple[str, Path]:
    """Path of the spec as the header shows it, and the default target."""
    root = project_root(spec_path.parent)
    if root is not None and spec_path.resolve().is_relative_to(root / "specs"):
        relative = spec_path.resolve().relative_to(root)
        inside = relative.relative_to("specs").parent
        return relative.as_posix(), root / "generated" / inside / f"{name}.py"
    return f"{name}.toml", Path("generated") / f"{name}.py"
