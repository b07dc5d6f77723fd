"""What `gemmgen test --schedules` prints."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gemmgen.cli.tables import console, table
from gemmgen.records import CaseRecord, ExploreRecord, ShrinkRecord

if TYPE_CHECKING:
    from gemmgen.run.explore import Exploration


def explore(paths: list[Path], options: Exploration, jobs: int | None) -> list[ExploreRecord]:
    """Explore, show progress, print what was found."""
    start = time.perf_counter()
    records = _run(paths, options, jobs)
    records.sort(key=lambda record: record.file)
    _report(records, time.perf_counter() - start)
    return records


def _run(paths: list[Path], options: Exploration, jobs: int | None) -> list[ExploreRecord]:
    from gemmgen.run.explore import explore_paths

    told = console(err=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    records = []
    with Progress(*columns, console=told, disable=not told.is_terminal) as progress:
        tasks = {
            str(p): progress.add_task(f"{p.name}: waiting", total=options.schedules) for p in paths
        }
        for step in explore_paths(paths, options, jobs):
            if not isinstance(step, ExploreRecord):
                text = f"{Path(step.file).name}: {step.doing}"
                progress.update(tasks[step.file], completed=step.done, description=text)
                continue
            records.append(step)
            name = Path(step.file).name
            progress.update(tasks[step.file], description=f"{name}: {step.status}")
            progress.stop_task(tasks[step.file])
            if not told.is_terminal:
                line = f"{step.status:9} {step.file} {sum(step.runs.values())} schedules"
                told.print(line, soft_wrap=True)
    return records


def _report(records: list[ExploreRecord], seconds: float) -> None:
    out = console()
    policies = sorted({policy for record in records for policy in record.runs})
    numbers = (*policies, "passed", "time")
    found = table("kernel", *numbers, "result", right=numbers)
    for record in records:
        cells = [str(record.runs.get(policy, 0)) for policy in policies]
        cells += [f"{sum(record.runs.values())}/{record.schedules}", f"{record.seconds:.1f} s"]
        found.add_row(Path(record.file).stem, *cells, record.status)
    out.print(found)
    for record in records:
        for line in findings(record):
            out.print(line, markup=False, soft_wrap=True)
    passed = sum(record.status == "passed" for record in records)
    total = sum(sum(record.runs.values()) for record in records)
    out.print(
        f"\n{passed} of {len(records)} kernels passed every schedule, "
        f"{total} schedules in {seconds:.1f} s"
    )


def findings(record: ExploreRecord) -> list[str]:
    """Lines that tell what went wrong with one file; none when it passed."""
    if record.message:
        word = "refused" if record.status == "refused" else record.status.upper()
        return [f"\n{word} {record.file}", record.message]
    if record.failure is None:
        return []
    lines = [
        f"\nFAILED {record.file}, schedule {record.index} of {record.schedules}: "
        f"{_where(record.failure)}",
        record.failure.message,
        f"again:    {record.command}",
    ]
    return lines + (_shrunk(record.shrunk) if record.shrunk else [])


def _shrunk(shrunk: ShrinkRecord) -> list[str]:
    ctas = "1 CTA" if shrunk.ctas == 1 else f"{shrunk.ctas} CTAs"
    lines = [
        f"smallest: {shrunk.command}",
        f"          {_where(shrunk.case)}, {ctas} ({shrunk.runs} runs, {shrunk.seconds:.1f} s)",
    ]
    lines += [f"          - {note}" for note in shrunk.notes]
    if not shrunk.complete:
        lines.append("          - time ran out: smaller runs may fail too")
    return lines


def _where(case: CaseRecord) -> str:
    timing = " ".join(filter(None, (case.timing, case.target)))
    return f"{'x'.join(map(str, case.shape))}, timing {timing}, seed {case.seed}"
