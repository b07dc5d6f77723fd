"""`gemmgen build`: shared libraries that run without gemmgen, CuTe DSL or a compiler."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gemmgen.cli.common import allow_option, require_distinct_stems


@click.command("build")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder to write to."
)
@allow_option
def command(paths: tuple[Path, ...], output: Path, allow: tuple[str, ...]) -> None:
    """Build shared libraries from generated files.

    Folders are searched for them. Each file gives a library with the TVM-FFI ABI, STEM.so, its
    manifest, STEM.json, and what gemmgen wants to run it: STEM.cubin and STEM.py. No GPU is
    needed to build; docs/build.md says how to run elsewhere.
    """
    from gemmgen.compile import CompileError, build_file
    from gemmgen.run.subject import find_kernels

    files = find_kernels(paths)
    require_distinct_stems(files)
    failed = 0
    for path in files:
        try:
            built = build_file(path, output, allow=allow)
        except CompileError as error:
            failed += 1
            click.echo(str(error), err=True)
            continue
        size = built.library.stat().st_size
        click.echo(f"built {built.library} ({built.manifest.arch}, {size / 1024:.0f} KiB)")
    if failed:
        click.echo(f"{failed} of {len(files)} files failed", err=True)
        sys.exit(1)
