"""`gemmgen trace`: a picture of time."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gemmgen.cli.common import SM_COUNT, allow_option, seed_option
from gemmgen.cli.test import TIMINGS, Shape
from gemmgen.files import write_atomic


@click.command("trace")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--shape", type=Shape(), required=True, help="M,N,K to run.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Chrome trace to write.")
@click.option("--svg", type=click.Path(path_type=Path), help="Still to write.")
@click.option("--sm", default=0, show_default=True, help="SM that the still shows.")
@click.option("--steps", type=click.FloatRange(min=1), help="Length of the still's axis.")
@click.option(
    "--width",
    type=click.IntRange(300, 100_000),
    default=960,
    show_default=True,
    help="Of the still, px.",
)
@click.option(
    "--timing",
    type=click.Choice(["nominal", *TIMINGS]),
    default="nominal",
    show_default=True,
    help="nominal: round costs that show what overlaps; else as in `gemmgen test`.",
)
@click.option("--target", default="", help="What --timing starve starves, delay delays.")
@seed_option
@click.option(
    "--sm-count", type=SM_COUNT, default=2, show_default=True, help="SMs of the emulated device."
)
@allow_option
def command(
    path: Path,
    shape: tuple[int, int, int],
    output: Path | None,
    svg: Path | None,
    sm: int,
    steps: float | None,
    width: int,
    timing: str,
    target: str,
    seed: int,
    sm_count: int,
    allow: tuple[str, ...],
) -> None:
    """Run a generated file in the emulator and write what happened when.

    Open the trace at https://ui.perfetto.dev. Its times are steps of the emulator's clock, never
    measured. A run that fails is drawn as far as it went.
    """
    if output is None and svg is None:
        raise click.UsageError("give -o trace.json, --svg still.svg or both")
    from gemmgen.emulate import Settings
    from gemmgen.report.trace_json import chrome_trace
    from gemmgen.report.trace_svg import still
    from gemmgen.run.subject import find_kernels
    from gemmgen.run.trace import trace
    from gemmgen.run.trial import Trial

    (kernel,) = find_kernels((path,))
    settings = Settings(timing=timing, target=target, seed=seed, sm_count=sm_count)
    case, timeline = trace(Trial(kernel, allow), shape, settings)
    if case.status == "refused":
        raise click.UsageError(f"refused: {case.message}")
    if svg is not None and not any(track.sm == sm for track in timeline.tracks):
        raise click.UsageError(f"--sm {sm}: the run uses SMs 0 to {timeline.tracks[-1].sm}")
    if output is not None:
        write_atomic(output, chrome_trace(timeline))
        click.echo(f"{output}: {len(timeline.spans)} spans, {timeline.end:,.0f} {timeline.clock}")
    if svg is not None:
        write_atomic(svg, still(timeline, sm=sm, end=steps or 0.0, width=width))
        click.echo(f"{svg}: SM {sm}")
    if case.status == "failed":
        click.echo(f"the run fails:\n{case.message}", err=True)
        sys.exit(1)
