"""`gemmgen ablate`: a kernel with one thing removed or doubled, and what that says of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gemmgen.cli.common import ROUNDS, slice_option, spec_paths
from gemmgen.cli.tables import console, table
from gemmgen.cli.test import Shape
from gemmgen.terms import Finding, GemmgenError

if TYPE_CHECKING:
    from gemmgen.run.ablate import Refused, Variant
    from gemmgen.run.ablate_bench import AblationRecord


@click.command("ablate")
@click.argument("name", metavar="SPEC")
@click.option("--only", multiple=True, help="This ablation; repeatable. Without it, all.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("out/ablate"),
    show_default=True,
    help="Folder for the sources.",
)
@click.option("--check", is_flag=True, help="Run each in the emulator: it must end, faultless.")
@click.option(
    "--build-only", type=click.Path(path_type=Path), help="Build libraries there, and stop."
)
@click.option("--libraries", type=click.Path(path_type=Path), help="Time libraries built there.")
@click.option("--shape", "shapes", multiple=True, type=Shape(), help="Time at this; repeatable.")
@click.option(
    "--rounds", type=ROUNDS, default=9, show_default=True, help="Samples of each variant."
)
@slice_option
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the record here.")
def command(
    name: str,
    only: tuple[str, ...],
    output: Path,
    check: bool,
    build_only: Path | None,
    libraries: Path | None,
    shapes: tuple[tuple[int, int, int], ...],
    rounds: int,
    slice_ms: float,
    json_path: Path | None,
) -> None:
    """Print a kernel with one thing removed or doubled: loads only, MMA only, no store, …

    The sources go to the output folder. With --shape they are timed beside the kernel itself, in
    one interleaved run on the GPU that is here. What is printed is no GEMM, unless it says so.
    """
    from gemmgen.run.ablate import choose_ablations, make_variants, write_variants

    if json_path and not shapes:
        raise click.UsageError("--json needs --shape: there is nothing to record without timing")
    path = spec_paths((name,), False)[0]
    variants, refused = make_variants(path, choose_ablations(only))
    if len(variants) == 1:
        raise GemmgenError([Finding("T461", _why(r), file=str(path)) for r in refused])
    folder = build_only or libraries or output
    paths = write_variants(variants, folder)
    if not shapes:
        _list(variants, refused, folder)
    if check and not _check(variants, paths):
        sys.exit(1)
    if build_only is not None:
        _build(paths, build_only)
    elif shapes:
        record = _bench(variants, folder, shapes, rounds, slice_ms, built=libraries is not None)
        _show(record)
        _list_refused(refused)
        if json_path is not None:
            record.write(json_path)


def _why(refused: Refused) -> str:
    return f"`{refused.name}` does not apply to {refused.kernel}: {refused.why}"


def _list(variants: list[Variant], refused: list[Refused], folder: Path) -> None:
    out = table("variant", "what is different", "result", "what its time shows")
    for variant in variants:
        keys = ", ".join(f"{key} = {value}" for key, value in variant.settings.items())
        what = variant.title + (f" ({keys})" if keys else "")
        out.add_row(variant.name, what, "GEMM" if variant.is_gemm else "not a GEMM", variant.shows)
    console().print(out)
    _list_refused(refused)
    click.echo(f"{len(variants)} sources in {folder}")


def _list_refused(refused: list[Refused]) -> None:
    for one in refused:
        click.echo(f"left out, T461: {_why(one)}")


def _check(variants: list[Variant], paths: list[Path]) -> bool:
    from gemmgen.run.ablate import emulate_variant

    good = True
    for variant, path in zip(variants, paths, strict=True):
        case = emulate_variant(variant, path)
        good &= case.status == "passed"
        what = "equals torch" if variant.is_gemm else "ends without a fault"
        shape = "x".join(map(str, case.shape))
        click.echo(f"{variant.stem} {shape}: {what if case.status == 'passed' else case.message}")
    return good


def _build(paths: list[Path], folder: Path) -> None:
    from gemmgen.compile import build_file

    for path in paths:
        built = build_file(path, folder)
        click.echo(f"built {built.library}")


def _bench(
    variants: list[Variant],
    folder: Path,
    shapes: tuple[tuple[int, int, int], ...],
    rounds: int,
    slice_ms: float,
    *,
    built: bool,
) -> AblationRecord:
    from gemmgen.run.runners import choose_runner

    choose_runner("gpu", variants[0].plan.spec.arch)
    from gemmgen.gpu.timing import Plan
    from gemmgen.run.ablate_bench import bench_variants
    from gemmgen.spec import digest

    plan = Plan(rounds=rounds, slice_ms=slice_ms)
    own = digest(variants[0].plan.spec)
    try:
        return bench_variants(variants, folder, shapes, plan, built=built, digest=own)
    except ValueError as error:
        raise GemmgenError([Finding("T462", f"{variants[0].kernel}: {error}")]) from None


def _show(record: AblationRecord) -> None:
    right = ("us", "of full", "into smem TB/s", "from L2 TB/s")
    for shape in record.shapes:
        sizes = "x".join(map(str, shape.shape))
        click.echo(f"{record.kernel} {sizes}, noise {shape.noise:.1%}, {record.device['name']}")
        out = table("variant", *right, "result", "what it says", right=right)
        for entry in sorted(shape.entries, key=lambda entry: -entry.share):
            rates = [f"{rate:.2f}" for rate in (entry.loaded_terabytes, entry.read_terabytes)]
            out.add_row(
                entry.name,
                f"{entry.microseconds:.1f}",
                f"{entry.share:.1%}",
                *(rates if entry.loaded_bytes else ("", "")),
                "GEMM" if entry.is_gemm else "not a GEMM",
                entry.says,
            )
        console().print(out)
