"""``docs/conformance.md``: the table of a full run, for ``python -m conformance --write``."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable, Iterator
from pathlib import Path

from conformance.model import Case
from conformance.runs import POLICIES, Row

HEAD = """\
# Conformance: kernels that nobody here wrote

Written by `CUTLASS_DIR=… make conformance PAGE=docs/conformance.md`; do not edit by hand.

These kernels are right on hardware, so whatever the emulator says against them is a false alarm, or
an opcode that it lacks. Each runs on small integers under every timing policy, with every kind of
asynchronous work starved in turn and each CTA and some warps late. {listening}
A cell is the number of runs whose D equals torch's in every element and that gave no finding; `-`
was not run.

Versions: {versions}.

"""
RACES = """The race detector listens,
without the rules that some of these kernels break (`Rules(strict=False)`,
[model.md](model.md)).
"""
SOURCES = ("nvidia-cutlass-dsl", "quack-kernels", "torch")


def page(cases: Iterable[Case], rows: dict[str, Row], *, races: bool) -> str:
    """The page as Markdown."""
    listening = RACES.strip() if races else "The race detector does not listen."
    shown = tuple(cases)
    head = HEAD.format(listening=listening, versions=", ".join(_versions(shown)))
    return head + "\n".join(_lines(shown, rows)) + "\n"


def _versions(cases: tuple[Case, ...]) -> Iterator[str]:
    for name in SOURCES:
        try:
            yield f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            yield f"{name} not installed"
    yield f"Python {platform.python_version()}"
    examples = any(case.kernel.startswith("CUTLASS ") for case in cases)
    yield "CUTLASS examples " + ("included" if examples else "left out")


def _lines(cases: tuple[Case, ...], rows: dict[str, Row]) -> Iterator[str]:
    yield f"| case | kernel | arch | configuration | {' | '.join(POLICIES)} | result |"
    yield "|---|---|---|---|" + "---:|" * len(POLICIES) + "---|"
    for case in cases:
        row = rows[case.name]
        cells = [str(row.passed[p]) if p in row.passed else "-" for p in POLICIES]
        found = row.message.replace("|", "/").split("\n")[0]
        yield (
            f"| {case.name} | {case.kernel} | {case.arch} | {case.config} | {' | '.join(cells)} |"
            f" {found or 'equal'} |"
        )
    runs = sum(row.runs for row in rows.values())
    good = sum(not row.message for row in rows.values())
    instructions = sum(row.instructions for row in rows.values())
    yield ""
    yield (
        f"{good} of {len(cases)} cases are equal with no finding: {runs} runs,"
        f" {instructions:,} warp instructions."
    )


def write(path: Path, text: str) -> None:
    """Write to a temporary name and rename."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)
