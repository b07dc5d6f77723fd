"""The page about a run, from its results: who found what, and what is argued."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from mutants.catalogue import KINDS
from mutants.equivalent import argued, arguments
from mutants.model import Detector, Layer, Mutant
from mutants.table import Row, judge_rows

HEAD = """# Mutants

A mutant is a kernel of the ladder with one fault, in its plan, its text or its PTX. Each is put
before the detectors that a user has, in this order: the rules of `gemmgen check`, the protocol
checker, the templates, the compiler, and the emulator under hostile timing with its race detector.
What nobody finds has to be argued equivalent in `tests/mutants/equivalent.toml`.

`python -m mutants --page` writes this page from the results of a run."""

RERUN = """## Running it again

`make mutants` tries every mutant and prints the kill table by kind, rung and code, and
`PYTHONPATH=tests python -m mutants --help` says how to try some of them. With
`--page docs/mutants.md` it writes this page anew. `pytest tests/mutants` is the part, about a
tenth, that runs on every change.

Results lie in `out/mutants`, one line a mutant, so that a run that was stopped goes on. They are
forgotten when the code changes; `--keep-found` trusts earlier finds."""


def page(mutants: Sequence[Mutant], rows: list[Row], current: int) -> Iterator[str]:
    """Lines of the page.

    Args:
        mutants: all that there are.
        rows: those whose outcome is known.
        current: how many outcomes are of today's code.
    """
    judged = judge_rows(rows, arguments())
    killed = sum(outcome.killed for _, outcome in rows)
    yield from (HEAD, "")
    rungs = len({m.rung for m in mutants})
    yield f"{len(KINDS)} kinds make {len(mutants)} mutants of {rungs} rungs."
    yield f"{len(rows)} were tried: {killed} are found,"
    yield f"{len(judged.equivalent)} are argued equivalent, {len(judged.survivors)} got past,"
    yield f"{len(judged.broken)} are no kernels."
    yield f"{current} of these outcomes are of the code as it is, the others are finds and argued"
    yield "survivors of earlier states of it."
    yield from ("", "## Who finds them", "")
    yield from _table(rows, Layer, lambda row: row[0].kind.layer)
    yield from ("", "## On each rung", "")
    yield from _table(rows, sorted({m.rung for m in mutants}), lambda row: row[0].rung)
    yield from ("", "## By which code", "", "| code | mutants |", "| --- | ---: |")
    codes = Counter(o.code or "a wrong result" for _, o in rows if o.killed)
    yield from (f"| {code} | {count} |" for code, count in codes.most_common())
    yield from ("", "`gemmgen explain CODE` says what each means.")
    yield from ("", "## Argued equivalent", "", "| kind | mutants | why |", "| --- | ---: | --- |")
    for entry in arguments():
        mine = [m for m, _ in judged.equivalent if argued(m, (entry,))]
        if mine:
            yield f"| `{entry.kind}` | {len(mine)} | {entry.reason} |"
    for title, found in (
        ("Got past every detector", judged.survivors),
        ("No kernels, or one that a detector cannot digest", judged.broken),
        ("Argued equivalent, yet found", judged.refuted),
        ("Found later than they could be", judged.late),
    ):
        if found:
            yield from ("", f"## {title}", "")
            yield from (f"- `{m.name}`: {m.kind.why}. {o.code}".rstrip(" .") for m, o in found)
    yield from ("", RERUN)


def _table(rows: list[Row], groups: Iterable[str], key: Callable[[Row], str]) -> Iterator[str]:
    detectors = [d for d in Detector if any(o.detector is d for _, o in rows)]
    yield "| | " + " | ".join(d.value for d in detectors) + " | all |"
    yield "| --- |" + " ---: |" * (len(detectors) + 1)
    for group in groups:
        yield _line(str(group), [row for row in rows if key(row) == group], detectors)
    yield _line("all", rows, detectors)


def _line(title: str, rows: list[Row], detectors: list[Detector]) -> str:
    counts = Counter(outcome.detector for _, outcome in rows)
    cells = " | ".join(str(counts[d]) for d in detectors)
    return f"| {title} | {cells} | {len(rows)} |"
