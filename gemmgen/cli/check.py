"""`gemmgen check`: everything wrong with a spec, without rendering it."""

from __future__ import annotations

import click

from gemmgen.cli.common import root_folder, spec_paths
from gemmgen.run.generate import checked_plan
from gemmgen.spec.find import check_ladders
from gemmgen.terms import Finding, GemmgenError


@click.command("check")
@click.argument("specs", nargs=-1, metavar="SPEC...")
@click.option("--all", "everything", is_flag=True, help="Check every spec under specs/.")
def command(specs: tuple[str, ...], everything: bool) -> None:
    """Check specs, and with --all their ladders.

    Shape, resources, legality, arrivals, protocol; every finding at once.
    """
    findings: list[Finding] = []
    for path in spec_paths(specs, everything):
        try:
            checked_plan(path)
            click.echo(f"ok       {path}")
        except GemmgenError as error:
            findings.extend(error.findings)
    if everything:
        findings.extend(check_ladders(root_folder()))
    if findings:
        raise GemmgenError(list(dict.fromkeys(findings)))
