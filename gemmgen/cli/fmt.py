"""`gemmgen fmt`: specs in their fixed table and key order."""

from __future__ import annotations

import sys

import click

from gemmgen.cli.common import spec_paths
from gemmgen.files import write_atomic
from gemmgen.spec.fmt import format_spec


@click.command("fmt")
@click.argument("specs", nargs=-1, metavar="[SPEC...]")
@click.option("--check", is_flag=True, help="Write nothing; fail when a spec would change.")
def command(specs: tuple[str, ...], check: bool) -> None:
    """Format specs: fixed table and key order, comments kept. Without arguments, all of them."""
    changed = 0
    for path in spec_paths(specs, everything=not specs):
        before = path.read_bytes().decode("utf-8")
        after = format_spec(before, file=str(path))
        if after != before:
            changed += 1
            click.echo(f"{'would format' if check else 'formatted'} {path}")
            if not check:
                write_atomic(path, after)
    if check and changed:
        sys.exit(1)
