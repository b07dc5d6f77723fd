"""`gemmgen show`: the plan of a spec, for people."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gemmgen.cli.common import spec_paths
from gemmgen.cli.tables import console, natural_width
from gemmgen.plan import Section, describe, sections
from gemmgen.run.generate import checked_plan


@click.command("show")
@click.argument("spec")
@click.option("--plain", is_flag=True, help="Plain text without colour, as the golden plans.")
def command(spec: str, plain: bool) -> None:
    """Show the plan behind a spec.

    Roles, barrier map, shared memory and TMEM maps, budget, launch, constants.
    """
    (path,) = spec_paths((spec,), everything=False)
    plan = checked_plan(path)
    out = console()
    if plain or not out.is_terminal:
        click.echo(describe(plan), nl=False)
        return
    out.print(f"[bold]{plan.name}[/]  {plan.spec.title}  ({plan.spec.arch})")
    for section in sections(plan):
        out.print(f"\n[bold cyan]{section.title}[/]")
        for part in _parts(section, out):
            out.print(part)
        for note in section.notes:
            out.print(Padding(Text(note), (0, 0, 0, 2)))


def _parts(section: Section, out: Console) -> Iterator[RenderableType]:
    """A table where it fits the terminal, else a block of lines a row."""
    columns, rows = section.columns, section.rows
    if not rows:
        return
    if not columns or natural_width(columns, rows) <= out.width:
        yield _table(columns or ("",) * len(rows[0]), rows, header=bool(columns))
        return
    for row in rows:
        yield Text(row[0], style="bold")
        yield Padding(_table(("", ""), list(zip(columns[1:], row[1:], strict=True))), (0, 0, 0, 2))


def _table(
    columns: tuple[str, ...],
    rows: tuple[tuple[str, ...], ...] | list[tuple[str, str]],
    *,
    header: bool = False,
) -> Table:
    table = Table(box=None, pad_edge=False, show_header=header, padding=(0, 2, 0, 0))
    for heading in columns:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
