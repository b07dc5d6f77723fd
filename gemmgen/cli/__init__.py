"""The command line: thin shells over documented functions; a command imports what it needs.

Exit codes, of every command: 0, done; 1, something failed, differs or is stale; 2, bad input;
3, a fault of gemmgen's own; 130, interrupted.
"""

from __future__ import annotations

import importlib

import click

from gemmgen.cli.failures import report_failures

COMMANDS = {
    name: f"gemmgen.cli.{name}"
    for name in (
        "ablate", "bench", "build", "check", "compile", "diff", "explain", "fmt", "ladder", "list",
        "profile", "render", "report", "schema", "show", "sweep", "test", "trace",
    )
}  # fmt: skip


class LazyGroup(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " See `gemmgen --help`."
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        with report_failures():
            return super().invoke(ctx)


@click.group(
    cls=LazyGroup,
    epilog="Exit codes: 0, done; 1, something failed, differs or is stale; 2, bad input; "
    "3, a fault of gemmgen's own; 130, interrupted.",
)
@click.version_option(package_name="gemmgen")
def main() -> None:
    """Generate GEMM kernels from TOML specs, and prove them without a GPU."""
