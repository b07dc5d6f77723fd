"""Tables for people: as wide as the terminal, and whole when piped into a file."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

PIPED_WIDTH = 250


def console(*, err: bool = False) -> Console:
    """A console for tables; one that is no terminal cuts and wraps nothing."""
    out = Console(highlight=False, stderr=err)
    if not out.is_terminal:
        out.width = PIPED_WIDTH
    return out


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    """An empty table without a frame; the columns named in `right` are flush right."""
    out = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        out.add_column(name, justify="right" if name in right else "left")
    return out


def natural_width(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Characters that a table of these cells takes when nothing wraps."""
    lines = [tuple(columns), *rows] if columns else list(rows)
    return sum(max(len(cell) for cell in column) + 2 for column in zip(*lines, strict=True))
