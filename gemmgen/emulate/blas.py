"""Keeps numpy's BLAS to one thread while an emulation runs.

A matrix instruction is small: threads cost more than they give, and with several processes on the
same cores they wait for each other by spinning (a 128 x 256 x 16 product took 35 ms in place of
0.14 ms; numpy 2.4, 2 cores, load 8).
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "")
_held = 0


@cache
def _functions() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """``get_num_threads`` and ``set_num_threads`` of the OpenBLAS that numpy's wheel carries."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for path in sorted(folder.glob("*openblas*")):
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                getter = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                setter = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if getter is not None and setter is not None:
                    setter.argtypes = [ctypes.c_int]
                    return getter, setter
    return None


def held() -> bool:
    """Whether BLAS is known to run in one thread now."""
    return _held > 0


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run the block with BLAS in one thread, where that can be arranged."""
    global _held
    found = _functions()
    if found is None:
        yield
        return
    getter, setter = found
    before = getter()
    setter(1)
    _held += 1
    try:
        yield
    finally:
        _held -= 1
        setter(before)
