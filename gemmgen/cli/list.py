"""`gemmgen list`: the specs of the project."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from gemmgen.cli.common import root_folder
from gemmgen.run.generate import generate
from gemmgen.spec import load_spec
from gemmgen.spec.find import all_specs
from gemmgen.terms import GemmgenError


@click.command("list")
def command() -> None:
    """List every spec: its architecture, its predecessor, and whether its kernel is current."""
    root = root_folder()
    table = Table("spec", "arch", "predecessor", "what", "kernel", box=None, pad_edge=False)
    for path in all_specs(root):
        try:
            spec, state = load_spec(path), ""
            result = generate(path)
            if result.current:
                state = "current"
            else:
                state = "stale" if result.target.exists() else "not rendered"
        except GemmgenError as error:
            table.add_row(
                str(path.relative_to(root)), "", "", "", f"refused: {error.findings[0].code}"
            )
            continue
        table.add_row(
            str(path.relative_to(root)),
            spec.arch,
            spec.lineage.predecessor or "",
            spec.title,
            state,
        )
    Console(soft_wrap=True).print(table)
