"""The kill table: who found what, by kind, rung and detector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mutants.equivalent import Argument, argued
from mutants.model import Detector, Expect, Mutant, Outcome

Row = tuple[Mutant, Outcome]

_RANK = {
    Detector.CHECK: 0,
    Detector.PROTOCOL: 0,
    Detector.RENDER: 0,
    Detector.COMPILE: 1,
    Detector.FAULT: 2,
    Detector.HANG: 2,
    Detector.RESULT: 2,
}
_LATEST = {Expect.PLAN: 0, Expect.COMPILE: 1, Expect.RUN: 2, Expect.ORDER: 2, Expect.NONE: 2}


@dataclass(frozen=True)
class Judgement:
    """What a run shows.

    Attributes:
        survivors: not found, and nobody argues that they are equivalent.
        broken: edits that made no kernel, or that a detector could not digest.
        refuted: argued equivalent, yet found.
        late: found by a later detector than their kind names.
        equivalent: not found, and argued.
    """

    survivors: tuple[Row, ...]
    broken: tuple[Row, ...]
    refuted: tuple[Row, ...]
    late: tuple[Row, ...]
    equivalent: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Nothing wrong got past."""
        return not (self.survivors or self.broken or self.refuted)


def judge_rows(rows: Iterable[Row], entries: tuple[Argument, ...]) -> Judgement:
    """Sort outcomes into those classes."""
    survivors: list[Row] = []
    broken: list[Row] = []
    refuted: list[Row] = []
    late: list[Row] = []
    equivalent: list[Row] = []
    for row in rows:
        mutant, outcome = row
        known = argued(mutant, entries)
        if outcome.detector is Detector.BROKEN:
            broken.append(row)
        elif not outcome.killed:
            (equivalent if known else survivors).append(row)
        elif known:
            refuted.append(row)
        elif _RANK[outcome.detector] > _LATEST[mutant.kind.expect]:
            late.append(row)
    return Judgement(
        tuple(survivors), tuple(broken), tuple(refuted), tuple(late), tuple(equivalent)
    )


def tables(rows: list[Row]) -> Iterator[str]:
    """By kind, by rung, by code, each with a column a detector."""
    yield from _table("kind", rows, lambda row: f"{row[0].kind.layer} {row[0].kind.name}")
    yield ""
    yield from _table("rung", rows, lambda row: f"{row[0].rung} {row[0].kind.layer}")
    yield ""
    yield from _table("code", rows, lambda row: row[1].code or row[1].detector)


def _table(title: str, rows: list[Row], key: Callable[[Row], str]) -> Iterator[str]:
    columns = [d for d in Detector if any(o.detector is d for _, o in rows)]
    groups: dict[str, Counter[Detector]] = {}
    for row in rows:
        groups.setdefault(key(row), Counter())[row[1].detector] += 1
    width = max(len(title), *map(len, groups), 5)
    yield f"{title:{width}}  " + "  ".join(f"{c.value:>8}" for c in columns) + "     all"
    for name, counts in groups.items():
        yield f"{name:{width}}  " + _cells(counts, columns)
    total = Counter(o.detector for _, o in rows)
    yield f"{'all':{width}}  " + _cells(total, columns)


def _cells(counts: Counter[Detector], columns: list[Detector]) -> str:
    cells = (f"{counts[c] or '':>8}" for c in columns)
    return "  ".join(cells) + f"  {counts.total():>6}"


def listing(title: str, rows: tuple[Row, ...]) -> Iterator[str]:
    """Mutants one a line, with what their kind does and what was tried."""
    if rows:
        yield f"{title} ({len(rows)}):"
    for mutant, outcome in rows:
        found = f"{outcome.detector} {outcome.code}".strip()
        message = " ".join(outcome.message.split())[:160]
        yield f"  {mutant.name}: {mutant.kind.why} [{found}; {outcome.run}] {message}".rstrip()
