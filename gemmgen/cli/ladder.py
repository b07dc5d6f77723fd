"""`gemmgen ladder`: the table of a ladder, for a document."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from gemmgen.cli.common import root_folder
from gemmgen.files import write_atomic
from gemmgen.records import TestRecord
from gemmgen.render.regions import split_regions
from gemmgen.report import rung as cards
from gemmgen.report.ladder import Rung, markdown, replace_tables, tables_in
from gemmgen.report.load import load_records
from gemmgen.run.ladder import Step, climb, ladder_names
from gemmgen.spec import load_spec
from gemmgen.spec.find import find_spec
from gemmgen.spec.model import Published

RECORDS = Path("docs/records/emulator.json")


@click.command("ladder")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option(
    "--into",
    "documents",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Bring the tables of this file up to date; repeatable.",
)
@click.option(
    "--check", is_flag=True, help="With --into: write nothing; fail when a table is stale."
)
@click.option(
    "--records",
    type=click.Path(path_type=Path),
    help=f"Records of `gemmgen test --json`; by default {RECORDS} of the project.",
)
def command(
    names: tuple[str, ...], documents: tuple[Path, ...], check: bool, records: Path | None
) -> None:
    """Print the table of a ladder as Markdown.

    Without a name, of every ladder. In a document a table stands between
    `<!-- ladder NAME -->` and `<!-- end ladder -->`, and the step, resources, barrier map and
    diff of one rung between `<!-- rung NAME -->` and `<!-- end rung -->`.
    """
    if check and not documents:
        raise click.UsageError("--check needs --into")
    if names and documents:
        raise click.UsageError("--into takes the names from the document")
    root = root_folder()
    known = _records(root, records)
    if not documents:
        wanted = list(names) or ladder_names(root)
        click.echo("\n".join(_tables(wanted, root, root, known).values()), nl=False)
        return
    states = [_bring(document, root, known, write=not check) for document in documents]
    if "STALE" in states:
        sys.exit(1)


def _bring(document: Path, root: Path, records: list[TestRecord], *, write: bool) -> str:
    before = document.read_text(encoding="utf-8")
    wanted = cards.rungs_in(before)
    after = cards.replace_rungs(before, _cards(wanted, root, records)) if wanted else before
    if not wanted or "<!-- ladder " in before:
        names = tables_in(before, str(document))
        after = replace_tables(after, _tables(names, root, document.resolve().parent, records))
    if after != before and write:
        write_atomic(document, after)
    state = "current" if after == before else ("written" if write else "STALE")
    click.echo(f"{state:8} {document}")
    return state


def _tables(
    names: list[str], root: Path, folder: Path, records: list[TestRecord]
) -> dict[str, str]:
    """Table by ladder; links lead from `folder`."""
    return {
        name: markdown([_rung(step, root, folder) for step in climb(root, name)], records)
        for name in names
    }


def _cards(names: list[str], root: Path, records: list[TestRecord]) -> dict[str, str]:
    """Card by name of a rung, such as ``tirx/v5_two_stage``."""
    paths = {name: find_spec(name, root) for name in names}
    ladders = sorted({load_spec(path).lineage.ladder for path in paths.values()})
    steps = {step.spec_path.resolve(): step for name in ladders for step in climb(root, name)}
    known = {record.digest: record.resources.get("registers") for record in records}
    return {name: _card(steps[path.resolve()], root, known) for name, path in paths.items()}


def _card(step: Step, root: Path, registers: dict[str, Any]) -> str:
    changed = ""
    if step.kernel is not None:
        new = step.spec_path.relative_to(root / "specs").with_suffix("")
        old, counts = new.with_name(step.plan.spec.lineage.predecessor or ""), step.kernel
        changed = (
            f"`gemmgen diff {old.as_posix()} {new.as_posix()}`: {counts.changed} lines changed, "
            f"{counts.inserted} insertions(+), {counts.deleted} deletions(-) "
            f"in {', '.join(step.regions)}"
        )
    (region,) = (part for part in split_regions(step.source) if part.name == "barriers")
    lines = tuple(line for line in region.lines[1:] if line)
    published = _figure(step.plan.spec.lineage.published)
    diff = step.kernel.lines if step.kernel is not None else ()
    rung = cards.Rung(changed, diff, lines, published, registers.get(step.digest))
    return cards.card(step.plan, rung)


def _records(root: Path, chosen: Path | None) -> list[TestRecord]:
    path = chosen or root / RECORDS
    return load_records(path) if chosen or path.is_file() else []


def _rung(step: Step, root: Path, folder: Path) -> Rung:
    spec = step.plan.spec
    inside = step.spec_path.relative_to(root / "specs").with_suffix(".py")
    return Rung(
        name=spec.name,
        title=spec.title,
        link=os.path.relpath(root / "generated" / inside, folder),
        changed=step.kernel.changed if step.kernel else None,
        published=_figure(spec.lineage.published),
        digest=step.digest,
    )


def _figure(published: Published | None) -> str:
    if published is None:
        return ""
    if published.time_us is None:
        return f"{published.device}: {published.tflops:g} TFLOP/s"
    tflops = 2 * published.m * published.n * published.k / published.time_us / 1e6
    return f"{published.device}: {published.time_us:g} us, {tflops:.0f} TFLOP/s"
