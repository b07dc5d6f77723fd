"""``python -m mutants``: make every mutant, see who finds it, print the kill table."""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mutants.catalogue import KINDS, catalogue
from mutants.equivalent import arguments
from mutants.model import Layer, Mutant, Outcome
from mutants.page import page
from mutants.pool import run
from mutants.results import Results
from mutants.subjects import ROOT, rung, rung_names
from mutants.table import Row, judge_rows, listing, tables


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("--rung", action="append", help="pattern of rung names; all by default")
    parser.add_argument("--kind", action="append", help="pattern of kind names; all by default")
    parser.add_argument("--layer", action="append", choices=[layer.value for layer in Layer])
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (2)")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "out" / "mutants", help="results and tables"
    )
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument(
        "--keep-found",
        action="store_true",
        help="trust finds of earlier code too, and argued survivors",
    )
    parser.add_argument("--page", type=Path, help="write the page about known results, run none")
    parser.add_argument("--list", action="store_true", help="name the mutants and run none")
    return parser.parse_args(argv)


def _ptx(folder: Path, name: str, source: str) -> str:
    """PTX of a committed kernel, compiled once a text."""
    path = folder / "ptx" / f"{hashlib.sha256(source.encode()).hexdigest()}.ptx"
    if not path.is_file():
        from mutants.detect import ptx_of

        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ptx_of(name, source), "utf-8")
    return path.read_text("utf-8")


def chosen(options: argparse.Namespace) -> Iterator[Mutant]:
    """The mutants that the command line names."""
    patterns = options.rung or ["*"]
    names = [n for n in rung_names() if any(fnmatch.fnmatch(n, p) for p in patterns)]
    compiler = lambda name, source: _ptx(options.out, name, source)  # noqa: E731
    rungs = tuple(rung(name, compiler) for name in names)
    layers = tuple(map(Layer, options.layer)) if options.layer else tuple(Layer)
    kinds = options.kind or ["*"]
    for mutant in catalogue(rungs, layers):
        if any(fnmatch.fnmatch(mutant.kind.name, pattern) for pattern in kinds):
            yield mutant


def _run(mutants: list[Mutant], results: Results, jobs: int) -> list[Row]:
    todo = [mutant for mutant in mutants if results.get(mutant) is None]
    print(
        f"{len(mutants)} mutants of {len(KINDS)} kinds, {len(mutants) - len(todo)} known",
        flush=True,
    )
    counts: Counter[str] = Counter()
    started = time.monotonic()
    for number, (mutant, outcome) in enumerate(run(todo, jobs), 1):
        results.add(mutant, outcome)
        counts[outcome.detector] += 1
        if not outcome.killed:
            print(
                f"  {outcome.detector}: {mutant.name} {outcome.code} {outcome.message[:120]}",
                flush=True,
            )
        if number % 25 == 0 or number == len(todo):
            minutes = (time.monotonic() - started) / 60
            left = minutes / number * (len(todo) - number)
            tally = ", ".join(f"{n} {name}" for name, n in counts.most_common())
            print(
                f"{number}/{len(todo)} in {minutes:.1f} min, {left:.0f} left: {tally}", flush=True
            )
    return [(mutant, _known(results, mutant)) for mutant in mutants]


def _known(results: Results, mutant: Mutant) -> Outcome:
    outcome = results.get(mutant)
    assert outcome is not None
    return outcome


def write_page(path: Path, mutants: list[Mutant], results: Results) -> None:
    """Write the page about what is known, to a temporary name first."""
    rows = [(m, outcome) for m in mutants if (outcome := results.get(m)) is not None]
    text = "\n".join(page(mutants, rows, sum(results.is_current(m) for m, _ in rows))) + "\n"
    new = path.with_suffix(".new")
    new.write_text(text, "utf-8")
    new.replace(path)


def main(argv: list[str]) -> int:
    """Run; 0 when nothing wrong got past."""
    options = _arguments(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.fresh:
        (options.out / "results.jsonl").unlink(missing_ok=True)
    mutants = list(chosen(options))
    if not mutants:
        print("no mutant matches; --list names them", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(mutant.name for mutant in mutants))
        return 0
    if options.page:
        write_page(options.page, mutants, Results(options.out, keep_found=True))
        return 0
    rows = _run(mutants, Results(options.out, keep_found=options.keep_found), options.jobs)
    judged = judge_rows(rows, arguments())
    text = [*tables(rows), ""]
    text += listing("argued equivalent", judged.equivalent)
    text += listing("found later than their kind should be", judged.late)
    text += listing("argued equivalent, yet found", judged.refuted)
    text += listing("not mutants: the edit is no kernel, or a detector fails on it", judged.broken)
    text += listing("survivors", judged.survivors)
    (options.out / "table.txt").write_text("\n".join(text) + "\n", "utf-8")
    print("\n".join(text))
    return 0 if judged.passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
