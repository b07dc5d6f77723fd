"""`gemmgen test`: compile, run, compare with torch."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from gemmgen.cli import tables
from gemmgen.cli.common import SM_COUNT, allow_option, seed_option
from gemmgen.cli.tables import table
from gemmgen.cli.verdict import verdict
from gemmgen.records import CaseRecord, TestRecord, write_records
from gemmgen.terms import Finding, GemmgenError

if TYPE_CHECKING:
    from gemmgen.run.explore import Exploration
    from gemmgen.run.options import Options

LARGEST_MATRIX = 1 << 31
PROGRESS_SECONDS = 5.0
TIMINGS = ("lazy", "eager", "random", "pct", "starve", "delay")
HEADINGS = (
    "kernel", "regs", "spill", "smem\nKiB", "TMEM\ncols", "cases", "max\nerror",
    "runner", "time", "result",
)  # fmt: skip


class Shape(click.ParamType[tuple[int, int, int]]):
    """M,N,K as three positive integers."""

    name = "M,N,K"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int, int]:
        parts = str(value).replace("x", ",").split(",")
        if len(parts) != 3 or not all(p.strip().isdecimal() for p in parts):
            self.fail(f"{value!r} is not M,N,K, for instance 256,512,192", param, ctx)
        m, n, k = (int(p) for p in parts)
        if 0 in (m, n, k) or max(m * n, m * k, n * k) > LARGEST_MATRIX:
            self.fail(f"{value!r}: a matrix has 1 to 2^31 elements", param, ctx)
        return m, n, k


@click.command("test")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--shape", "shapes", multiple=True, type=Shape(), help="Run this shape; repeatable.")
@click.option(
    "--runner",
    type=click.Choice(["auto", "emulate", "gpu", "both", "none"]),
    default="auto",
    show_default=True,
    help="auto: a matching GPU, else the emulator; both: compare them; none: compile only.",
)
@click.option(
    "--timing",
    type=click.Choice(TIMINGS),
    default="lazy",
    show_default=True,
    help="When asynchronous work completes in the emulator; choosing one chooses the emulator.",
)
@click.option(
    "--target", default="", help="What --timing starve starves (tma_load), delay delays (0 or 0.5)."
)
@seed_option
@click.option(
    "--schedules",
    type=click.IntRange(1, 1_000_000),
    help="Explore so many schedules over all timings and sizes instead; shrink what fails.",
)
@click.option(
    "--races/--no-races",
    default=True,
    show_default=True,
    help="Look for races in the emulator (E260 to E270), at half again the time.",
)
@click.option(
    "--sm-count",
    type=SM_COUNT,
    default=8,
    show_default=True,
    help="SMs of the emulated device.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    help="Worker processes; the number of CPUs by default.",
)
@click.option(
    "--libraries", type=click.Path(path_type=Path), help="Built libraries to run on the GPU."
)
@click.option(
    "--max-failures",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Stop a file after so many; 0: never.",
)
@allow_option
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write records here.")
def command(
    paths: tuple[Path, ...],
    shapes: tuple[tuple[int, int, int], ...],
    runner: str,
    timing: str,
    target: str,
    seed: int,
    schedules: int | None,
    races: bool,
    sm_count: int,
    jobs: int | None,
    libraries: Path | None,
    max_failures: int,
    allow: tuple[str, ...],
    json_path: Path | None,
) -> None:
    """Prove generated files, or edited copies, against torch.

    Folders are searched for files with a `# spec:` line in their header. Exact
    small integers come first and must be equal; then random inputs, within a bound derived from K.
    """
    from gemmgen.emulate import Settings
    from gemmgen.run.options import Options
    from gemmgen.run.subject import find_kernels

    kernels = find_kernels(paths)
    if runner in ("gpu", "both"):
        _require_driver()
    if schedules is not None:
        from gemmgen.run.explore import Exploration

        exploration = Exploration(schedules, seed, sm_count, shapes, allow, races=races)
        _explore(kernels, exploration, runner, jobs, json_path)
        return
    if runner == "auto" and _given("timing"):
        runner = "emulate"
    settings = Settings(timing=timing, target=target, seed=seed, sm_count=sm_count, races=races)
    options = Options(runner, shapes, settings, allow, max_failures, libraries)
    start = time.perf_counter()
    records = _run(kernels, options, jobs)
    records.sort(key=lambda record: record.file)
    _report(records, time.perf_counter() - start)
    if json_path is not None:
        write_records(json_path, records)
    if any(record.status not in ("passed", "compiled") for record in records):
        sys.exit(1)


def _require_driver() -> None:
    """Say at once that there is no GPU, instead of once a file."""
    from gemmgen.run.many import driver_is_here

    if not driver_is_here():
        title = "cannot run kernels on a GPU: this machine has no CUDA driver"
        help_ = "use --runner emulate, or run on a machine with a GPU"
        raise GemmgenError([Finding("T410", title, help=help_)])


def _given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def _explore(
    kernels: list[Path],
    options: Exploration,
    runner: str,
    jobs: int | None,
    json_path: Path | None,
) -> None:
    """`--schedules`: exits with 1 when a schedule fails."""
    from gemmgen.cli.explore import explore

    if runner not in ("auto", "emulate"):
        raise click.UsageError(f"--schedules runs in the emulator, not with --runner {runner}")
    for name in ("timing", "target"):
        if _given(name):
            raise click.UsageError(f"--schedules turns over all timings: leave --{name} out")
    records = explore(kernels, options, jobs)
    if json_path is not None:
        write_records(json_path, records, "explorations")
    if any(record.status != "passed" for record in records):
        sys.exit(1)


def _run(paths: list[Path], options: Options, jobs: int | None) -> list[TestRecord]:
    from gemmgen.run.many import verify_paths

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    records: list[TestRecord] = []
    finished, told = 0, time.monotonic()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        tasks = {str(p): progress.add_task(f"{p.name}: compiling", total=None) for p in paths}
        for event in verify_paths(paths, options, jobs):
            if isinstance(event, TestRecord):
                records.append(event)
                if not console.is_terminal:
                    console.print(f"{event.status:9} {event.file}", highlight=False)
                continue
            file, case, total = event
            name = Path(file).name
            progress.update(
                tasks[file], total=total, advance=int(case is not None), description=name
            )
            finished += case is not None
            if not console.is_terminal and time.monotonic() - told > PROGRESS_SECONDS:
                told = time.monotonic()
                console.print(f"{finished} cases done, now {name}", highlight=False)
            if case is not None and case.status == "failed":
                progress.console.print(
                    _case_line(file, case), markup=False, highlight=False, soft_wrap=True
                )
    return records


def _case_line(file: str, case: CaseRecord) -> str:
    shape = "x".join(map(str, case.shape))
    timing = " ".join(filter(None, (case.timing, case.target)))
    where = f"{case.numerics} {shape}, timing {timing}, seed {case.seed}"
    return f"{case.status.upper()} {Path(file).name} {where}\n{case.message}"


def _report(records: list[TestRecord], seconds: float) -> None:
    out = table(*HEADINGS, right=HEADINGS[1:7])
    for record in records:
        out.add_row(*_row(record))
    console = tables.console()
    if len(records) == 1 and records[0].cases:
        console.print(_cases(records[0]))
        console.print()
    console.print(out)
    for message in dict.fromkeys(record.message for record in records if record.message):
        console.print(f"\n{message}", markup=False, soft_wrap=True)
    for record in records:
        refused = [case for case in record.cases if case.status == "refused"]
        for case in refused[:3]:
            line = f"refused {'x'.join(map(str, case.shape))}: {case.message}"
            console.print(line, markup=False, soft_wrap=True)
    console.print(f"\n{verdict(records, seconds)}", soft_wrap=True)


def _cases(record: TestRecord) -> Table:
    """Shapes of one kernel, each with what its exact and its random problem came to."""
    names = ("shape", "exact", "random", "max\nerror", "of\nbound", "time")
    out = table(*names, right=names[3:])
    shapes = dict.fromkeys(case.shape for case in record.cases)
    for shape in shapes:
        by = {case.numerics: case for case in record.cases if case.shape == shape}
        exact, loose = by.get("exact"), by.get("random")
        known = loose is not None and loose.max_error is not None
        out.add_row(
            "x".join(map(str, shape)),
            exact.status if exact else "",
            loose.status if loose else "",
            f"{loose.max_error:.2g}" if known and loose else "",
            f"{loose.tolerance_used:.0%}" if known and loose else "",
            f"{sum(case.seconds for case in by.values()):.1f} s",
        )
    return out


def _row(record: TestRecord) -> list[str]:
    r = record.resources
    errors = [case.max_error for case in record.cases if case.max_error is not None]
    good = sum(case.status == "passed" for case in record.cases)
    spills = r.get("spill_store_bytes", 0) + r.get("spill_load_bytes", 0)
    smem = r.get("dynamic_smem_bytes", 0) + r.get("static_smem_bytes", 0)
    return [
        Path(record.file).with_suffix("").as_posix().removeprefix("generated/"),
        str(r.get("registers", "")),
        str(spills) if r else "",
        f"{smem / 1024:.0f}" if r else "",
        str(r.get("tmem_columns", "")),
        f"{good}/{len(record.cases)}",
        f"{max(errors):.2g}" if errors else "",
        record.runner,
        f"{sum(case.seconds for case in record.cases):.1f} s",
        record.status,
    ]
