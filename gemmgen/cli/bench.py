"""`gemmgen bench`: kernels against cuBLAS, measured in one interleaved run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from gemmgen.cli.test import Shape

if TYPE_CHECKING:
    from gemmgen.gpu.kernel import GpuKernel
    from gemmgen.run.bench import ShapeRecord


@click.command("bench")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--shape", "shapes", multiple=True, type=Shape(), required=True, help="Repeatable.")
@click.option("--libraries", type=click.Path(path_type=Path), help="Built libraries to run.")
@click.option("--rounds", default=9, show_default=True, help="Samples of each contender.")
@click.option("--slice-ms", default=10.0, show_default=True, help="Length of one sample.")
@click.option(
    "--settle-ms", default=0.0, help="How long a contender runs before each sample, untimed."
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the record here.")
def command(
    paths: tuple[Path, ...],
    shapes: tuple[tuple[int, int, int], ...],
    libraries: Path | None,
    rounds: int,
    slice_ms: float,
    settle_ms: float,
    json_path: Path | None,
) -> None:
    """Time generated files against torch.mm (cuBLAS), interleaved, with an A/A column for noise."""
    from gemmgen.gpu.timing import Plan
    from gemmgen.run.bench import bench
    from gemmgen.run.subject import find_kernels

    kernels = [_load(path, libraries) for path in find_kernels(paths)]
    console = Console(highlight=False)
    console.width = max(console.width, 110)
    plan = Plan(rounds=rounds, slice_ms=slice_ms, settle_ms=settle_ms)
    record = bench(kernels, list(shapes), plan, lambda shape: console.print(_table(shape)))
    console.print(
        f"{record.device['name']}: copy {record.copy_terabytes:.2f} TB/s, "
        f"matrix {record.matrix_tflops:.0f} TFLOP/s (cuBLAS, 8192^3, random)"
    )
    if json_path is not None:
        record.write(json_path)


def _load(path: Path, libraries: Path | None) -> GpuKernel:
    from gemmgen.run.runners import choose_runner, device_runner
    from gemmgen.run.subject import read_subject

    subject = read_subject(path)
    choose_runner("gpu", subject.plan.spec.arch)
    kernel: GpuKernel = device_runner(path, subject.digest, libraries).kernel
    return kernel


def _table(shape: ShapeRecord) -> Table:
    title = f"{'x'.join(map(str, shape.shape))}, {shape.sets} input sets, noise {shape.noise:.1%}"
    if shape.during is not None:
        title += f", SM {shape.during.sm_mhz:.0f} MHz, {shape.during.watts:.0f} W"
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
