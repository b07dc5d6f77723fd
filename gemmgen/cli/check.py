"""`gemmgen check`: everything wrong with a spec, without rendering it."""

from __future__ import annotations

import click

from gemmgen.cli.common import spec_paths
from gemmgen.run.generate import checked_plan
from gemmgen.terms import Finding, GemmgenError


@click.command("check")
@click.argument("specs", nargs=-1, metavar="SPEC...")
@click.option("--all", "everything", is_flag=True, help="Check every spec under specs/.")
def command(specs: tuple[str, ...], everything: bool) -> None:
    """Check specs: shape, resources, legality, arrivals, protocol."""
    findings: list[Finding] = []
    for path in spec_paths(specs, everything):
        try:
            checked_plan(path)
            click.echo(f"ok       {path}")
        except GemmgenError as error:
            findings.extend(error.findings)
    if findings:
        raise GemmgenError(findings)
