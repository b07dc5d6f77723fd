"""`gemmgen profile`: Nsight Compute figures of kernels on the GPU that is here."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from gemmgen.cli.test import Shape
from gemmgen.files import write_atomic

if TYPE_CHECKING:
    from gemmgen.run.profile import Profile


@click.command("profile")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--shape", type=Shape(), required=True, help="The shape to run.")
@click.option("--libraries", type=click.Path(path_type=Path), help="Built libraries to run.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write records here.")
def command(
    paths: tuple[Path, ...],
    shape: tuple[int, int, int],
    libraries: Path | None,
    json_path: Path | None,
) -> None:
    """Run each kernel once under ncu, clocks left alone, and print what limits it."""
    from gemmgen.run.profile import profile
    from gemmgen.run.subject import find_kernels

    profiles: list[Profile] = []
    for path in find_kernels(paths):
        click.echo(f"profiling {path}", err=True)
        profiles.append(profile(path, shape, libraries))
    _print(profiles)
    if json_path is not None:
        from gemmgen.gpu.device import describe_device
        from gemmgen.run.profile import document

        today = time.strftime("%Y-%m-%d", time.gmtime())
        record = document(profiles, asdict(describe_device()), today)
        write_atomic(json_path, json.dumps(record, indent=1) + "\n")


def _print(profiles: list[Profile]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("kernel")
    for name in ("us", "MHz", "tensor %", "DRAM %", "L1/TEX %", "L2 hit %", "waves"):
        table.add_column(name, justify="right")
    table.add_column("top stalls")
    columns = (
        "microseconds",
        "sm_mhz",
        "tensor_percent",
        "dram_percent",
        "l1tex_percent",
        "l2_hit_percent",
        "waves",
    )
    for item in profiles:
        cells = [f"{item.figures[c]:.1f}" if c in item.figures else "-" for c in columns]
        top = ", ".join(f"{reason} {value:.1f}" for reason, value in item.stalls[:3])
        table.add_row(item.kernel, *cells, top)
    console = Console(highlight=False)
    console.width = max(console.width, 120)
    console.print(table)
