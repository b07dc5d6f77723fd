"""CuTe DSL: the one version that gemmgen is made for, and what it says when it refuses a kernel."""

from __future__ import annotations

import importlib.metadata
import linecache
import re
import traceback

from gemmgen.compile.errors import CompileError, failure
from gemmgen.terms import Finding

PACKAGE = "nvidia-cutlass-dsl"
PINNED = "4.8.1"
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
        raise failure("C311", f"CuTe DSL ({PACKAGE}) is not installed", help=_INSTALL)
    if version != PINNED:
        raise failure(
            "C311",
            f"CuTe DSL {version} is installed, and gemmgen is made for {PINNED}",
            help=f"{_INSTALL}; or move the pin and run the tests",
        )


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
    help_text = _ANSI.sub("", " ".join(str(getattr(error, "suggestion", "") or "").split()))
    finding = Finding(
        code=code, title=_title(error, text), file=path, line=line, source=source, help=help_text
    )
    return CompileError([finding])


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
