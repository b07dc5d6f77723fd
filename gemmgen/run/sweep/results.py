"""What a sweep found: who is best, rows for tables, CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from gemmgen.run.noise import compare
from gemmgen.run.sweep.state import (
    MEASURED,
    Final,
    Point,
    Sweep,
    Timing,
    point_text,
    shape_name,
    value_text,
)

BASELINE, AGAIN = "cublas", "cublas_again"
COLUMNS = (
    "status", "reason", "shape", "batch", "microseconds", "spread", "tflops", "x_cublas", "noise",
    "registers", "spill_bytes", "smem_bytes", "verified",
)  # fmt: skip


def timings(record: dict[str, Any], batch: int) -> dict[str, Timing]:
    """Every contender of a ``ShapeRecord`` (plain data), by name."""
    return {
        entry["name"]: Timing(
            batch=batch,
            microseconds=entry["microseconds"],
            spread=entry["spread"],
            ratio=entry["ratio"],
            tflops=entry["tflops"],
            noise=record["noise"],
            samples=tuple(entry["samples"]),
        )
        for entry in record["entries"]
    }


def ranking(state: Sweep, shape: str) -> list[Point]:
    """Points that were timed at `shape`, best first, by ratio to the cuBLAS of their batch."""
    timed = [point for point in state.with_status(MEASURED) if shape in point.times]
    return sorted(timed, key=lambda point: -point.times[shape].ratio)


def judge_final(times: dict[str, Timing]) -> Final | None:
    """Who of a final run is best, and whether that is more than noise; None without two."""
    own = {name: time for name, time in times.items() if name not in (BASELINE, AGAIN)}
    order = sorted(own, key=lambda name: own[name].microseconds)
    if len(order) < 2:
        return None
    first, second = own[order[0]], own[order[1]]
    result = compare(
        first.microseconds, second.microseconds, first.noise, first.spread, second.spread
    )
    return Final(order[0], order[1], result.gain, result.noise, result.verdict == "faster", times)


def verdict_text(state: Sweep, shape: str) -> str:
    """One line: the best of `shape`, or why there is none."""
    by_name = {point.name: point for point in state.points}
    final = state.finals.get(shape)
    if final is None:
        timed = len(ranking(state, shape))
        return f"{shape}: {timed} timed, so no best" if timed < 2 else f"{shape}: no final run yet"
    best, other = (point_text(by_name[name].values) for name in (final.best, final.runner_up))
    if final.clear:
        gain = f"{final.gain:.1%} faster than {other}"
        return f"{shape}: best is {best}, {gain}, noise {final.noise:.1%}"
    return (
        f"{shape}: no clear best: {best} and {other} differ by {final.gain:.1%}, "
        f"within noise {final.noise:.1%}"
    )


def csv_text(state: Sweep) -> str:
    """A line a combination and shape; refused and failed ones too, once each."""
    keys = list(state.points[0].values) if state.points else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", *keys, *COLUMNS])
    for point in state.points:
        for shape in [shape_name(shape) for shape in state.shapes] if point.times else [""]:
            writer.writerow(_row(point, keys, shape))
    return out.getvalue()


def _row(point: Point, keys: list[str], shape: str) -> list[object]:
    uses = point.resources
    spill = uses.get("spill_store_bytes", 0) + uses.get("spill_load_bytes", 0)
    cells: list[object] = [point.name, *(value_text(point.values[key]) for key in keys)]
    cells += [point.status, point.reason, shape]
    time = point.times.get(shape)
    if time is None:
        cells += [""] * 6
    else:
        cells += [time.batch, f"{time.microseconds:.3f}", f"{time.spread:.5f}"]
        cells += [f"{time.tflops:.2f}", f"{time.ratio:.5f}", f"{time.noise:.5f}"]
    if not uses:
        return [*cells, "", "", "", point.verified]
    return [
        *cells,
        uses.get("registers", 0),
        spill,
        uses.get("dynamic_smem_bytes", 0),
        point.verified,
    ]
