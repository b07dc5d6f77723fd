"""What runs kernels comes with the `run` extra; where it is missing, that is said."""

from __future__ import annotations

import importlib.util

from gemmgen.terms import Finding, GemmgenError


def require_torch() -> None:
    """Look for torch without importing it.

    Raises:
        GemmgenError: T417.
    """
    try:
        found = importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise GemmgenError([missing("torch")])


def missing(package: str) -> Finding:
    """That a package of the `run` extra is not there."""
    from gemmgen.compile.dsl import EXTRA

    return Finding("T417", f"the package {package} is not installed", help=EXTRA)
