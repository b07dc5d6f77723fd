"""Loading a generated file: its text, its module, its ``gemm``."""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import linecache
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemmgen.compile.dsl import check_version, refusals
from gemmgen.compile.errors import failure
from gemmgen.terms import Arch

TENSORS = ("a", "b", "d")
IMPORT_SECONDS = 30.0
EXTRAS = ("max_active_clusters", "stream")


@dataclass(frozen=True)
class Source:
    """A file read once: what is compiled is this text, whatever happens to the file meanwhile."""

    path: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class LoadedFile:
    """An imported generated file.

    ``parameters`` are those of ``gemm``: ``a, b, d``, then any of ``EXTRAS``.
    """

    source: Source
    module: types.ModuleType
    parameters: tuple[str, ...]
    arch: Arch

    @property
    def gemm(self) -> Any:
        """The ``@cute.jit`` host function."""
        return self.module.gemm


def read_source(path: Path | str) -> Source:
    """Read a file.

    Raises:
        CompileError: C301.
    """
    try:
        return Source(str(path), Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise failure(
            "C301",
            f"cannot read the file: {reason}",
            file=str(path),
            help="name a generated .py file; `gemmgen render` writes them",
        ) from None


def load(source: Source, arch: Arch | None = None) -> LoadedFile:
    """Import a file from its text, without leaving byte code beside it.

    ``arch`` defaults to the file's own ``ARCH``, else sm_100a.

    Raises:
        CompileError: C302, C303, C304, C311.
    """
    check_version()
    path = source.path
    try:
        code = compile(source.text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise failure(
            "C302",
            f"not Python: {getattr(error, 'msg', error)}",
            file=path,
            line=getattr(error, "lineno", 0) or 0,
            source=(getattr(error, "text", "") or "").strip(),
        ) from None
    # The DSL reads functions through inspect; without a modification time the entry is never
    # refreshed.
    linecache.cache[path] = (len(source.text), None, source.text.splitlines(True), path)
    module = types.ModuleType(f"gemmgen_kernel_{source.digest[:16]}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    try:
        with refusals(path, "C303"), _within(IMPORT_SECONDS):
            exec(code, module.__dict__)
    finally:
        del sys.modules[module.__name__]
    chosen = arch or Arch(getattr(module, "ARCH", Arch.SM100A))
    return LoadedFile(source, module, _parameters(module, path), chosen)


class _Late(BaseException):
    """What ends an import that takes too long; no `except Exception` of the file hides it."""


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """TimeoutError in Python code of this thread that runs longer than `seconds`."""
    thread, done, lock = threading.get_ident(), False, threading.Lock()

    def late() -> None:
        with lock:
            if not done:
                raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raise_in(ctypes.c_ulong(thread), ctypes.py_object(_Late))

    timer = threading.Timer(seconds, late)
    timer.daemon = True
    timer.start()
    try:
        yield
    except _Late:
        words = f"its top level still ran after {seconds:g} s: a loop without an end?"
        raise TimeoutError(words) from None
    finally:
        timer.cancel()
        with lock:
            done = True


def _parameters(module: types.ModuleType, path: str) -> tuple[str, ...]:
    gemm = getattr(module, "gemm", None)
    want = "a generated file has `@cute.jit def gemm(a, b, d, stream)`"
    if gemm is None:
        raise failure("C304", "the file has no `gemm`", file=path, help=want)
    if not hasattr(gemm, "__wrapped__") or not hasattr(gemm, "set_name_prefix"):
        raise failure("C304", "`gemm` is not a @cute.jit function", file=path, help=want)
    names = tuple(inspect.signature(gemm).parameters)
    unknown = [name for name in names[3:] if name not in EXTRAS]
    if names[:3] != TENSORS or unknown:
        shown = ", ".join(names)
        raise failure(
            "C304",
            f"`gemm({shown})` is not a call that gemmgen can make",
            file=path,
            help=f"take `a, b, d`, then any of {', '.join(EXTRAS)}",
        )
    return names
