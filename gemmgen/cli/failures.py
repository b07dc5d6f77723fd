"""What every command does with an error: a message and an exit code, never a traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator

import click

from gemmgen.terms import Finding, GemmgenError

OPTIONAL = frozenset({"cuda", "cutlass", "torch", "tvm_ffi"})
BAD_INPUT, OWN_FAULT, INTERRUPTED = 2, 3, 130


@contextlib.contextmanager
def report_failures() -> Iterator[None]:
    """Print errors as findings, and exit with the code that fits.

    ``GEMMGEN_TRACEBACK=1`` lets what gemmgen did not expect through as it is.
    """
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except GemmgenError as error:
        _leave(error, BAD_INPUT)
    except KeyboardInterrupt:
        _end_children()
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        _leave(GemmgenError([_of_system(error)]), BAD_INPUT)
    except Exception as error:
        if os.environ.get("GEMMGEN_TRACEBACK"):
            raise
        package = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and package in OPTIONAL:
            _leave(GemmgenError([_missing(package)]), BAD_INPUT)
        _leave(GemmgenError([_unexpected(error)]), OWN_FAULT)


def _end_children() -> None:
    if "multiprocessing" in sys.modules:
        from gemmgen.run.processes import end_children

        end_children()


def _leave(error: GemmgenError, code: int) -> None:
    click.echo(str(error), err=True)
    count = len(error.findings)
    click.echo(f"\n{count} error{'s' if count != 1 else ''}", err=True)
    sys.exit(code)


def _missing(package: str) -> Finding:
    from gemmgen.run.require import missing

    return missing(package)


def _of_system(error: OSError) -> Finding:
    name = str(error.filename or "")
    return Finding("T405", f"cannot use the file: {error.strerror or error}", file=name)


def _unexpected(error: Exception) -> Finding:
    title = f"gemmgen failed unexpectedly: {type(error).__name__}: {error}"
    help_ = "this is a bug: please report it with what GEMMGEN_TRACEBACK=1 shows"
    return Finding("T499", title, help=help_)
