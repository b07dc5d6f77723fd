"""What is drawn from which record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gemmgen.bench_records import AGAIN, BASELINE, BenchRecord, Entry, ShapeRecord
from gemmgen.report.page.charts import Bar, Dot, Line, Roof, bars, curves, pairs, roofline, stacks
from gemmgen.report.page.documents import Documents, Named
from gemmgen.report.page.svg import Svg

LADDER_RUNGS = 5  # as many kernels make a record one of a ladder
LABELLED = 2  # as many shapes leave room for the names of all kernels in a roofline
STALLS = 5
# Dense fp16 TFLOP/s and TB/s: NVIDIA H200 datasheet, SXM.
DATASHEET = {"NVIDIA H200": (989.5, 4.8)}
COUNTERS = (
    ("tensor_percent", "Tensor pipe", "percent of its peak"),
    ("l1tex_percent", "L1/TEX", "percent of its peak"),
    ("dram_percent", "Device memory", "percent of its peak"),
    ("l2_hit_percent", "L2 hits", "percent of sectors"),
)


@dataclass(frozen=True)
class Figure:
    """A drawing and what its caption says.

    Attributes:
        id: for links and file names.
        section: of the page.
        title: heading.
        note: how to read it; plain text.
        source: the record that it is drawn from, or where a published figure is quoted.
        points: findings in words, listed below it.
    """

    id: str
    section: str
    title: str
    note: str
    source: str
    svg: Svg
    points: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quoted:
    """A published figure of a rung."""

    ladder: str
    kernel: str
    device: str
    shape: str
    tflops: float


def all_figures(documents: Documents, quoted: Sequence[Quoted]) -> list[Figure]:
    """Every figure that the records have the data for, in the order of the page."""
    return [
        *(figure for named in documents.benches for figure in bench_figures(named)),
        *tuned_figures(documents.benches),
        *published_figures(quoted),
        *(figure for named in documents.sweeps for figure in sweep_figures(named)),
        *(figure for named in documents.ablations for figure in ablation_figures(named)),
        *(figure for named in documents.profiles for figure in profile_figures(named)),
        *activity_figures(documents),
    ]


def shape_text(shape: Sequence[int]) -> str:
    """``4096³`` or ``256 × 8192 × 28672``."""
    m, n, k = shape
    return f"{m}³" if m == n == k else f"{m} × {n} × {k}"


def _slug(*parts: object) -> str:
    kept = "".join(char if char.isalnum() else "-" for part in parts for char in f"{part}-".lower())
    return "-".join(piece for piece in kept.split("-") if piece)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".json")


def _where(named: Named[BenchRecord]) -> str:
    record = named.record
    return f"{named.name}: {record.device['name']}, {record.date}"


def is_ladder(record: BenchRecord) -> bool:
    """Whether `record` is of a whole ladder."""
    names = {entry.name for shape in record.shapes for entry in shape.entries}
    return len(names - {BASELINE, AGAIN}) >= LADDER_RUNGS


def short(name: str) -> str:
    """``h10`` of ``h10_pingpong``, where a rung is meant; ``tuned`` for a kernel of one shape."""
    if re.fullmatch(r"[a-z]+\d+_\d+x\d+x\d+", name):
        return "tuned"
    rung = re.match(r"[a-z]\d{1,2}(?=_)", name)
    return rung[0] if rung else name


def bench_figures(named: Named[BenchRecord]) -> Iterator[Figure]:
    """Time, ratio and roofline of a ladder."""
    if not is_ladder(named.record):
        return
    for found in named.record.shapes:
        yield from _shape_figures(named, found)
    yield _roofline(named)


def _shape_figures(named: Named[BenchRecord], found: ShapeRecord) -> Iterator[Figure]:
    text, stem = shape_text(found.shape), _stem(named.name)
    entries = [entry for entry in found.entries if entry.name != AGAIN]
    own = [entry for entry in entries if entry.name != BASELINE]
    if not own:
        return
    ordered = [*own, *(entry for entry in entries if entry.name == BASELINE)]
    times = [
        Bar(
            _label(entry),
            entry.microseconds,
            f"{entry.microseconds:,.0f} µs",
            _class(entry),
            entry.spread * entry.microseconds,
        )
        for entry in ordered
    ]
    yield Figure(
        _slug(stem, "time", *found.shape),
        "ladder",
        f"Time at {text}",
        "Medians on a logarithmic axis; the thin line is half the interquartile range either way.",
        _where(named),
        bars(f"Time of each kernel at {text}", times, unit="microseconds", dots=True, log=True),
    )
    ratios = [
        Bar(_label(entry), entry.ratio, f"{entry.ratio:.2f}", "f0", entry.spread * entry.ratio)
        for entry in own
    ]
    yield Figure(
        _slug(stem, "ratio", *found.shape),
        "ladder",
        f"Rate over cuBLAS at {text}",
        f"The band is the noise of this run, {found.noise:.1%}: cuBLAS against itself.",
        _where(named),
        bars(
            f"Rate of each kernel over that of cuBLAS at {text}",
            ratios,
            unit="rate over that of cuBLAS",
            line=1.0,
            noise=found.noise,
            line_label="cuBLAS",
        ),
    )


def _label(entry: Entry) -> str:
    return "cuBLAS" if entry.name == BASELINE else entry.name


def _class(entry: Entry) -> str:
    return "base" if entry.name == BASELINE else "f0"


def _roofline(named: Named[BenchRecord]) -> Figure:
    record = named.record
    dots = []
    for found in record.shapes:
        m, n, k = found.shape
        intensity = 2 * m * n * k / (2 * (m * k + n * k + m * n))
        entries = [entry for entry in found.entries if entry.name != AGAIN]
        best = max(entries, key=lambda entry: entry.tflops)
        for entry in sorted(entries, key=lambda entry: entry.name != BASELINE):
            label = "cuBLAS" if entry.name == BASELINE else short(entry.name)
            kept = len(record.shapes) <= LABELLED or entry is best
            dots.append(Dot(label if kept else "", intensity, entry.tflops, _class(entry)))
    shapes = ", ".join(shape_text(found.shape) for found in record.shapes)
    roofs = [Roof("measured", record.matrix_tflops, record.copy_terabytes, "roof")]
    if peaks := DATASHEET.get(record.device["name"]):
        roofs.insert(0, Roof("datasheet, published", *peaks, "baseline"))
    return Figure(
        _slug(_stem(named.name), "roofline"),
        "ladder",
        "Roofline",
        f"A point a kernel, at {shapes}; each shape is a column, its matrices counted once. "
        "Measured ceilings: a copy in device memory, and cuBLAS at 8192³ alone, at the clock that "
        "the power limit leaves it; beside slower kernels the card cools, and may pass that.",
        _where(named),
        roofline("Rate over arithmetic intensity", dots, roofs),
    )


def tuned_figures(benches: Sequence[Named[BenchRecord]]) -> Iterator[Figure]:
    """The best kernel of each shape against cuBLAS, from records of few kernels."""
    few = [named for named in benches if not is_ladder(named.record)]
    found = [(named, shape) for named in few for shape in named.record.shapes]
    rows, points = [], []
    for named, shape in sorted(found, key=lambda item: item[1].shape):
        own = [entry for entry in shape.entries if entry.name not in (BASELINE, AGAIN)]
        if not own:
            continue
        best = max(own, key=lambda entry: entry.ratio)
        again = " again" if "second" in named.name else ""
        band = max(shape.noise, best.spread) * best.ratio
        label = shape_text(shape.shape) + again
        rows.append(Bar(label, best.ratio, f"{best.ratio:.3f}", "f0", band))
        points.append(f"{label}: {best.name}, {best.tflops:.0f} TFLOP/s ({named.name})")
    if not rows:
        return
    yield Figure(
        "tuned-ratio",
        "ladder",
        "Best kernel a shape, over cuBLAS",
        "The thin line is the noise of each run, either way; where it meets cuBLAS, neither wins.",
        f"{len(few)} records, named below; {few[0].record.device['name']}, {few[0].record.date}",
        bars(
            "Rate of the best kernel over that of cuBLAS, by shape",
            rows,
            unit="rate over that of cuBLAS",
            line=1.0,
            line_label="cuBLAS",
            dots=True,
        ),
        tuple(points),
    )


def published_figures(quoted: Sequence[Quoted]) -> Iterator[Figure]:
    """Figures that others published, marked as such."""
    for ladder in dict.fromkeys(one.ladder for one in quoted):
        own = [one for one in quoted if one.ladder == ladder]
        rows = [Bar(one.kernel, one.tflops, f"{one.tflops:,.0f}", "published") for one in own]
        where = ", ".join(dict.fromkeys(f"{one.device} at {one.shape}" for one in own))
        yield Figure(
            _slug("published", ladder),
            "published",
            f"Published: ladder {ladder}",
            f"Quoted from the write-up that the ladder follows ({where}); not measured here.",
            f"published figures, quoted in specs/ of the ladder {ladder}",
            bars(f"Published rates of the ladder {ladder}", rows, unit="TFLOP/s, as published"),
        )


def sweep_figures(named: Named[dict[str, Any]]) -> Iterator[Figure]:
    """A curve for each combination of the other keys, over the values of the first."""
    record = named.record
    timed = [point for point in record["points"] if point.get("times")]
    if not timed:
        return
    keys = list(timed[0]["values"])
    refused = sum(point.get("status") == "refused" for point in record["points"])
    for shape in dict.fromkeys(shape for point in timed for shape in point["times"]):
        lines: dict[str, list[tuple[str, float, float]]] = {}
        for point in timed:
            if shape in point["times"]:
                time = point["times"][shape]
                rest = ", ".join(f"{_last(key)} {point['values'][key]}" for key in keys[1:])
                band = max(time["noise"], time["spread"]) * time["ratio"]
                place = str(point["values"][keys[0]])
                lines.setdefault(rest, []).append((place, time["ratio"], band))
        text = shape_text([int(size) for size in shape.split("x")])
        yield Figure(
            _slug(_stem(named.name), "sweep", shape),
            "sweeps",
            f"{record['spec']}: {_last(keys[0])} at {text}",
            f"Bands are noise, either way; {len(timed)} combinations timed, {refused} refused as "
            "illegal and never run.",
            f"{named.name}: {record['device'].get('name', 'unknown device')}, {record['date']}",
            curves(
                f"Rate over cuBLAS by {keys[0]} at {text}",
                [Line(label, *_columns(points)) for label, points in lines.items()],
                x_label=keys[0],
                y_label="rate over that of cuBLAS",
                line=1.0,
            ),
            _best(record, shape),
        )


def _columns(
    points: list[tuple[str, float, float]],
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]]:
    return tuple(p[0] for p in points), tuple(p[1] for p in points), tuple(p[2] for p in points)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _best(record: dict[str, Any], shape: str) -> tuple[str, ...]:
    final = record["finals"].get(shape)
    if not final:
        return ()
    values = {
        point["name"]: ", ".join(f"{_last(k)} {v}" for k, v in point["values"].items())
        for point in record["points"]
    }
    best, other = values.get(final["best"], "?"), values.get(final["runner_up"], "?")
    if final["clear"]:
        return (
            f"Best: {best}, {final['gain']:.1%} faster than {other} (noise {final['noise']:.1%}).",
        )
    text = f"No clear best: {best} and {other} differ by {final['gain']:.1%}"
    return (f"{text}, within the noise of {final['noise']:.1%}.",)


def ablation_figures(named: Named[dict[str, Any]]) -> Iterator[Figure]:
    """Time of each variant over the full kernel's."""
    record = named.record
    for found in record["shapes"]:
        text = shape_text(found["shape"])
        entries = sorted(found["entries"], key=lambda entry: entry["share"])
        rows = [
            Bar(
                entry["name"],
                100 * entry["share"],
                f"{entry['share']:.0%}",
                "base" if entry["name"] == "full" else "f2" if entry["is_gemm"] else "f1",
                100 * entry["spread"] * entry["share"],
            )
            for entry in entries
        ]
        says = (f"{entry['name']}: {entry['says']}." for entry in entries if entry["says"])
        yield Figure(
            _slug(_stem(named.name), record["kernel"], *found["shape"]),
            "ablations",
            f"{record['kernel']} at {text}, one thing removed or doubled",
            "Time over that of the full kernel. Orange: not a GEMM any more. Green: still one.",
            f"{named.name}: {record['device']['name']}, {record['date']}",
            bars(
                f"Time of each variant of {record['kernel']} over the full kernel's",
                rows,
                unit="percent of the full kernel's time",
                line=100.0,
                noise=found["noise"],
                line_label="full",
            ),
            tuple(says),
        )


def profile_figures(named: Named[dict[str, Any]]) -> Iterator[Figure]:
    """Counters across rungs, and why warps stall."""
    by_shape: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    for profile in named.record["profiles"]:
        by_shape.setdefault(tuple(profile["shape"]), []).append(profile)
    stem = _stem(named.name)
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
                    _slug(stem, key, *shape),
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
            yield _stalls(stem, shape, profiles, source)


def _stalls(
    stem: str, shape: Sequence[int], profiles: Sequence[dict[str, Any]], source: str
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
        _slug(stem, "stalls", *shape),
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
            for name, state in found.alone.items():
                pipe, source = tensor.get((name, found.shape), (None, ""))
                if name != AGAIN:
                    rows.append(("cuBLAS" if name == BASELINE else name, state.gpu_active, pipe))
                    sources |= {source: None} if source else {}
            if rows:
                yield _activity(bench, found, rows, ", ".join(sources))


def _activity(
    named: Named[BenchRecord],
    found: ShapeRecord,
    rows: Sequence[tuple[str, float | None, float | None]],
    sources: str,
) -> Figure:
    text = shape_text(found.shape)
    return Figure(
        _slug(_stem(named.name), "activity", *found.shape),
        "activity",
        f"Activity is not utilisation, {text}",
        "NVML calls a GPU active while any kernel runs, so every rung is; what a rung wins is in "
        "the tensor pipe.",
        f"{sources}: {named.record.device['name']}, {named.record.date}",
        pairs(
            f"GPU activity and tensor pipe by rung at {text}",
            rows,
            ("GPU active (NVML)", "tensor pipe active (Nsight Compute)"),
        ),
    )
