"""`gemmgen fmt`: specs in their fixed table and key order."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gemmgen.cli.common import spec_paths
from gemmgen.files import write_atomic
from gemmgen.spec.fmt import format_spec
from gemmgen.spec.read import read_text
from gemmgen.terms import Finding, GemmgenError


@click.command("fmt")
@click.argument("specs", nargs=-1, metavar="[SPEC...]")
@click.option("--check", is_flag=True, help="Write nothing; fail when a spec would change.")
def command(specs: tuple[str, ...], check: bool) -> None:
    """Format specs: fixed table and key order, comments kept. Without arguments, all of them."""
    changed = _changed(spec_paths(specs, everything=not specs))
    for path, text in changed.items():
        if not check:
            write_atomic(path, text)
        click.echo(f"{'would format' if check else 'formatted'} {path}")
    if check and changed:
        sys.exit(1)


def _changed(paths: list[Path]) -> dict[Path, str]:
    """New text of every spec that is not in the one form; all are read before any is written."""
    changed: dict[Path, str] = {}
    findings: list[Finding] = []
    for path in paths:
        try:
            before = read_text(path)
            after = format_spec(before, file=str(path))
        except GemmgenError as error:
            findings.extend(error.findings)
            continue
        if after != before:
            changed[path] = after
    if findings:
        raise GemmgenError(findings)
    return changed
