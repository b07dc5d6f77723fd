"""`gemmgen diff`: what a step of a ladder is."""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

import click

from gemmgen.cli.common import root_folder
from gemmgen.files import project_root
from gemmgen.render.diff import TextDiff, diff_texts
from gemmgen.run.generate import generate
from gemmgen.run.ladder import climb_past
from gemmgen.run.subject import spec_of
from gemmgen.spec.find import find_spec
from gemmgen.spec.read import read_text
from gemmgen.terms import Finding, GemmgenError

_STYLE = {"+": "green", "-": "red", "@": "cyan"}


@click.command("diff")
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option("--ladder", metavar="NAME", help="Print the counts of every step of this ladder.")
@click.option("--stat", is_flag=True, help="Print the counts only.")
@click.option("--exact", is_flag=True, help="Count re-indented lines and the header too.")
@click.option("-U", "--context", default=3, show_default=True, help="Unchanged lines around.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
def command(
    old: str | None,
    new: str | None,
    ladder: str | None,
    stat: bool,
    exact: bool,
    context: int,
    color: str,
) -> None:
    """Show how two kernels differ: first their specs, then their code.

    OLD and NEW are names (v7), specs or Python files. Exits with 1 when they differ, as diff does.
    """
    if ladder is not None:
        if old is not None:
            raise click.UsageError("name two kernels or a ladder, not both")
        _ladder(ladder)
        return
    if old is None or new is None:
        raise click.UsageError("name two kernels, or give --ladder")
    if context < 0:
        raise click.UsageError("--context cannot be negative")
    tint = {"auto": _wanted(), "always": True, "never": False}[color]
    left, right = _read(old), _read(new)
    differ = False
    for title, a, b in (("spec", left[0], right[0]), ("kernel", left[1], right[1])):
        if a is None or b is None:
            missing = old if a is None else new
            click.echo(f"{title}: not compared, {missing} leads to none")
            continue
        loose = title == "kernel" and not exact
        result = diff_texts(a, b, context=context, ignore_indent=loose, ignore_header=loose)
        differ |= bool(result.changed)
        if not stat:
            _print(f"=== {title}: {old} -> {new} ===", result, tint)
        click.echo(f"{title}: {_counts(result)}")
    sys.exit(1 if differ else 0)


def _wanted() -> bool | None:
    """False where the environment declines colour (no-color.org), None to ask the terminal."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if plain else None


def _ladder(name: str) -> None:
    steps, refused = climb_past(root_folder(), name)
    changed = []
    for step in steps:
        if step.spec is None or step.kernel is None:
            continue
        click.secho(f"{step.plan.spec.lineage.predecessor} -> {step.plan.name}", bold=True)
        click.echo(f"  spec: {_counts(step.spec)}")
        click.echo(f"  kernel: {_counts(step.kernel)}")
        click.echo(f"  regions: {', '.join(step.regions)}")
        changed.append(step.kernel.changed)
    first = [step.plan.name for step in steps if step.kernel is None]
    if len(first) > 1:
        click.echo(f"without a predecessor, so no step: {', '.join(first)}")
    if changed:
        median = statistics.median(changed)
        click.echo(f"kernel lines a step: median {median:g}, most {max(changed)}")
    if refused:
        raise GemmgenError(refused)


def _read(name: str) -> tuple[str | None, str]:
    """Text of the spec (None for a Python file whose header leads to none) and of the kernel."""
    path = Path(name)
    if path.suffix == ".py":
        try:
            source = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise GemmgenError([Finding("T405", "the file is not UTF-8", file=name)]) from None
        try:
            return read_text(spec_of(path)), source
        except GemmgenError:
            return None, source  # a file with no spec, or with one that is not here
    spec_path = find_spec(name, project_root(Path.cwd()) or Path())
    return read_text(spec_path), generate(spec_path).source


def _counts(result: TextDiff) -> str:
    return (
        f"{result.changed} lines changed, "
        f"{result.inserted} insertions(+), {result.deleted} deletions(-)"
    )


def _print(heading: str, result: TextDiff, tint: bool | None) -> None:
    click.secho(heading, bold=True, color=tint)
    for line in result.lines:
        click.echo(click.style(str(line), fg=_STYLE.get(line.mark)), color=tint)
