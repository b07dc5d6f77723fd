"""`gemmgen compile`: PTX, cubin and resource usage, without a GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gemmgen.cli.common import allow_option, require_distinct_stems
from gemmgen.cli.tables import console, table
from gemmgen.files import write_atomic

if TYPE_CHECKING:
    from gemmgen.compile import Compiled


@click.command("compile")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write .ptx and .cubin here.")
@click.option(
    "--jobs",
    type=click.IntRange(0, 1024),
    help="Worker processes; 0: none, compile in this one. By default the number of CPUs.",
)
@allow_option
def command(
    paths: tuple[Path, ...], output: Path | None, jobs: int | None, allow: tuple[str, ...]
) -> None:
    """Compile generated files: PTX, cubin, resources.

    Folders are searched for them; they are compiled in parallel, without a GPU.
    """
    from gemmgen.compile import compile_paths
    from gemmgen.run.subject import find_kernels

    files = find_kernels(paths)
    if output is not None:
        require_distinct_stems(files)
    good: list[Compiled] = []
    failed = 0
    for outcome in compile_paths(files, jobs, allow=allow):
        if outcome.compiled is not None:
            good.append(outcome.compiled)
            click.echo(f"compiled {outcome.path} in {outcome.seconds:.1f} s", err=True)
        else:
            failed += 1
            click.echo(str(outcome.error), err=True)
    if output is not None:
        for compiled in good:
            stem = output / Path(compiled.path).stem
            write_atomic(stem.with_suffix(".ptx"), compiled.ptx)
            write_atomic(stem.with_suffix(".cubin"), compiled.cubin)
    _report(sorted(good, key=lambda compiled: compiled.path))
    if failed:
        click.echo(f"{failed} of {len(files)} files failed", err=True)
        sys.exit(1)


def _report(good: list[Compiled]) -> None:
    names = ("kernel", "arch", "regs", "spill\nB", "local\nB", "smem\nKiB", "TMEM\ncols", "threads")
    out = table(*names, right=names[2:])
    for compiled in good:
        r = compiled.resources
        smem = r.static_smem_bytes + r.dynamic_smem_bytes
        out.add_row(
            Path(compiled.path).name,
            compiled.arch.value,
            str(r.registers),
            str(r.spill_store_bytes + r.spill_load_bytes),
            str(r.local_bytes),
            f"{smem / 1024:.1f}",
            str(r.tmem_columns),
            str(r.threads),
        )
    if good:
        console().print(out)
