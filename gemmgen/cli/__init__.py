"""The command line: thin shells over documented functions; heavy layers are imported on use."""

from __future__ import annotations

import importlib
import sys

import click

from gemmgen.terms import GemmgenError

COMMANDS = {
    "bench": "gemmgen.cli.bench",
    "check": "gemmgen.cli.check",
    "compile": "gemmgen.cli.compile",
    "diff": "gemmgen.cli.diff",
    "fmt": "gemmgen.cli.fmt",
    "list": "gemmgen.cli.list",
    "render": "gemmgen.cli.render",
    "schema": "gemmgen.cli.schema",
    "show": "gemmgen.cli.show",
    "test": "gemmgen.cli.test",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except GemmgenError as error:
            click.echo(str(error), err=True)
            count = len(error.findings)
            click.echo(f"\n{count} error{'s' if count != 1 else ''}", err=True)
            sys.exit(2)


@click.group(cls=LazyGroup)
@click.version_option(package_name="gemmgen")
def main() -> None:
    """Generate GEMM kernels from TOML specs, and prove them without a GPU."""
