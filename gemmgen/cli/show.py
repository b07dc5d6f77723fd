"""`gemmgen show`: the plan of a spec, for people."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from gemmgen.cli.common import spec_paths
from gemmgen.plan import Section, describe, sections
from gemmgen.run.generate import checked_plan


@click.command("show")
@click.argument("spec")
@click.option("--plain", is_flag=True, help="Plain text without colour, as the golden plans.")
def command(spec: str, plain: bool) -> None:
    """Show what a spec comes to: roles, barrier map, shared memory and TMEM maps, budget."""
    (path,) = spec_paths((spec,), everything=False)
    plan = checked_plan(path)
    if plain:
        click.echo(describe(plan), nl=False)
        return
    console = Console(highlight=False)
    console.width = max(console.width, 110)
    console.print(f"[bold]{plan.name}[/]  {plan.spec.title}  ({plan.spec.arch})")
    for section in sections(plan):
        console.print()
        console.print(f"[bold cyan]{section.title}[/]")
        console.print(_table(section))
        for note in section.notes:
            console.print(f"  {note}", markup=False)


def _table(section: Section) -> Table:
    table = Table(box=None, pad_edge=False, show_header=bool(section.columns), padding=(0, 2, 0, 0))
    for heading in section.columns or [""] * len(section.rows[0]):
        table.add_column(heading)
    for row in section.rows:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    return table
