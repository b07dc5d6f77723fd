"""`gemmgen explain`: what a code means, at length."""

from __future__ import annotations

import textwrap

import click

from gemmgen.report.explain import every_code, explain, layer
from gemmgen.terms import Finding, GemmgenError


@click.command("explain")
@click.argument("codes", nargs=-1, metavar="[CODE...]")
def command(codes: tuple[str, ...]) -> None:
    """Explain the codes of error messages, such as S102. Without one, list them all."""
    if not codes:
        _list()
        return
    unknown = [code for code in codes if explain(code) is None]
    if unknown:
        help_ = "`gemmgen explain` without a code lists them all"
        raise GemmgenError([Finding("T408", f"no such code: {c}", help=help_) for c in unknown])
    for code in codes:
        found = explain(code)
        assert found is not None
        click.echo(f"{found.code}: {found.layer}")
        click.echo(textwrap.fill(found.text, 80, initial_indent="  ", subsequent_indent="  "))


def _list() -> None:
    above = ""
    for code, text in every_code().items():
        if layer(code) != above:
            above = layer(code)
            click.echo(f"{code[0]}: {above}")
        click.echo(f"  {textwrap.shorten(f'{code} {text}', 78, placeholder=' …')}")
