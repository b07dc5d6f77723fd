"""Figures of the profiler's counters, and of NVML's activity beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gemmgen.bench_records import AGAIN, BASELINE, BenchRecord, ShapeRecord
from gemmgen.report.page.charts import Line, curves, pairs, stacks
from gemmgen.report.page.documents import Documents, Named
from gemmgen.report.page.figure import (
    LADDER_RUNGS,
    Figure,
    shape_text,
    short,
    slug,
    stem,
)
from gemmgen.report.page.ladder import ceilings, roofs
from gemmgen.report.page.roofline import Dot, roofline

STALLS = 5
COUNTERS = (
    ("tensor_percent", "Tensor pipe", "percent of its peak"),
    ("l1tex_percent", "L1/TEX", "percent of its peak"),
    ("dram_percent", "Device memory", "percent of its peak"),
    ("l2_hit_percent", "L2 hits", "percent of sectors"),
)


def profile_figures(named: Named[dict[str, Any]]) -> Iterator[Figure]:
    """Counters across rungs, and why warps stall."""
    by_shape: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    for profile in named.record["profiles"]:
        by_shape.setdefault(tuple(profile["shape"]), []).append(profile)
    name = stem(named.name)
    for shape, profiles in by_shape.items():
        text = shape_text(shape)
        source = f"{named.name}: one launch a kernel under Nsight Compute, at {text}"
        for key, title, unit in COUNTERS:
            kept = [profile for profile in profiles if key in profile["figures"]]
            if len(kept) > 1:
                line = Line(
                    title,
                    tuple(short(profile["kernel"]) for profile in kept),
                    tuple(profile["figures"][key] for profile in kept),
                )
                yield Figure(
                    slug(name, key, *shape),
                    "profile",
                    f"{title} by rung",
                    f"In {unit}, at {text}.",
                    source,
                    curves(
                        f"{title} by rung",
                        [line],
                        x_label="rung",
                        y_label=unit,
                        zero=True,
                        top=112.0,
                        height=230.0,
                        labelled=True,
                    ),
                )
        if len(profiles) > 1:
            yield _stalls(name, shape, profiles, source)


def _stalls(
    name: str, shape: Sequence[int], profiles: Sequence[dict[str, Any]], source: str
) -> Figure:
    totals: dict[str, float] = {}
    for profile in profiles:
        whole = sum(value for _, value in profile["stalls"]) or 1.0
        for reason, value in profile["stalls"]:
            totals[reason] = totals.get(reason, 0.0) + value / whole
    top = sorted(totals, key=lambda reason: -totals[reason])[:STALLS]
    rows = []
    for profile in profiles:
        values = dict(profile["stalls"])
        whole = sum(values.values()) or 1.0
        parts = [100 * values.get(reason, 0.0) / whole for reason in top]
        rows.append((short(profile["kernel"]), [*parts, max(0.0, 100 - sum(parts))]))
    return Figure(
        slug(name, "stalls", *shape),
        "profile",
        "Why warps wait, by rung",
        "Shares of the stalled warps, over all warps: a producer that waits for room is counted "
        "like a consumer that waits for data.",
        source,
        stacks(
            "Shares of stall reasons by rung",
            rows,
            [*top, "other"],
            unit="percent of stalled warps",
        ),
    )


def prediction_figures(documents: Documents) -> Iterator[Figure]:
    """Cycles that the model gave from the plan alone beside those that were counted."""
    counted, source = _profiled(documents, "cycles")
    for named in documents.predictions:
        by_shape: dict[tuple[int, ...], list[tuple[str, float, float]]] = {}
        for one in named.record["predictions"]:
            key = (one["kernel"], tuple(one["shape"]))
            if key in counted:
                row = (short(one["kernel"]), one["cycles"] / 1e3, counted[key] / 1e3)
                by_shape.setdefault(key[1], []).append(row)
        for shape, rows in by_shape.items():
            if len(rows) < LADDER_RUNGS:
                continue
            xs, guessed, seen = zip(*rows, strict=True)
            yield Figure(
                slug(stem(named.name), "cycles", *shape),
                "profile",
                f"Cycles, predicted and counted, at {shape_text(shape)}",
                "Predicted from the plan alone, by a model fitted to none of these kernels.",
                f"{named.name}, {source}",
                curves(
                    "Predicted and counted cycles by rung",
                    [Line("predicted", xs, guessed), Line("counted", xs, seen)],
                    x_label="rung",
                    y_label="thousand cycles",
                    zero=True,
                ),
            )


def _profiled(
    documents: Documents, figure: str
) -> tuple[dict[tuple[str, tuple[int, ...]], float], str]:
    """A figure of the profiler by kernel and shape, and the records that it is from."""
    found, names = {}, []
    for named in documents.profiles:
        for profile in named.record["profiles"]:
            if figure in profile["figures"]:
                found[profile["kernel"], tuple(profile["shape"])] = profile["figures"][figure]
                names.append(named.name)
    return found, ", ".join(dict.fromkeys(names))


def traffic_figures(documents: Documents) -> Iterator[Figure]:
    """A roofline over the bytes that device memory really moved: a place of its own a kernel."""
    moved, source = _profiled(documents, "dram_bytes")
    ceiling = ceilings(documents.benches)
    if ceiling is None:
        return
    times, _ = _profiled(documents, "microseconds")
    for shape in dict.fromkeys(shape for _, shape in moved):
        work = 2.0 * shape[0] * shape[1] * shape[2]
        dots = [
            Dot(short(kernel), work / moved[kernel, size], work / times[kernel, size] / 1e6)
            for kernel, size in moved
            if size == shape and (kernel, size) in times
        ]
        if len(dots) >= LADDER_RUNGS:
            yield Figure(
                slug("traffic-roofline", *shape),
                "profile",
                f"Roofline by measured traffic, {shape_text(shape)}",
                "Flop a byte that device memory really moved, in one launch under the profiler: "
                "what L2 keeps moves a kernel to the right.",
                f"{source}; ceilings of {ceiling.name}",
                roofline(
                    "Rate over measured intensity",
                    dots,
                    roofs(ceiling.record),
                    "flop a byte that device memory moved",
                ),
            )


def activity_figures(documents: Documents) -> Iterator[Figure]:
    """NVML's activity of each kernel alone beside the tensor pipe's figure under the profiler."""
    tensor: dict[tuple[str, tuple[int, ...]], tuple[float, str]] = {}
    for named in documents.profiles:
        for profile in named.record["profiles"]:
            if "tensor_percent" in profile["figures"]:
                key = (profile["kernel"], tuple(profile["shape"]))
                tensor[key] = (profile["figures"]["tensor_percent"], named.name)
    for bench in documents.benches:
        for found in bench.record.shapes:
            rows, sources = [], {bench.name: None}
            shape = _profiled_shape(tensor, found)
            for name, state in found.alone.items():
                pipe, source = tensor.get((name, shape), (None, ""))
                if name != AGAIN:
                    rows.append(("cuBLAS" if name == BASELINE else name, state.gpu_active, pipe))
                    sources |= {source: None} if source else {}
            if rows:
                yield _activity(bench, found, shape, rows, ", ".join(sources))


def _profiled_shape(
    tensor: Mapping[tuple[str, tuple[int, ...]], object], found: ShapeRecord
) -> tuple[int, ...]:
    """Its own shape, where the profiler saw that; else the shape that it saw most of them at."""
    shapes = Counter(shape for kernel, shape in tensor if kernel in found.alone)
    if not shapes or found.shape in shapes:
        return found.shape
    return shapes.most_common(1)[0][0]


def _activity(
    named: Named[BenchRecord],
    found: ShapeRecord,
    profiled: tuple[int, ...],
    rows: Sequence[tuple[str, float | None, float | None]],
    sources: str,
) -> Figure:
    text = shape_text(found.shape)
    where = "" if profiled == found.shape else f" at {shape_text(profiled)}"
    return Figure(
        slug(stem(named.name), "activity", *found.shape),
        "activity",
        f"Activity is not utilisation, {text}",
        "NVML calls a GPU active while any kernel runs, so every rung is; what a rung wins is in "
        "the tensor pipe.",
        f"{sources}: {named.record.device['name']}, {named.record.date}",
        pairs(
            f"GPU activity and tensor pipe by rung at {text}",
            rows,
            ("GPU active (NVML)", f"tensor pipe active{where} (Nsight Compute)"),
        ),
    )
