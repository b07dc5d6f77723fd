"""Results as JSON: what runners write and reports read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gemmgen.files import write_atomic

SCHEMA = 1

Triple = tuple[int, int, int]


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
        timing, target, seed, sm_count: the schedule, where the emulator ran it.
        message: what went wrong, or why the shape was refused.
    """

    shape: Triple
    numerics: str
    status: str
    max_error: float | None = None
    tolerance_used: float | None = None
    seconds: float = 0.0
    timing: str = ""
    target: str = ""
    seed: int = 0
    sm_count: int = 0
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


@dataclass(frozen=True)
class ShrinkRecord:
    """The smallest failing run that was found from a failing one.

    Attributes:
        case: that run; its failure has the code of the first.
        ctas: CTAs in its grid.
        notes: what the failure needs, in words: rings that wrap, tiles, timings.
        runs: emulated runs that it took.
        complete: False when time ran out first, so that smaller ones may fail too.
    """

    case: CaseRecord
    ctas: int
    command: str
    notes: tuple[str, ...] = ()
    runs: int = 0
    seconds: float = 0.0
    complete: bool = True


@dataclass(frozen=True)
class ExploreRecord:
    """Everything that `gemmgen test --schedules` found out about one generated file.

    Attributes:
        status: ``passed``, ``failed`` or ``refused`` (every shape was).
        schedules: how many were asked for.
        runs: passed runs of each timing policy.
        seconds: of all runs, one after the other; for people to see, never a kernel timing.
        refused: schedules whose shape the kernel refuses.
        failure: the failing schedule with the lowest index, at `index`.
        command: runs that schedule again.
        shrunk: its smallest relative.
        message: why no schedule ran.
    """

    file: str
    spec: str
    digest: str
    status: str
    schedules: int
    seed: int = 0
    runs: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    instructions: int = 0
    seconds: float = 0.0
    index: int = -1
    failure: CaseRecord | None = None
    command: str = ""
    shrunk: ShrinkRecord | None = None
    message: str = ""
    schema: int = SCHEMA


def write_records(
    path: Path, records: Sequence[TestRecord | ExploreRecord], name: str = "tests"
) -> None:
    """Write `records` as one JSON document, in a list called `name`."""
    document = {"schema": SCHEMA, name: [asdict(record) for record in records]}
    write_atomic(path, json.dumps(document, indent=2) + "\n")
