"""What several commands share: finding specs, and talking to people."""

from __future__ import annotations

from pathlib import Path

import click

from gemmgen.files import project_root
from gemmgen.spec.find import all_specs, find_spec
from gemmgen.terms import Finding, GemmgenError

ALLOWED = ("local", "serialized", "setmaxnreg", "spill", "symbol")
SM_COUNT = click.IntRange(1, 1024)
ROUNDS = click.IntRange(1, 10_000)
MILLISECONDS = click.FloatRange(0.001, 60_000.0)
slice_option = click.option(
    "--slice-ms",
    type=MILLISECONDS,
    default=10.0,
    show_default=True,
    help="Length of one sample.",
)
seed_option = click.option(
    "--seed",
    # What torch's generators take, with room for `seed + index` of an exploration.
    type=click.IntRange(-(2**63), 2**63 - 1),
    default=0,
    show_default=True,
    help="Seed of inputs and random timing.",
)
allow_option = click.option(
    "--allow",
    multiple=True,
    type=click.Choice(ALLOWED),
    help="Let a kernel that does this pass; repeatable.",
)


def root_folder() -> Path:
    """The project around the current folder.

    Raises:
        GemmgenError: T401, there is no ``specs`` folder at or above the current one.
    """
    root = project_root(Path.cwd())
    if root is None:
        raise GemmgenError(
            [
                Finding(
                    code="T401",
                    title="no specs/ folder here or in any folder above",
                    help="run gemmgen inside a project, or name the spec by its path",
                )
            ]
        )
    return root


def spec_paths(names: tuple[str, ...], everything: bool) -> list[Path]:
    """Paths of the named specs, or of all of them.

    Raises:
        click.UsageError: neither or both were asked for.
        GemmgenError: a name that is no spec.
    """
    if everything == bool(names):
        raise click.UsageError("name one or more specs, or give --all")
    if everything:
        return [shown(path) for path in all_specs(root_folder())]
    return [shown(find_spec(name, project_root(Path.cwd()) or Path())) for name in names]


def shown(path: Path) -> Path:
    """`path` as people want to read it: from the current folder, where it is inside."""
    resolved, here = path.resolve(), Path.cwd().resolve()
    return resolved.relative_to(here) if resolved.is_relative_to(here) else path


def require_distinct_stems(files: list[Path]) -> None:
    """Refuse files that would be written over each other in one output folder.

    Raises:
        click.UsageError: two files have one stem.
    """
    stems = [path.stem for path in files]
    twice = sorted({stem for stem in stems if stems.count(stem) > 1})
    if twice:
        raise click.UsageError(f"several files are called {', '.join(twice)}: take them apart")
