"""Neighbours of a ladder side by side, region by region, folded until somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, zip_longest

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
KINDS = {" ": "", "-": "d", "+": "i"}
BLANK = "\u00a0"


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
    rows = list(side_by_side(lines))
    changed = sum(line.mark != " " for line in lines)
    head = f'<summary>{escape(name)} <span class="count">{changed} lines</span></summary>'
    old, new = [row[0] for row in rows], [row[1] for row in rows]
    left = _numbers([line.old if line else 0 for line in old]) + _code(old)
    right = _numbers([line.new if line else 0 for line in new]) + _code(new)
    return f'<details open class="hunk">{head}<div class="diff">{left}{right}</div></details>'


def _numbers(numbers: list[int]) -> str:
    text = "\n".join(str(number) if number else BLANK for number in numbers)
    return f'<div class="n">{text}</div>'


def _code(lines: list[Side]) -> str:
    """Lines of one side, a block for each run of one kind, so that a page has few elements."""
    runs = []
    for kind, run in groupby(lines, key=lambda line: KINDS[line.mark] if line else "x"):
        text = "\n".join(escape(line.text, quote=False) if line else BLANK for line in run)
        runs.append(f'<div class="{kind}">{text}</div>' if kind else f"<div>{text}</div>")
    return f'<div class="c"><div>{"".join(runs)}</div></div>'


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
