"""`gemmgen list`: the specs of the project."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from gemmgen.cli.common import root_folder
from gemmgen.cli.tables import console, table
from gemmgen.run.generate import generate
from gemmgen.spec.find import FOLDER, all_specs
from gemmgen.terms import GemmgenError


@click.command("list")
def command() -> None:
    """List every spec, each after its predecessor."""
    root = root_folder()
    out = table("spec", "arch", "kernel", "title")
    out.columns[-1].no_wrap = True
    out.columns[-1].overflow = "ellipsis"
    for path in all_specs(root):
        out.add_row(*(Text(cell) for cell in _row(root, path)))
    console().print(out)


def _row(root: Path, path: Path) -> tuple[str, str, str, str]:
    """Cells of the spec at `path`; one that is refused says by which codes."""
    name = path.relative_to(root / FOLDER).with_suffix("").as_posix()
    try:
        result = generate(path)
    except GemmgenError as error:
        codes = ", ".join(dict.fromkeys(finding.code for finding in error.findings))
        return name, "", "refused", f"{codes}: see `gemmgen render {name} --check`"
    missing = "stale" if result.target.exists() else "missing"
    spec = result.plan.spec
    return name, spec.arch.value, "current" if result.current else missing, spec.title
