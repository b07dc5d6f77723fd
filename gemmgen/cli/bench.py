"""`gemmgen bench`: kernels against cuBLAS, measured in one interleaved run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from gemmgen.cli.common import ROUNDS, slice_option
from gemmgen.cli.test import Shape
from gemmgen.report.suite import SUITES

if TYPE_CHECKING:
    from gemmgen.bench_records import BenchRecord, ShapeRecord
    from gemmgen.gpu.kernel import GpuKernel
    from gemmgen.run.subject import Subject


@click.command("bench")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--shape", "shapes", multiple=True, type=Shape(), help="Repeatable.")
@click.option("--suite", type=click.Choice(sorted(SUITES)), help="Shapes, and tables over them.")
@click.option("--libraries", type=click.Path(path_type=Path), help="Built libraries to run.")
@click.option(
    "--rounds", type=ROUNDS, default=9, show_default=True, help="Samples of each contender."
)
@slice_option
@click.option(
    "--settle-ms",
    type=click.FloatRange(0.0, 60_000.0),
    help="How long a contender runs before each sample, untimed; with --against as in the record, "
    "else 0.",
)
@click.option(
    "--alone",
    type=click.FloatRange(0.0, 3600.0),
    default=0.0,
    metavar="SECONDS",
    help="Run each contender alone for so long, to read NVML's activity and clocks.",
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the record here.")
@click.option("--show", type=click.Path(path_type=Path), help="Print this record; run nothing.")
@click.option("--against", type=click.Path(path_type=Path), help="Compare with this record.")
@click.option("--markdown", is_flag=True, help="Print the tables of --suite as Markdown.")
def command(
    paths: tuple[Path, ...],
    shapes: tuple[tuple[int, int, int], ...],
    suite: str | None,
    libraries: Path | None,
    rounds: int,
    slice_ms: float,
    settle_ms: float | None,
    alone: float,
    json_path: Path | None,
    show: Path | None,
    against: Path | None,
    markdown: bool,
) -> None:
    """Time generated files against torch.mm (cuBLAS), interleaved, with an A/A column for noise.

    With --against, rates over cuBLAS are compared with those of a record, and a difference counts
    beyond the noise of both runs. Exit code 0: nothing is slower than in the record; 1: something
    is; 2: the records cannot be compared, or other bad input.
    """
    from gemmgen.bench_records import read_bench

    before = read_bench(against) if against else None
    console = Console(highlight=False)
    console.width = max(console.width, 150)
    if show is not None:
        if paths or shapes:
            raise click.UsageError("--show runs nothing: give neither paths nor shapes")
        record = read_bench(show)
        for found in record.shapes if not markdown else ():
            console.print(_table(found))
    else:
        asked = _shapes(paths, shapes, suite)
        settled = before.settle_ms if before is not None else None
        settle = settle_ms if settle_ms is not None else settled or 0.0
        timing = (rounds, slice_ms, settle)
        record = _run(paths, asked, libraries, timing, alone, console)
        if json_path is not None:
            record.write(json_path)
    if not markdown:
        console.print(
            f"{record.device['name']}: copy {record.copy_terabytes:.2f} TB/s, "
            f"matrix {record.matrix_tflops:.0f} TFLOP/s (cuBLAS, 8192^3, random)"
        )
    if suite is not None:
        _suite(record, suite, console, markdown=markdown)
    if before is not None and _compare(record, before, console):
        sys.exit(1)


def _shapes(
    paths: tuple[Path, ...], shapes: tuple[tuple[int, int, int], ...], suite: str | None
) -> list[tuple[int, int, int]]:
    from gemmgen.report.suite import suite_shapes

    if not paths:
        raise click.UsageError("name generated files, or a record with --show")
    if not shapes and suite is None:
        raise click.UsageError("give --shape M,N,K or --suite")
    return list(dict.fromkeys([*(suite_shapes(suite) if suite else ()), *shapes]))


def _run(
    paths: tuple[Path, ...],
    shapes: list[tuple[int, int, int]],
    libraries: Path | None,
    timing: tuple[int, float, float],
    alone: float,
    console: Console,
) -> BenchRecord:
    from gemmgen.gpu.timing import Plan
    from gemmgen.run.bench import bench
    from gemmgen.run.rungs import rungs_of
    from gemmgen.run.subject import find_kernels, read_subject

    subjects = [read_subject(path) for path in find_kernels(paths)]
    kernels = [_load(subject, libraries) for subject in subjects]
    rounds, slice_ms, settle_ms = timing
    plan = Plan(rounds=rounds, slice_ms=slice_ms, settle_ms=settle_ms)
    record = bench(
        kernels,
        shapes,
        plan,
        lambda shape: console.print(_table(shape)),
        alone_seconds=alone,
    )
    return replace(record, rungs=rungs_of(subjects))


def _load(subject: Subject, libraries: Path | None) -> GpuKernel:
    from gemmgen.run.runners import choose_runner, device_runner

    choose_runner("gpu", subject.plan.spec.arch)
    kernel: GpuKernel = device_runner(subject.path, subject.digest, libraries).kernel
    return kernel


def _table(shape: ShapeRecord) -> Table:
    title = f"{'x'.join(map(str, shape.shape))}, {shape.sets} input sets, noise {shape.noise:.1%}"
    if shape.during is not None:
        title += f", SM {shape.during.sm_mhz:.0f} MHz, {shape.during.watts:.0f} W"
        if shape.during.gpu_active is not None:
            title += f", GPU active {shape.during.gpu_active:.0f} %"
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    table.add_column("kernel")
    for name in ("us", "spread", "TFLOP/s", "TB/s", "x cuBLAS", "of roofline", "error"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for entry in sorted(shape.entries, key=lambda entry: entry.microseconds):
        table.add_row(
            entry.name,
            f"{entry.microseconds:.1f}",
            f"{entry.spread:.1%}",
            f"{entry.tflops:.0f}",
            f"{entry.terabytes:.2f}",
            f"{entry.ratio:.3f}",
            f"{entry.of_roofline:.1%}",
            f"{entry.error:.1e}",
            entry.verdict,
        )
    return table


def _suite(record: BenchRecord, suite: str, console: Console, *, markdown: bool) -> None:
    from gemmgen.report.suite import activity, against_cublas, gains
    from gemmgen.report.suite import markdown as as_markdown

    parts = {
        "When each change helps": gains(record, suite),
        "Against cuBLAS": against_cublas(record),
        "Activity is not utilisation": activity(record),
    }
    for title, rows in parts.items():
        if len(rows) < 2:
            continue
        if markdown:
            click.echo(f"{title}:\n\n{as_markdown(rows)}")
        else:
            console.print(_plain_table(title, rows))


def _plain_table(title: str, rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, title=f"\n{title}", title_justify="left")
    for name in rows[0]:
        table.add_column(name)
    for row in rows[1:]:
        table.add_row(*row)
    return table


def _compare(now: BenchRecord, before: BenchRecord, console: Console) -> bool:
    """Print every change; whether something is slower."""
    from gemmgen.report.against import SLOWER, changes

    found = changes(now, before)
    rows = [("kernel", "shape", "x cuBLAS then", "now", "gain", "noise", "verdict")]
    for item in found:
        verdict = item.verdict + (", another spec" if item.respecified else "")
        shape = "x".join(map(str, item.shape))
        cells = (f"{item.before:.3f}", f"{item.now:.3f}", f"{item.gain:+.1%}", f"{item.noise:.1%}")
        rows.append((item.kernel, shape, *cells, verdict))
    console.print(_plain_table(f"Against the record of {before.date}", rows))
    if now.settle_ms != before.settle_ms:
        then = "the record does not say" if before.settle_ms is None else f"{before.settle_ms:g} ms"
        console.print(f"contenders settled {now.settle_ms or 0:g} ms before a sample, then: {then}")
    for name in sorted(now.versions.keys() & before.versions.keys()):
        if now.versions[name] != before.versions[name]:
            console.print(f"{name} was {before.versions[name]}, and is {now.versions[name]}")
    return any(item.verdict == SLOWER for item in found)
