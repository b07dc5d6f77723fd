"""`gemmgen sweep`: every combination of some keys of a spec, built, verified and timed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gemmgen.cli import tables
from gemmgen.cli.common import slice_option, spec_paths
from gemmgen.cli.test import Shape
from gemmgen.files import write_atomic
from gemmgen.terms import Finding, GemmgenError

if TYPE_CHECKING:
    from gemmgen.report.sweep_plot import Curve
    from gemmgen.run.executor import Executor
    from gemmgen.run.sweep import Point, Sweep

SQUARE = (4096, 4096, 4096)
CURVES = 8


@click.command("sweep")
@click.argument("spec", required=False)
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUES",
    help="Values of a key: pipeline.ab_stages=2..6, scheduler.group_m=1,2,4; repeatable.",
)
@click.option(
    "--shape", "shapes", multiple=True, type=Shape(), help="Time here; 4096,4096,4096 by default."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder of the sweep.")
@click.option("--build-only", type=click.Path(path_type=Path), help="Build into this folder.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on with the sweep in there.")
@click.option(
    "--verify",
    type=click.Choice(["quick", "full", "none"]),
    default="quick",
    show_default=True,
    help="Shapes to compare with torch: two, all default ones, none.",
)
@click.option("--rounds", default=9, show_default=True, type=click.IntRange(4, 10_000))
@slice_option
@click.option("--jobs", type=click.IntRange(1, 1024), help="Processes that build; one a core.")
@click.option("--executor", type=click.Choice(["local", "dask"]), default="local")
@click.option("--scheduler", default="", help="Address of a Dask scheduler; none: start one here.")
def command(
    spec: str | None,
    sets: tuple[str, ...],
    shapes: tuple[tuple[int, int, int], ...],
    output: Path | None,
    build_only: Path | None,
    resume: Path | None,
    verify: str,
    rounds: int,
    slice_ms: float,
    jobs: int | None,
    executor: str,
    scheduler: str,
) -> None:
    """Build, verify and time every combination of keys of a spec.

    Illegal combinations are listed with the reason and never run. What is found is kept in the
    folder at once: after an interrupt, the same command goes on, and --resume does, there or on
    another machine to which the folder was copied. Exit code 1: a combination failed, or none is
    legal.
    """
    if build_only is None and not scheduler:
        from gemmgen.run.require import require_torch

        require_torch()
    if resume is not None:
        if spec or sets or output or build_only:
            raise click.UsageError("--resume takes the sweep from its folder: give nothing else")
        folder, state = resume, _known(resume)
    else:
        if not spec or not sets:
            raise click.UsageError("give a spec and --set KEY=VALUES, or --resume DIR")
        asked = shapes or (SQUARE,)
        folder, state = _begin(spec, sets, asked, output or build_only, verify, rounds, slice_ms)
    with _executor(executor, scheduler, jobs) as where:
        _go(state, folder, where, build_only=build_only is not None, remote=bool(scheduler))
    _save(state, folder)
    _report(state, folder)
    if any(point.status in ("not built", "wrong") for point in state.points):
        sys.exit(1)
    if all(point.status == "refused" for point in state.points):
        sys.exit(1)


def _known(folder: Path) -> Sweep:
    from gemmgen.run.sweep import read_sweep

    return read_sweep(folder)


def _begin(
    spec: str,
    sets: tuple[str, ...],
    shapes: tuple[tuple[int, int, int], ...],
    output: Path | None,
    verify: str,
    rounds: int,
    slice_ms: float,
) -> tuple[Path, Sweep]:
    """The sweep that is asked for: new, or as far as its folder has it already."""
    from gemmgen.run.sweep.points import make_sweep, write_points
    from gemmgen.run.sweep.state import FILE, read_sweep
    from gemmgen.spec.read import read_text

    (path,) = spec_paths((spec,), everything=False)
    state = make_sweep(
        read_text(path),
        str(path),
        sets,
        shapes=shapes,
        rounds=rounds,
        slice_ms=slice_ms,
        verify=verify,
    )
    folder = output or Path("out") / "sweep" / state.spec
    if (folder / FILE).exists():
        known = read_sweep(folder)
        if known.same_question(state):
            return folder, known
        help_ = "give another folder with -o, or remove this one"
        raise GemmgenError(
            [Finding("T441", f"another sweep of {known.spec} is in {folder}", help=help_)]
        )
    with _progress() as progress:
        task = progress.add_task("rendering", total=len(state.points))
        write_points(state, folder, lambda: progress.advance(task))
    state.write(folder)
    return folder, state


def _executor(kind: str, scheduler: str, jobs: int | None) -> Executor:
    if kind == "local" and not scheduler:
        from gemmgen.run.executor import LocalExecutor

        return LocalExecutor(jobs)
    from gemmgen.run.dask_executor import DaskExecutor
    from gemmgen.run.executor import visible_gpus

    return DaskExecutor(scheduler, jobs, visible_gpus())


def _go(state: Sweep, folder: Path, where: Executor, *, build_only: bool, remote: bool) -> None:
    """Every step that this machine, or the cluster, can do."""
    from gemmgen.run.sweep.drive import Driver

    with _progress() as progress:
        rows: dict[str, int] = {}

        def tell(step: str, done: int, total: int) -> None:
            if step not in rows:
                rows[step] = int(progress.add_task(step, total=total))
            progress.update(progress.task_ids[rows[step]], completed=done)
            if not progress.console.is_terminal:
                progress.console.print(f"{step} {done}/{total}", highlight=False)

        driver = Driver(state, folder, where, tell)
        driver.build()
        if build_only:
            return
        if _gpu_for(state.arch, remote=remote):
            driver.measure()
        else:
            driver.verify()


def _gpu_for(arch: str, *, remote: bool) -> bool:
    """Whether a GPU of `arch` is here; a remote cluster is taken at its word."""
    if remote:
        return True
    from gemmgen.run.many import driver_is_here

    if not driver_is_here():
        return False
    from gemmgen.gpu.device import matches
    from gemmgen.terms import Arch

    return matches(Arch(arch))


def _progress() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = tables.console(err=True)
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _save(state: Sweep, folder: Path) -> None:
    """CSV and pictures beside the state."""
    from gemmgen.run.sweep.results import csv_text

    write_atomic(folder / "sweep.csv", csv_text(state))
    panels = _panels(state)
    if not panels:
        return
    from gemmgen.report.sweep_plot import draw

    title = f"{state.spec} on {state.device.get('name', 'a GPU')}"
    key = next(iter(state.points[0].values))
    try:
        for form in ("svg", "png"):
            write_atomic(folder / f"sweep.{form}", draw(title, key, panels, form))
    except GemmgenError as error:
        click.echo(str(error), err=True)


def _panels(state: Sweep) -> list[tuple[str, list[Curve]]]:
    """A panel a shape: the first key along x, a curve for each combination of the others."""
    from gemmgen.report.sweep_plot import Curve
    from gemmgen.run.sweep.state import point_text, shape_name, value_text

    panels = []
    for shape in map(shape_name, state.shapes):
        groups: dict[str, list[tuple[str, float, float]]] = {}
        for point in state.points:
            time = point.times.get(shape)
            if time is not None:
                (_, x), *others = point.values.items()
                noise = max(time.noise, time.spread) * time.ratio
                groups.setdefault(point_text(dict(others)), []).append(
                    (value_text(x), time.ratio, noise)
                )
        curves = [Curve(label, *zip(*rows, strict=True)) for label, rows in groups.items()]
        best = sorted(curves, key=lambda curve: -max(curve.ys))[:CURVES]
        panels += [(shape, [curve for curve in curves if curve in best])] if curves else []
    return panels


def _report(state: Sweep, folder: Path) -> None:
    from gemmgen.run.sweep.results import verdict_text
    from gemmgen.run.sweep.state import shape_name

    keys = list(state.points[0].values)
    shapes = map(shape_name, state.shapes)
    timed = [shape for shape in shapes if any(shape in p.times for p in state.points)]
    columns = [key.rpartition(".")[2] for key in keys] + ["regs", "smem\nKiB"]
    for shape in timed:
        columns += [f"{shape}\nus", "spread", "TFLOP/s", "x cuBLAS", "noise"]
    out = tables.table(*columns, "result", right=columns)
    for point in state.points:
        words = " ".join(filter(None, (point.status, point.reason or point.verified)))
        out.add_row(*_cells(point, timed), words.replace("[", r"\["))
    console = tables.console()
    console.print(out)
    for shape in timed:
        console.print(verdict_text(state, shape), markup=False)
    counts = {s: sum(p.status == s for p in state.points) for s in ORDER}
    console.print(", ".join(f"{count} {name}" for name, count in counts.items() if count))
    waiting = counts["built"] + counts["verified"]
    if waiting:
        console.print(
            f"{waiting} wait for a GPU of {state.arch}: copy {folder} there, and run "
            f"`gemmgen sweep --resume {folder.name}`",
            markup=False,
        )


def _cells(point: Point, timed: list[str]) -> list[str]:
    from gemmgen.run.sweep.state import value_text

    uses = point.resources
    cells = [value_text(value) for value in point.values.values()]
    smem = uses.get("dynamic_smem_bytes", 0) / 1024
    cells += [str(uses["registers"]), f"{smem:.0f}"] if uses else ["", ""]
    for shape in timed:
        t = point.times.get(shape)
        if t is None:
            cells += [""] * 5
        else:
            cells += [f"{t.microseconds:.1f}", f"{t.spread:.1%}", f"{t.tflops:.0f}"]
            cells += [f"{t.ratio:.3f}", f"{t.noise:.1%}"]
    return cells


ORDER = ("measured", "verified", "built", "planned", "wrong", "not built", "refused")
