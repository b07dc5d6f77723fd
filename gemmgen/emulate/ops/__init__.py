"""Opcode files. Importing this package registers every opcode; :func:`at_exit` registers checks
of a finished CTA.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gemmgen.emulate.machine import Cta

EXIT_CHECKS: list[Callable[[Cta], None]] = []


def at_exit(check: Callable[[Cta], None]) -> Callable[[Cta], None]:
    """Register a function that runs when the last warp of a CTA has exited, before the CTA
    counts as gone.
    """
    EXIT_CHECKS.append(check)
    return check


def load_all() -> None:
    """Import every module of this package, in order of name."""
    for found in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        importlib.import_module(f"{__name__}.{found.name}")
