"""``python -m conformance``: run every case, print the table."""

from __future__ import annotations

import argparse
import fnmatch
import multiprocessing
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from conformance import cutlass_examples, page, quack, worker
from conformance.model import Case
from conformance.runs import POLICIES, Row

RECYCLE = 12  # cases a process: compilers keep what they made


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--case", action="append", help="pattern of case names; all by default")
    parser.add_argument(
        "--policies", default=",".join(POLICIES), help="timing policies (default: all of them)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (2)")
    parser.add_argument("--no-races", action="store_true", help="run without the race detector")
    parser.add_argument("--write", type=Path, help="write the table as a Markdown page here")
    parser.add_argument("--list", action="store_true", help="name the cases and run none")
    return parser.parse_args(argv)


def every_case() -> tuple[Case, ...]:
    """The cases whose source is there; says which source is not."""
    found: list[Case] = []
    for source in (quack, cutlass_examples):
        if reason := source.missing():
            print(f"left out: {reason}", file=sys.stderr)
        else:
            found += source.cases()
    return tuple(found)


def _rows(cases: list[Case], policies: tuple[str, ...], jobs: int, races: bool) -> Iterator[Row]:
    todo = [(case.name, policies, races) for case in cases]
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(jobs, len(todo)), maxtasksperchild=RECYCLE) as pool:
        yield from pool.imap_unordered(worker.run, todo)


def _table(cases: list[Case], rows: dict[str, Row]) -> Iterator[str]:
    widths = [max(len(c.name) for c in cases), max(len(c.kernel) for c in cases)]
    yield (
        f"{'case':{widths[0]}}  {'kernel':{widths[1]}}  arch     result  runs  instructions"
        "  compile s   run s  configuration"
    )
    for case in cases:
        row = rows[case.name]
        result = "FAILED" if row.message else "passed"
        yield (
            f"{case.name:{widths[0]}}  {case.kernel:{widths[1]}}  {case.arch:7}  {result}"
            f"  {row.runs:4}  {row.instructions:12,}  {row.compiled:9.1f}  {row.seconds:6.1f}"
            f"  {case.config}"
        )


def main(argv: list[str]) -> int:
    """Run; 0 when every case passed under every policy."""
    options = _arguments(argv)
    policies = tuple(options.policies.split(","))
    if unknown := set(policies) - set(POLICIES):
        print(f"no policy {', '.join(sorted(unknown))}: choose from {', '.join(POLICIES)}")
        return 2
    patterns = options.case or ["*"]
    cases = [c for c in every_case() if any(fnmatch.fnmatch(c.name, p) for p in patterns)]
    if not cases:
        print("no case to run")
        return 2
    if options.list:
        print("\n".join(f"{case.name}: {case.kernel}, {case.config}" for case in cases))
        return 0
    started = time.monotonic()
    rows: dict[str, Row] = {}
    for row in _rows(cases, policies, options.jobs, not options.no_races):
        rows[row.case] = row
        result = f"FAILED {row.message}" if row.message else "passed"
        print(f"{len(rows)}/{len(cases)} {row.case}: {result}", file=sys.stderr, flush=True)
    print("\n".join(_table(cases, rows)))
    if options.write:
        page.write(options.write, page.page(cases, rows, races=not options.no_races))
    failed = [row for row in rows.values() if row.message]
    for row in failed:
        print(f"\n{row.case}: {row.message}")
    runs = sum(row.runs for row in rows.values())
    minutes = (time.monotonic() - started) / 60
    print(
        f"\n{len(cases) - len(failed)} of {len(cases)} cases passed, {runs} runs, {minutes:.1f} min"
    )
    listening = "without" if options.no_races else "with"
    print(f"policies: {', '.join(policies)}; {listening} the race detector")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
