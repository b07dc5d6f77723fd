"""How to test: options that command line and workers share; imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gemmgen.emulate.settings import Settings

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Options:
    """How to test.

    Attributes:
        runner: ``auto``, ``emulate``, ``gpu``, ``both`` or ``none`` (compile only).
        shapes: (M, N, K) to run; empty for the plan's default shapes.
        settings: timing, seed and SM count of the emulated device, and whether to look for races.
        allow: compile findings to let pass, by name.
        max_failures: stop a file after this many failed cases; 0 never stops.
        libraries: folder of built libraries for the GPU; None compiles the file there.
    """

    runner: str = "auto"
    shapes: tuple[Triple, ...] = ()
    settings: Settings = field(default_factory=lambda: Settings(races=True))
    allow: tuple[str, ...] = ()
    max_failures: int = 1
    libraries: Path | None = None
