"""What `gemmgen bench` measured, as JSON: written on a GPU, read anywhere."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from gemmgen.files import write_atomic
from gemmgen.records import Triple
from gemmgen.terms import Finding, GemmgenError

SCHEMA = 1
BASELINE, AGAIN = "cublas", "cublas_again"


@dataclass(frozen=True)
class State:
    """What NVML says at one moment, or the medians of many.

    Attributes:
        sm_mhz, memory_mhz: clocks.
        watts: drawn by the board.
        celsius: of the die.
        gpu_active: percent of the last sample period (1/6 s to 1 s) in which any kernel ran:
            activity, not utilisation; None where NVML does not say.
        memory_active: percent of it in which device memory was read or written.

    Source: NVML API reference, nvmlUtilization_t.
    """

    sm_mhz: float
    memory_mhz: float
    watts: float
    celsius: float
    gpu_active: float | None = None
    memory_active: float | None = None


@dataclass(frozen=True)
class Entry:
    """One contender at one shape.

    Attributes:
        name: kernel, ``cublas`` or ``cublas_again`` (the A/A column).
        digest: of its spec; empty for cuBLAS.
        microseconds: median.
        spread: half the interquartile range, relative.
        ratio: time of cuBLAS over its own; above 1 is faster than cuBLAS.
        tflops, terabytes: per second, from 2MNK and from the bytes of A, B and D once.
        of_roofline: its rate over the lower of matrix rate and bandwidth x intensity.
        error: largest absolute distance from torch's result over the largest result.
        verdict: ``faster``, ``slower`` or ``same`` as cuBLAS, with this run's noise.
        samples: microseconds of every round.
    """

    name: str
    digest: str
    microseconds: float
    spread: float
    ratio: float
    tflops: float
    terabytes: float
    of_roofline: float
    error: float
    verdict: str
    graph: bool
    samples: tuple[float, ...]


@dataclass(frozen=True)
class ShapeRecord:
    """All contenders at one shape.

    Attributes:
        noise: the A/A difference or the larger spread, relative.
        before, during, after: clocks, power and temperature around the timed rounds, and the
            medians of readings in them (warm-up included); None without NVML.
        alone: medians of readings while one contender ran alone, by name; empty when not asked
            for, or without NVML.
    """

    shape: Triple
    sets: int
    noise: float
    entries: tuple[Entry, ...]
    before: State | None = None
    during: State | None = None
    after: State | None = None
    alone: dict[str, State] = field(default_factory=dict)


@dataclass(frozen=True)
class BenchRecord:
    """One run of `gemmgen bench`.

    Attributes:
        rungs: name and title of the kernels of a ladder, from the lowest up; for tables by rung.
        settle_ms: how long a contender ran before each sample, untimed; None in records that do
            not say. Beside slow kernels it moves ratios by 10 % (docs/gotchas.md).
    """

    device: dict[str, Any]
    versions: dict[str, str]
    date: str
    copy_terabytes: float
    matrix_tflops: float
    shapes: tuple[ShapeRecord, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
    rungs: tuple[tuple[str, str], ...] = ()
    settle_ms: float | None = None
    schema: int = SCHEMA

    def write(self, path: Path) -> None:
        """Write as JSON, whole or not at all."""
        write_atomic(path, json.dumps(asdict(self), indent=1) + "\n")


_RECORD = TypeAdapter(BenchRecord)


def read_bench(path: Path) -> BenchRecord:
    """What `gemmgen bench --json` wrote to `path`.

    Raises:
        GemmgenError: T444, it is not there, or is no such record.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise _fault(f"cannot read the record: {error.strerror}", path) from None
    try:
        schema = json.loads(text)["schema"]
        if schema == SCHEMA:
            return _RECORD.validate_json(text)
        title = f"a record of schema {schema}, and this gemmgen reads {SCHEMA}"
    except (ValueError, TypeError, KeyError, RecursionError, ValidationError):
        title = "not a record of `gemmgen bench`"
    raise _fault(title, path)


def _fault(title: str, path: Path) -> GemmgenError:
    help_ = "write one on a GPU: `gemmgen bench PATHS --shape M,N,K --json FILE`"
    return GemmgenError([Finding("T444", title, file=str(path), help=help_)])
