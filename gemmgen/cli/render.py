"""`gemmgen render`: specs to generated files."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gemmgen.cli.common import shown, spec_paths
from gemmgen.run.generate import Generated, generate
from gemmgen.terms import GemmgenError


@click.command("render")
@click.argument("specs", nargs=-1, metavar="SPEC...")
@click.option("--all", "everything", is_flag=True, help="Render every spec under specs/.")
@click.option("--check", is_flag=True, help="Write nothing; fail when a file is stale.")
@click.option("--stdout", is_flag=True, help="Print the kernel instead of writing it.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file.")
@click.option("--allow", multiple=True, metavar="CODE", help="Let findings of this code pass.")
def command(
    specs: tuple[str, ...],
    everything: bool,
    check: bool,
    stdout: bool,
    output: Path | None,
    allow: tuple[str, ...],
) -> None:
    """Render specs (paths or names, such as v8) into generated/."""
    _require_codes(allow)
    paths = spec_paths(specs, everything)
    if output is not None and len(paths) != 1:
        raise click.UsageError("--output takes exactly one spec")
    results = _generate_all(paths, output, frozenset(allow))
    if stdout:
        click.echo("".join(result.source for result in results), nl=False)
        return
    stale = [result for result in results if not result.current]
    for result in results:
        state = "current" if result.current else ("STALE" if check else "written")
        target = shown(result.target)
        if not check:
            result.write()
        click.echo(f"{state:8} {target}")
    if check and stale:
        click.echo(f"{len(stale)} stale: run `gemmgen render --all`", err=True)
        sys.exit(1)


def _require_codes(codes: tuple[str, ...]) -> None:
    if not codes:
        return
    from gemmgen.report.explain import explain

    for code in codes:
        if explain(code) is None:
            raise click.UsageError(f"--allow {code}: no such code, see `gemmgen explain`")


def _generate_all(paths: list[Path], output: Path | None, allow: frozenset[str]) -> list[Generated]:
    """Render every spec before anything is written, so that errors come all at once."""
    results, findings = [], []
    for path in paths:
        try:
            results.append(generate(path, target=output, allow=allow))
        except GemmgenError as error:
            findings.extend(error.findings)
    if findings:
        raise GemmgenError(findings)
    return results
