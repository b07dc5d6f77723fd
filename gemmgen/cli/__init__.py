"""The command line: thin shells over documented functions; a command imports what it needs.

Exit codes, of every command: 0, done; 1, something failed, differs or is stale; 2, bad input;
3, a fault of gemmgen's own; 130, interrupted.
"""

from __future__ import annotations

import importlib

import click

from gemmgen.cli.failures import report_failures

# What each says of itself, so that `gemmgen --help` imports none of them; a test compares.
COMMANDS = {
    "ablate": "Print a kernel with one thing removed or doubled: loads only, MMA only, no store, …",
    "bench": "Time generated files against torch.mm (cuBLAS), interleaved,"
    " with an A/A column for noise.",
    "build": "Build shared libraries from generated files.",
    "check": "Check specs, and with --all their ladders.",
    "compile": "Compile generated files: PTX, cubin, resources.",
    "diff": "Show how two kernels differ: first their specs, then their code.",
    "explain": "Explain the codes of error messages, such as S102.",
    "fmt": "Format specs: fixed table and key order, comments kept.",
    "ladder": "Print the table of a ladder as Markdown.",
    "list": "List every spec, each after its predecessor.",
    "profile": "Run each kernel once under ncu, clocks left alone, and print what limits it.",
    "render": "Render specs (paths or names, such as v8) into generated/.",
    "report": "Show records as one static page: what --json of test, bench, profile,"
    " sweep, ablate writes.",
    "schema": "Print the JSON Schema of a spec.",
    "show": "Show the plan behind a spec.",
    "sweep": "Build, verify and time every combination of keys of a spec.",
    "test": "Prove generated files, or edited copies, against torch.",
    "trace": "Run a generated file in the emulator and write what happened when.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, click.Command(name, help=COMMANDS[name]).get_short_help_str(limit))
                    for name in self.list_commands(ctx)
                ]
            )

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
