"""`gemmgen build`: shared libraries that run without gemmgen, CuTe DSL or a compiler."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command("build")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder to write to."
)
@click.option("--allow", multiple=True, help="Let this pass: spill, local, setmaxnreg, symbol.")
def command(paths: tuple[Path, ...], output: Path, allow: tuple[str, ...]) -> None:
    """Build shared libraries from generated files.

    Folders are searched for them. Each file gives a library with the TVM-FFI ABI, STEM.so, and
    its manifest, STEM.json. No GPU is needed to build.
    """
    from gemmgen.compile import CompileError, build_file
    from gemmgen.run.subject import find_kernels

    files = find_kernels(paths)
    stems = [path.stem for path in files]
    twice = sorted({stem for stem in stems if stems.count(stem) > 1})
    if twice:
        raise click.UsageError(f"several files are called {', '.join(twice)}: build them apart")
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
