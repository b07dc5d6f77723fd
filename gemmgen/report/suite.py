"""Tables over a ladder and several regimes, from a record of `gemmgen bench`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gemmgen.bench_records import BASELINE, BenchRecord, Entry, ShapeRecord
from gemmgen.records import Triple

SEEDS: Mapping[str, tuple[Triple, ...]] = {
    "4096^3": ((4096, 4096, 4096),),
    "8192^3": ((8192, 8192, 8192),),
    "prefill": ((8192, 28672, 8192),),
    "decode M=256": (
        (256, 8192, 8192),
        (256, 10240, 8192),
        (256, 28672, 8192),
        (256, 8192, 28672),
    ),
    "small decode": ((16, 8192, 8192), (64, 8192, 8192)),
}
SUITES = {"seeds": SEEDS}
Rows = list[tuple[str, ...]]


@dataclass(frozen=True)
class Gain:
    """What a rung is worth in one regime.

    Attributes:
        factor: geometric mean over the regime's shapes of the time of the rung below over its own.
        noise: the largest of these shapes, relative.
    """

    factor: float
    noise: float

    @property
    def tells(self) -> bool:
        """Whether it is more than noise."""
        return abs(math.log(self.factor)) > math.log1p(self.noise)

    def __str__(self) -> str:
        return f"{self.factor:.2f}" if self.tells else f"{self.factor:.2f} ="


def suite_shapes(name: str) -> list[Triple]:
    """Every shape of a suite, once."""
    return list(dict.fromkeys(shape for shapes in SUITES[name].values() for shape in shapes))


def gains(record: BenchRecord, name: str) -> Rows:
    """When each change helps: a heading, then a row a rung.

    A cell is the gain over the rung below, ``=`` behind what is within noise; ``-`` where one of
    the two takes no such shape.
    """
    regimes = SUITES[name]
    rows: Rows = [("rung", "change", *regimes)]
    for (below, _), (rung, title) in zip(record.rungs, record.rungs[1:], strict=False):
        cells = [_cell(gain_of(record, below, rung, shapes)) for shapes in regimes.values()]
        rows.append((rung, title, *cells))
    return rows


def gain_of(record: BenchRecord, below: str, rung: str, shapes: Sequence[Triple]) -> Gain | None:
    """Gain of `rung` over `below` at those of `shapes` that both take; None without one."""
    logs, noises = [], []
    for found in record.shapes:
        entries = _by_name(found)
        if found.shape in shapes and below in entries and rung in entries:
            first, second = entries[below], entries[rung]
            logs.append(math.log(first.microseconds / second.microseconds))
            noises += [found.noise, first.spread, second.spread]
    return Gain(math.exp(sum(logs) / len(logs)), max(noises)) if logs else None


def _cell(gain: Gain | None) -> str:
    return "-" if gain is None else str(gain)


def against_cublas(record: BenchRecord) -> Rows:
    """A heading, then a row a shape: cuBLAS, the best kernel, and the last rung."""
    heading = ("shape", "cuBLAS us", "TFLOP/s", "best", "us", "x cuBLAS", "noise", "verdict")
    last = record.rungs[-1][0] if record.rungs else ""
    rows: Rows = [(*heading, f"{last} x cuBLAS") if last else heading]
    for found in record.shapes:
        entries = _by_name(found)
        base = entries.pop(BASELINE, None)
        if base is None or not entries:
            continue
        best = min(entries.values(), key=lambda entry: entry.microseconds)
        row = (
            "x".join(map(str, found.shape)),
            f"{base.microseconds:.1f}",
            f"{base.tflops:.0f}",
            best.name,
            f"{best.microseconds:.1f}",
            f"{best.ratio:.3f}",
            f"{found.noise:.1%}",
            best.verdict,
        )
        own = entries.get(last)
        rows.append((*row, f"{own.ratio:.3f}" if own else "-") if last else row)
    return rows


def activity(record: BenchRecord) -> Rows:
    """NVML's activity of each contender alone, in percent of time, beside its rate: not the same.

    A heading, then a row a shape and contender; the heading alone without readings.
    """
    rows: Rows = [("shape", "kernel", "TFLOP/s", "GPU active %", "memory active %", "W", "SM MHz")]
    for found in record.shapes:
        entries = _by_name(found)
        for name, state in found.alone.items():
            shares = (state.gpu_active, state.memory_active)
            rows.append(
                (
                    "x".join(map(str, found.shape)),
                    name,
                    f"{entries[name].tflops:.0f}",
                    *("-" if share is None else f"{share:.0f}" for share in shares),
                    f"{state.watts:.0f}",
                    f"{state.sm_mhz:.0f}",
                )
            )
    return rows


def markdown(rows: Rows) -> str:
    """`rows` as a Markdown table, the first as its heading."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]) + "\n"


def _by_name(found: ShapeRecord) -> dict[str, Entry]:
    return {entry.name: entry for entry in found.entries if entry.name != "cublas_again"}
