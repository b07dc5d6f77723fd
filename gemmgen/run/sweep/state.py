"""What a sweep knows, in ``sweep.json``: written whole after every finished piece of work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from gemmgen.files import write_atomic
from gemmgen.terms import Finding, GemmgenError

SCHEMA = 1
FILE = "sweep.json"
SPECS, KERNELS, LIBRARIES = "specs", "generated", "libraries"  # folders beside it
Triple = tuple[int, int, int]

REFUSED, PLANNED, BUILT, VERIFIED = "refused", "planned", "built", "verified"
BROKEN, WRONG, MEASURED = "not built", "wrong", "measured"
SETTLE = 3.0  # slices that a contender runs before each sample: a slow one leaves the chip cool
FAILED = (BROKEN, WRONG)


@dataclass
class Timing:
    """One combination at one shape, from one interleaved run of a batch.

    Attributes:
        batch: which run; contenders of one batch saw the same clocks.
        microseconds: median; `samples` has one a round.
        spread: half the interquartile range, relative.
        ratio: time of cuBLAS in this batch over its own; compare batches by this.
        noise: of the batch: its A/A difference, or cuBLAS' larger spread.
    """

    batch: int
    microseconds: float
    spread: float
    ratio: float
    tflops: float
    noise: float
    samples: tuple[float, ...] = ()


@dataclass
class Point:
    """One combination.

    Attributes:
        values: the swept keys.
        status: ``refused`` (illegal, with `reason`), ``planned``, ``built``, ``verified``,
            ``measured``; ``not built`` and ``wrong`` (with `reason`) are failures.
        code: of the first finding, where there is one.
        digest: of the resolved spec.
        verified: where its results were compared with torch, and on how many cases.
        times: by shape, ``4096x4096x4096``.
    """

    index: int
    name: str
    values: dict[str, Any]
    status: str = PLANNED
    code: str = ""
    reason: str = ""
    digest: str = ""
    build_seconds: float = 0.0
    resources: dict[str, Any] = field(default_factory=dict)
    verified: str = ""
    times: dict[str, Timing] = field(default_factory=dict)


@dataclass
class Final:
    """The few best of one shape, timed again in one run: fresh samples, so not chosen by luck.

    Attributes:
        best, runner_up: names of points, the faster first.
        gain: how much faster the best is than the runner-up, relative.
        noise: of the run and of these two.
        clear: whether `gain` exceeds `noise`.
        times: by name of the point; ``cublas`` is the baseline.
    """

    best: str
    runner_up: str
    gain: float
    noise: float
    clear: bool
    times: dict[str, Timing] = field(default_factory=dict)


@dataclass
class Sweep:
    """A sweep and everything found so far.

    Attributes:
        spec: name of the swept spec; `text` is it whole.
        sets: the ``--set`` texts.
        shapes: (M, N, K) to time.
        verify: ``quick``, ``full`` or ``none``.
        settle_ms: how long a contender ran before each sample, untimed; None before any, and in
            records that do not say.
    """

    spec: str
    arch: str
    text: str
    sets: tuple[str, ...]
    shapes: tuple[Triple, ...]
    rounds: int
    slice_ms: float
    verify: str
    points: list[Point]
    batches: int = 0
    finals: dict[str, Final] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)
    date: str = ""
    settle_ms: float | None = None
    schema: int = SCHEMA

    def same_question(self, other: Sweep) -> bool:
        """Whether `other` asks the same of the same spec."""
        asked = ("text", "sets", "shapes", "rounds", "slice_ms", "verify")
        return all(getattr(self, name) == getattr(other, name) for name in asked)

    def with_status(self, *states: str) -> list[Point]:
        return [point for point in self.points if point.status in states]

    def write(self, folder: Path) -> None:
        """Write ``sweep.json`` in `folder`, whole or not at all."""
        write_atomic(folder / FILE, json.dumps(asdict(self), indent=1) + "\n")


def shape_name(shape: Triple) -> str:
    return "x".join(map(str, shape))


def value_text(value: Any) -> str:
    """A swept value as people wrote it."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)


def point_text(values: Mapping[str, Any]) -> str:
    """``pipeline.ab_stages=4 scheduler.group_m=8``."""
    return " ".join(f"{key}={value_text(value)}" for key, value in values.items())


_SWEEP = TypeAdapter(Sweep)


def read_sweep(folder: Path) -> Sweep:
    """The sweep of `folder`.

    Raises:
        GemmgenError: T440, there is none, or it is not a sweep of this schema.
    """
    path = folder / FILE
    try:
        text = path.read_bytes()
    except OSError as error:
        title, help_ = f"no sweep in {folder}: {error.strerror}", "start one: `gemmgen sweep SPEC`"
        raise _fault(title, path, help_) from None
    try:
        schema = json.loads(text)["schema"]
        if schema == SCHEMA:
            return _SWEEP.validate_json(text)
        title = f"a sweep of schema {schema}, and this gemmgen reads {SCHEMA}"
    except (ValueError, TypeError, KeyError, RecursionError, ValidationError):
        title = "not the state of a sweep"
    raise _fault(title, path, "start again in another folder") from None


def _fault(title: str, path: Path, help_: str) -> GemmgenError:
    return GemmgenError([Finding("T440", title, file=str(path), help=help_)])
