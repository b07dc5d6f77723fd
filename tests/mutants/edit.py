"""Edits of a generated kernel's text, placed by what a statement does and where it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from mutants.model import Make, Variant

if TYPE_CHECKING:
    from mutants.subjects import Rung

_RULE = re.compile(r"^\s*# --- (?P<name>\w+)")


@dataclass(frozen=True)
class Statement:
    """A statement, in lines counted from 0.

    Attributes:
        region: where it stands.
        start, stop: its first line and the line after its last.
        head: the line after its head; of a simple statement, `stop`.
        shown: the line after what a pattern sees: the head, or all of a `with` around one
            statement.
    """

    region: str
    start: int
    head: int
    shown: int
    stop: int


@dataclass(frozen=True)
class Text:
    """A kernel's lines, their regions, and its statements in order."""

    lines: tuple[str, ...]
    regions: tuple[str, ...]
    statements: tuple[Statement, ...]

    def source(self, lines: list[str]) -> str:
        """Lines as a file."""
        return "\n".join(lines) + "\n"

    def indent(self, line: int) -> str:
        """White space before `line`."""
        text = self.lines[line]
        return text[: len(text) - len(text.lstrip())]

    def shown(self, statement: Statement) -> str:
        """What a pattern sees of `statement`."""
        return "\n".join(self.lines[statement.start : statement.shown])


@lru_cache(maxsize=32)
def parse(source: str) -> Text:
    """Find regions and statements."""
    lines = tuple(source.splitlines())
    regions = []
    region = "header"
    for line in lines:
        match = _RULE.match(line)
        region = match["name"] if match else region
        regions.append(region)
    statements = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            start, stop = node.lineno - 1, node.end_lineno or node.lineno
            body = getattr(node, "body", None)
            head = max(start + 1, body[0].lineno - 1) if body else stop
            alone = isinstance(node, ast.With) and len(node.body) == 1
            shown = stop if alone else head
            statements.append(Statement(regions[start], start, head, shown, stop))
    return Text(lines, tuple(regions), tuple(sorted(statements, key=lambda s: (s.start, -s.stop))))


def found(text: Text, pattern: str, *regions: str) -> Iterator[Statement]:
    """Statements of `regions` (all when none is named) that match; of a block, its head counts."""
    for statement in text.statements:
        wanted = not regions or statement.region in regions
        if wanted and re.search(pattern, text.shown(statement)):
            yield statement


def drop(pattern: str, *regions: str) -> Make:
    """Leave out each statement that matches, one a variant; a block goes with all that is in it."""

    def make(rung: Rung) -> Iterator[Variant]:
        text = parse(rung.source)
        for s in found(text, pattern, *regions):
            lines = list(text.lines)
            lines[s.start : s.stop] = [f"{text.indent(s.start)}pass"]
            yield Variant(s.region, text.source(lines))

    return make


def drop_together(pattern: str, *regions: str) -> Make:
    """Leave out all statements of a region that match, together."""

    def make(rung: Rung) -> Iterator[Variant]:
        text = parse(rung.source)
        by_region: dict[str, list[Statement]] = {}
        for s in found(text, pattern, *regions):
            by_region.setdefault(s.region, []).append(s)
        for region, statements in by_region.items():
            lines = list(text.lines)
            for s in reversed(statements):
                lines[s.start : s.stop] = [f"{text.indent(s.start)}pass"]
            yield Variant(region, text.source(lines))

    return make


def sub(pattern: str, replacement: str, *regions: str) -> Make:
    """Rewrite each line that matches, one a variant."""

    def make(rung: Rung) -> Iterator[Variant]:
        text = parse(rung.source)
        for number, line in enumerate(text.lines):
            if regions and text.regions[number] not in regions:
                continue
            changed = re.sub(pattern, replacement, line)
            if changed != line:
                lines = list(text.lines)
                lines[number] = changed
                yield Variant(text.regions[number], text.source(lines))

    return make


def sub_all(pattern: str, replacement: str, *regions: str) -> Make:
    """Rewrite every line that matches, all at once."""

    def make(rung: Rung) -> Iterator[Variant]:
        text = parse(rung.source)
        lines = [
            re.sub(pattern, replacement, line) if not regions or region in regions else line
            for line, region in zip(text.lines, text.regions, strict=True)
        ]
        if tuple(lines) != text.lines:
            yield Variant(regions[0] if len(regions) == 1 else "all", text.source(lines))

    return make


def insert(
    pattern: str, code: str, *regions: str, after: bool = True, inside: bool = False
) -> Make:
    """Put `code`, indented like its anchor, after or before each statement that matches.

    ``inside`` puts it first in the block that the statement opens.
    """

    def make(rung: Rung) -> Iterator[Variant]:
        text = parse(rung.source)
        for s in found(text, pattern, *regions):
            lines = list(text.lines)
            extra = "    " if inside else ""
            added = [f"{text.indent(s.start)}{extra}{line}" for line in code.splitlines()]
            place = s.head if inside else s.stop if after else s.start
            lines[place:place] = added
            yield Variant(s.region, text.source(lines))

    return make


def swap(first: str, second: str, *regions: str, near: bool = False) -> Make:
    """Exchange each statement that matches `first` with the next that matches `second`.

    ``near``: only where nothing but a line of comment is between the two.
    """

    def make(rung: Rung) -> Iterator[Variant]:
        text = parse(rung.source)
        seconds = list(found(text, second, *regions))
        for a in found(text, first, *regions):
            b = next((s for s in seconds if s.start >= a.stop and s.region == a.region), None)
            if b is None or (near and b.start > a.stop + 1):
                continue
            lines = list(text.lines)
            moved = _reindent(lines[b.start : b.stop], text.indent(b.start), text.indent(a.start))
            put = _reindent(lines[a.start : a.stop], text.indent(a.start), text.indent(b.start))
            lines[b.start : b.stop] = put
            lines[a.start : a.stop] = moved
            yield Variant(a.region, text.source(lines))

    return make


def move(what: str, before: str, *regions: str, to: str = "") -> Make:
    """Move each statement that matches `what` to before the first one that matches `before`.

    Args:
        to: region of `before`, where it is another one.
    """

    def make(rung: Rung) -> Iterator[Variant]:
        text = parse(rung.source)
        target = next(iter(found(text, before, *([to] if to else regions))), None)
        if target is None:
            return
        for s in found(text, what, *regions):
            if s.start <= target.start < s.stop:
                continue
            lines = list(text.lines)
            moved = _reindent(
                lines[s.start : s.stop], text.indent(s.start), text.indent(target.start)
            )
            stub = [f"{text.indent(s.start)}pass"]
            if s.start < target.start:
                lines[target.start : target.start] = moved
                lines[s.start : s.stop] = stub
            else:
                lines[s.start : s.stop] = stub
                lines[target.start : target.start] = moved
            yield Variant(s.region, text.source(lines))

    return make


def _reindent(lines: list[str], old: str, new: str) -> list[str]:
    return [new + line[len(old) :] if line.startswith(old) else line for line in lines]


def where(condition: Callable[[Rung], bool], make: Make) -> Make:
    """`make`, on the rungs that satisfy `condition`."""

    def chosen(rung: Rung) -> Iterator[Variant]:
        if condition(rung):
            yield from make(rung)

    return chosen


def both(first: Make, second: Make) -> Make:
    """The variants of two makers."""

    def make(rung: Rung) -> Iterator[Variant]:
        yield from first(rung)
        yield from second(rung)

    return make


def only(number: int, make: Make) -> Make:
    """The variant with this number alone, from 0."""

    def chosen(rung: Rung) -> Iterator[Variant]:
        yield from list(make(rung))[number : number + 1]

    return chosen


def then(*edits: Make) -> Make:
    """Edits one after the other as one variant: each must apply, at its first site."""

    def make(rung: Rung) -> Iterator[Variant]:
        site, current = "", rung
        for edit in edits:
            variant = next(iter(edit(current)), None)
            if variant is None or not isinstance(variant.content, str):
                return
            site = site or variant.site
            current = current.with_source(variant.content)
        yield Variant(site, current.source)

    return make


def regions_of(source: str) -> tuple[str, ...]:
    """Regions of a kernel, in order."""
    names = parse(source).regions
    return (names[0], *(b for a, b in pairwise(names) if a != b))
