"""`gemmgen report`: records to one static page."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gemmgen.cli.common import root_folder
from gemmgen.files import write_atomic
from gemmgen.terms import Finding, GemmgenError

if TYPE_CHECKING:
    from gemmgen.report.page.diffs import Step
    from gemmgen.report.page.figure import Figure, Quoted
    from gemmgen.report.page.page import Still
    from gemmgen.spec.model import Published, Spec

RECORDS, STILLS = Path("docs/records"), Path("docs/img")


@click.command("report")
@click.argument("records", nargs=-1, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the page here.")
@click.option("--figures", type=click.Path(path_type=Path), help="Write each figure there.")
@click.option("--only", multiple=True, help="With --figures: this figure; repeatable.")
@click.option("--png/--no-png", default=True, show_default=True, help="PNG beside each SVG.")
@click.option("--title", default="gemmgen: experiments", show_default=True)
def command(
    records: tuple[Path, ...],
    output: Path | None,
    figures: Path | None,
    only: tuple[str, ...],
    png: bool,
    title: str,
) -> None:
    """Show records as one static page: what --json of test, bench, profile, sweep, ablate writes.

    A folder stands for the records in it; without any, docs/records is shown. The page has no
    script and needs no network. PNG files are made by a Chromium that is installed here.
    """
    from gemmgen.report.page.documents import read_documents
    from gemmgen.report.page.figures import all_figures

    if output is None and figures is None:
        raise click.UsageError("name the page with -o, or a folder for --figures")
    if only and figures is None:
        raise click.UsageError("--only needs --figures")
    root = root_folder()
    documents = read_documents(records or (root / RECORDS,), root)
    specs = _specs(root)
    drawn = all_figures(documents, _quoted(specs))
    if output is not None:
        from gemmgen.report.page.page import Content, page_html

        content = Content(title, documents, drawn, _steps(root, specs), _stills(root))
        text = page_html(content)
        write_atomic(output, text)
        click.echo(f"{output}: {len(drawn)} figures, {len(text.encode()) / 1e6:.2f} MB")
    if figures is not None:
        _write_figures(drawn, figures, only, png=png)


def _write_figures(drawn: list[Figure], folder: Path, only: tuple[str, ...], *, png: bool) -> None:
    from gemmgen.report.page.browser import png_files

    known = {figure.id: figure for figure in drawn}
    unknown = [name for name in only if name not in known]
    if unknown:
        help_ = "one of " + ", ".join(f"`{name}`" for name in known)
        raise GemmgenError([Finding("T471", f"no figure `{n}`", help=help_) for n in unknown])
    kept = [known[name] for name in only] or drawn
    for figure in kept:
        write_atomic(folder / f"{figure.id}.svg", figure.file.alone())
        click.echo(folder / f"{figure.id}.svg")
    if png:
        files = {
            folder / f"{f.id}.png": (f.file.alone(), f.file.width, f.file.height) for f in kept
        }
        for path in png_files(files):
            click.echo(path)


def _specs(root: Path) -> list[tuple[Path, Spec]]:
    """Every spec that can be read, in the order of the ladders."""
    from gemmgen.spec import load_spec
    from gemmgen.spec.find import all_specs

    out = []
    for path in all_specs(root):
        with contextlib.suppress(GemmgenError):
            out.append((path, load_spec(path)))
    return out


def _quoted(specs: list[tuple[Path, Spec]]) -> list[Quoted]:
    from gemmgen.report.page.figure import Quoted, shape_text

    out = []
    for _, spec in specs:
        figure = spec.lineage.published
        if figure is not None:
            shape = shape_text((figure.m, figure.n, figure.k))
            rate = _tflops(figure)
            out.append(Quoted(spec.lineage.ladder, spec.name, figure.device, shape, rate))
    return out


def _tflops(figure: Published) -> float:
    if figure.tflops is not None:
        return figure.tflops
    assert figure.time_us is not None
    return 2 * figure.m * figure.n * figure.k / figure.time_us / 1e6


def _steps(root: Path, specs: list[tuple[Path, Spec]]) -> list[Step]:
    """Each step whose two kernels are in ``generated/``."""
    from gemmgen.render.diff import diff_texts
    from gemmgen.report.page.diffs import Step

    out = []
    for path, spec in specs:
        lineage = spec.lineage
        kernel = root / "generated" / path.relative_to(root / "specs").with_suffix(".py")
        below = kernel.with_name(f"{lineage.predecessor}.py")
        if lineage.predecessor and kernel.is_file() and below.is_file():
            diff = diff_texts(below.read_text("utf-8"), kernel.read_text("utf-8"))
            names = (lineage.ladder, str(lineage.predecessor), spec.name)
            out.append(Step(*names, spec.title, lineage.what, diff))
    return out


def _stills(root: Path) -> list[Still]:
    from gemmgen.report.page.page import Still

    out = []
    for path in sorted(
        (root / STILLS).glob("trace_*.svg"), key=lambda path: (path.stem.count("_"), path.stem)
    ):
        title = path.stem.removeprefix("trace_").replace("_", " ")
        text = path.read_text(encoding="utf-8")
        out.append(Still(title, path.relative_to(root).as_posix(), text))
    return out
