"""`gemmgen diff`: what a step of a ladder is."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gemmgen.files import project_root
from gemmgen.render.diff import TextDiff, diff_texts
from gemmgen.run.generate import generate
from gemmgen.spec.find import find_spec

_STYLE = {"+": "green", "-": "red", "@": "cyan"}


@click.command("diff")
@click.argument("old")
@click.argument("new")
@click.option("--stat", is_flag=True, help="Print the counts only.")
@click.option("--exact", is_flag=True, help="Count re-indented lines and the header too.")
@click.option("-U", "--context", default=3, show_default=True, help="Unchanged lines around.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
def command(old: str, new: str, stat: bool, exact: bool, context: int, color: str) -> None:
    """Show how two kernels differ: first their specs, then their code.

    OLD and NEW are names (v7), specs or Python files. Exits with 1 when they differ, as diff does.
    """
    tint = {"auto": None, "always": True, "never": False}[color]
    left, right = _read(old), _read(new)
    differ = False
    for title, a, b in (("spec", left[0], right[0]), ("kernel", left[1], right[1])):
        if a is None or b is None:
            continue
        loose = title == "kernel" and not exact
        result = diff_texts(a, b, context=context, ignore_indent=loose, ignore_header=loose)
        differ |= bool(result.changed)
        _print(title, old, new, result, stat, tint)
    sys.exit(1 if differ else 0)


def _read(name: str) -> tuple[str | None, str]:
    """Text of the spec (None for a bare Python file) and of the kernel."""
    path = Path(name)
    if path.suffix == ".py":
        if not path.is_file():
            raise click.UsageError(f"no such file: {name}")
        return None, path.read_text(encoding="utf-8")
    spec_path = find_spec(name, project_root(Path.cwd()) or Path())
    return spec_path.read_text(encoding="utf-8"), generate(spec_path).source


def _print(title: str, old: str, new: str, result: TextDiff, stat: bool, tint: bool | None) -> None:
    if not stat:
        click.secho(f"=== {title}: {old} -> {new} ===", bold=True, color=tint)
        for line in result.lines:
            text = f"@@ {line.text}" if line.mark == "@" else f"{line.mark} {line.text}"
            click.echo(click.style(text, fg=_STYLE.get(line.mark)), color=tint)
    click.echo(
        f"{title}: {result.changed} lines changed, "
        f"{result.inserted} insertions(+), {result.deleted} deletions(-)"
    )
