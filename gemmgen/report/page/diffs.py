"""Neighbours of a ladder side by side, region by region, folded until somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest

from gemmgen.render.diff import DiffLine, TextDiff


@dataclass(frozen=True)
class Step:
    """A rung beside the one below it.

    Attributes:
        below, rung: names.
        title: what the rung brings.
        what: its own words for that.
        kernel: the diff of the two kernels.
    """

    ladder: str
    below: str
    rung: str
    title: str
    what: str
    kernel: TextDiff


Side = DiffLine | None


def step_html(step: Step) -> str:
    """A folded block of one step."""
    count = f"{step.kernel.inserted} added, {step.kernel.deleted} removed"
    head = (
        f"<summary><b>{escape(step.below)}</b> → <b>{escape(step.rung)}</b>: "
        f'{escape(step.title)} <span class="count">{count}</span></summary>'
    )
    what = f"<p>{escape(' '.join(step.what.split()))}</p>"
    body = "".join(_hunk(name, lines) for name, lines in _hunks(step.kernel.lines))
    return f'<details class="step">{head}{what}{body}</details>'


def _hunks(lines: Sequence[DiffLine]) -> Iterator[tuple[str, list[DiffLine]]]:
    """Lines between gaps, with the name of their region."""
    name, hunk = "", list[DiffLine]()
    for line in lines:
        if line.mark == "@":
            if hunk:
                yield name, hunk
            name, hunk = line.text, []
        else:
            hunk.append(line)
    if hunk:
        yield name, hunk


def _hunk(name: str, lines: list[DiffLine]) -> str:
    rows = "".join(_row(old, new) for old, new in side_by_side(lines))
    changed = sum(line.mark != " " for line in lines)
    head = f'<summary>{escape(name)} <span class="count">{changed} lines</span></summary>'
    table = f'<div class="scroll"><table class="diff">{rows}</table></div>'
    return f'<details open class="hunk">{head}{table}</details>'


def side_by_side(lines: Sequence[DiffLine]) -> Iterator[tuple[Side, Side]]:
    """Pairs of an old and a new line; a run of removed lines stands beside the run added for it."""
    old: list[DiffLine] = []
    new: list[DiffLine] = []
    for line in lines:
        if line.mark == "-" and new:
            yield from zip_longest(old, new)
            old, new = [], []
        if line.mark == "-":
            old.append(line)
        elif line.mark == "+":
            new.append(line)
        else:
            yield from zip_longest(old, new)
            old, new = [], []
            yield line, line
    yield from zip_longest(old, new)


def _row(old: Side, new: Side) -> str:
    if old is not None and old is new:
        text = escape(old.text, quote=False)
        return f"<tr><td>{old.old}<td>{text}<td>{old.new}<td>{text}"
    left = (
        f'<td>{old.old}<td class="d">{escape(old.text, quote=False)}' if old else "<td><td class=x>"
    )
    right = (
        f'<td>{new.new}<td class="i">{escape(new.text, quote=False)}' if new else "<td><td class=x>"
    )
    return f"<tr>{left}{right}"
