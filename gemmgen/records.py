"""Results as JSON: what runners write and reports read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gemmgen.files import write_atomic

SCHEMA = 1


@dataclass(frozen=True)
class CaseRecord:
    """One shape, one kind of numerics, one timing, on one runner.

    Attributes:
        shape: (M, N, K) in elements.
        numerics: ``exact`` or ``random``.
        status: ``passed``, ``failed`` or ``refused``.
        max_error: largest absolute distance from the reference; None when nothing was computed.
        tolerance_used: largest ratio of distance to its element's bound; 0 for exact inputs.
        seconds: wall time of the run, for people to see progress; never a kernel timing.
        message: what went wrong, or why the shape was refused.
    """

    shape: tuple[int, int, int]
    numerics: str
    status: str
    max_error: float | None = None
    tolerance_used: float | None = None
    seconds: float = 0.0
    timing: str = ""
    seed: int = 0
    instructions: int = 0
    message: str = ""


@dataclass(frozen=True)
class TestRecord:
    """Everything that `gemmgen test` found out about one generated file."""

    file: str
    spec: str
    digest: str
    runner: str
    status: str
    resources: dict[str, Any] = field(default_factory=dict)
    cases: tuple[CaseRecord, ...] = ()
    message: str = ""
    schema: int = SCHEMA


def write_records(path: Path, records: list[TestRecord]) -> None:
    """Write `records` as one JSON document."""
    document = {"schema": SCHEMA, "tests": [asdict(record) for record in records]}
    write_atomic(path, json.dumps(document, indent=2) + "\n")
