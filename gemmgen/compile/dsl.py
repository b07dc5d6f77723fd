"""CuTe DSL: the one version that gemmgen is made for, and what it says when it refuses a kernel."""

from __future__ import annotations

import contextlib
import importlib.metadata
import linecache
import re
import traceback
from collections.abc import Iterator

from gemmgen.compile.errors import CompileError, failure
from gemmgen.terms import Finding

PACKAGE = "nvidia-cutlass-dsl"
PINNED = "4.8.1"
PACKAGES = frozenset({"cuda", "cutlass", "torch"})  # what the `run` extra brings
EXTRA = "pip install 'gemmgen[run]'"
_INSTALL = f'python -m pip install "{PACKAGE}[cu13]=={PINNED}"'


def installed_version() -> str | None:
    """Version of the installed CuTe DSL, or None; imports nothing of it."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None


def check_version() -> None:
    """Require the pinned CuTe DSL: names and private places move between its versions.

    Raises:
        CompileError: C311.
    """
    version = installed_version()
    if version is None:
        raise failure("C311", f"CuTe DSL ({PACKAGE}) is not installed", help=EXTRA)
    if version != PINNED:
        raise failure(
            "C311",
            f"CuTe DSL {version} is installed, and gemmgen is made for {PINNED}",
            help=f"{_INSTALL}; or move the pin and run the tests",
        )


@contextlib.contextmanager
def refusals(path: str, code: str = "C305") -> Iterator[None]:
    """Around calls into the Python of the file `path`, which may raise anything, SystemExit too.

    Raises:
        CompileError: what was raised within, as `explain` puts it. Only an interrupt passes.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise explain(error, path, code=code) from None


_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_HEADLINE = re.compile(r"^\W*error(?:\[\w+\])?:\s*(?:unknown:\s*)?(?P<text>\S.*)$", re.I | re.M)
_PTXAS = re.compile(r"^\s*ptxas\s+(?:fatal|error)\s*:\s*(?P<text>\S.*)$", re.M)
_MLIR_PLACE = re.compile(r'^".*"\(".*?":\d+:\d+\):\s*')
_LOCATION = re.compile(r"(?P<file>[^\s\"'(]+\.py)\"?:(?P<line>\d+)")


def explain(error: BaseException, path: str, *, code: str = "C305") -> CompileError:
    """Turn what the DSL or the traced Python raised into an error that names a line of ``path``."""
    if isinstance(error, CompileError):
        return error
    text = _ANSI.sub("", str(error))
    line = _line(error, text, path)
    source = linecache.getline(path, line).strip() if line else ""
    suggestion = str(getattr(error, "suggestion", "") or "") or _way_out(error)
    help_text = _ANSI.sub("", " ".join(suggestion.split()))
    finding = Finding(
        code=code, title=_title(error, text), file=path, line=line, source=source, help=help_text
    )
    return CompileError([finding])


def _way_out(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "a kernel file does not end the process that imports or calls it"
    missing = (getattr(error, "name", None) or "").partition(".")[0]
    return EXTRA if isinstance(error, ImportError) and missing in PACKAGES else ""


def _title(error: BaseException, text: str) -> str:
    for pattern in (_PTXAS, _HEADLINE):
        match = pattern.search(text)
        if match:
            return _MLIR_PLACE.sub("", match["text"].strip())
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else "no message"
    kind = type(error).__name__
    return first if kind.startswith(("DSL", "Compiler", "MLIR")) else f"{kind}: {first}"


def _line(error: BaseException, text: str, path: str) -> int:
    """The innermost line of ``path`` that the error passed through, or 0."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == path and frame.lineno
    ]
    if getattr(error, "filename", None) == path and isinstance(error, Exception):
        named = getattr(error, "line", None) or getattr(error, "lineno", None)
        if isinstance(named, int):
            return named
    if lines:
        return lines[-1]
    located = [int(m["line"]) for m in _LOCATION.finditer(text) if m["file"] == path]
    return located[0] if located else 0
