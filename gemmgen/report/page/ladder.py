"""Figures of benchmarks: ladders, kernels of one shape, and what others published."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gemmgen.bench_records import AGAIN, BASELINE, BenchRecord, Entry, ShapeRecord
from gemmgen.records import Triple
from gemmgen.report.page.charts import Bar, bars
from gemmgen.report.page.documents import Named
from gemmgen.report.page.figure import (
    Figure,
    Quoted,
    is_ladder,
    shape_text,
    short,
    slug,
    stem,
    where,
)
from gemmgen.report.page.roofline import Dot, Roof, roofline
from gemmgen.report.suite import SEEDS

LABELLED = 2  # as many shapes leave room for the names of all kernels in a roofline
NEAR = 1.5  # intensities within about this factor share a label
FEW_SHAPES = 3
# Dense fp16 TFLOP/s and TB/s: NVIDIA H200 datasheet, SXM.
DATASHEET = {"NVIDIA H200": (989.5, 4.8)}


def ladder_figures(benches: Sequence[Named[BenchRecord]]) -> Iterator[Figure]:
    """Time, ratio and roofline of a ladder, its records of one device together."""
    devices: dict[str, list[Named[BenchRecord]]] = {}
    for named in benches:
        if is_ladder(named.record):
            devices.setdefault(named.record.device["name"], []).append(named)
    for own in devices.values():
        runs = _runs(own)
        for shape in _leading([run.shape for run in runs]):
            yield from _shape_figures([run for run in runs if run.shape == shape])
        yield _roofline(most_drawn(runs), runs)


@dataclass(frozen=True)
class Run:
    """One shape of one record, without the kernels that a longer run has, and without A/A."""

    named: Named[BenchRecord]
    found: ShapeRecord
    entries: tuple[Entry, ...]

    @property
    def shape(self) -> Triple:
        return self.found.shape


def _runs(benches: Sequence[Named[BenchRecord]]) -> list[Run]:
    """Runs of every shape, those of least noise first; each kernel once a shape.

    A run in which each contender also ran alone is of NVML's readings, and its times are drawn
    only where no other run has the shape: nothing settled before a sample of it.
    """
    whole = [(named, found) for named in benches for found in named.record.shapes]
    timed = {found.shape for _, found in whole if not found.alone}
    whole = [item for item in whole if not item[1].alone or item[1].shape not in timed]
    whole.sort(key=lambda item: (item[1].noise, -len(item[1].entries)))
    seen: set[tuple[Triple, str]] = set()
    runs = []
    for named, found in whole:
        new = [
            entry
            for entry in found.entries
            if entry.name != AGAIN and (found.shape, entry.name) not in seen
        ]
        seen |= {(found.shape, entry.name) for entry in new}
        if any(entry.name != BASELINE for entry in new):
            runs.append(Run(named, found, tuple(new)))
    return sorted(runs, key=lambda run: run.shape)


def most_drawn(runs: Sequence[Run]) -> Named[BenchRecord]:
    """The record that most of the kernels drawn are from: its ceilings go with their times."""
    drawn: dict[str, int] = {}
    for run in runs:
        drawn[run.named.name] = drawn.get(run.named.name, 0) + len(run.entries)
    most = max(drawn, key=lambda name: drawn[name])
    return next(run.named for run in runs if run.named.name == most)


def ceilings(benches: Sequence[Named[BenchRecord]]) -> Named[BenchRecord] | None:
    """The ladder record whose measured ceilings rooflines draw; None without a ladder."""
    ladders = [named for named in benches if is_ladder(named.record)]
    return most_drawn(_runs(ladders)) if ladders else None


def _leading(shapes: Sequence[Triple]) -> list[Triple]:
    """Each shape once; of many the first in each regime of the seeds: tables have the others."""
    once = list(dict.fromkeys(shapes))
    if len(once) <= FEW_SHAPES:
        return once
    firsts = [next((s for s in regime if s in once), None) for regime in SEEDS.values()]
    return [shape for shape in firsts if shape is not None] or once[:FEW_SHAPES]


def _shape_figures(runs: Sequence[Run]) -> Iterator[Figure]:
    text, shape = shape_text(runs[0].shape), runs[0].shape
    entries = [entry for run in runs for entry in run.entries if entry.name != BASELINE]
    entries.sort(key=lambda entry: _rung(entry.name))
    base = next((e for run in runs for e in run.entries if e.name == BASELINE), None)
    sources = "; ".join(dict.fromkeys(where(run.named) for run in runs))
    several = " Two kernels of different runs compare through cuBLAS." if len(runs) > 1 else ""
    times = [
        Bar(
            _label(entry),
            entry.microseconds,
            f"{entry.microseconds:,.0f} µs",
            _class(entry),
            entry.spread * entry.microseconds,
        )
        for entry in [*entries, *([base] if base else [])]
    ]
    yield Figure(
        slug("ladder-time", *shape),
        "ladder",
        f"Time at {text}",
        "Medians on a logarithmic axis; the thin line is half the interquartile range either way."
        + several,
        sources,
        bars(f"Time of each kernel at {text}", times, unit="microseconds", dots=True, log=True),
    )
    ratios = [
        Bar(_label(entry), entry.ratio, f"{entry.ratio:.2f}", "f0", entry.spread * entry.ratio)
        for entry in entries
    ]
    noise = max(run.found.noise for run in runs)
    yield Figure(
        slug("ladder-ratio", *shape),
        "ladder",
        f"Rate over cuBLAS at {text}",
        f"Each over cuBLAS in its own run. The band is noise, {noise:.1%}: cuBLAS against itself.",
        sources,
        bars(
            f"Rate of each kernel over that of cuBLAS at {text}",
            ratios,
            unit="rate over that of cuBLAS",
            line=1.0,
            noise=noise,
            line_label="cuBLAS",
        ),
    )


def _rung(name: str) -> tuple[bool, str, int, str]:
    """Sort key: rungs from the lowest up, then other kernels."""
    found = re.match(r"([a-z])(\d{1,2})_", name)
    return (False, found[1], int(found[2]), name) if found else (True, "", 0, name)


def _label(entry: Entry) -> str:
    return "cuBLAS" if entry.name == BASELINE else entry.name


def _class(entry: Entry) -> str:
    return "base" if entry.name == BASELINE else "f0"


def _roofline(ceiling: Named[BenchRecord], runs: Sequence[Run]) -> Figure:
    shapes = list(dict.fromkeys(run.shape for run in runs))
    dots: list[Dot] = []
    places: set[int] = set()
    for shape in shapes:
        m, n, k = shape
        intensity = 2 * m * n * k / (2 * (m * k + n * k + m * n))
        entries = [entry for run in runs if run.shape == shape for entry in run.entries]
        best = max(entries, key=lambda entry: entry.tflops)
        place = round(math.log(intensity, NEAR))
        first = place not in places or len(shapes) <= LABELLED
        places.add(place)
        for entry in sorted(entries, key=lambda entry: entry.name != BASELINE):
            label = "cuBLAS" if entry.name == BASELINE else short(entry.name)
            kept = first and (len(shapes) <= LABELLED or entry is best)
            dots.append(Dot(label if kept else "", intensity, entry.tflops, _class(entry)))
    named = ", ".join(shape_text(shape) for shape in shapes)
    return Figure(
        "ladder-roofline",
        "ladder",
        "Roofline",
        f"A point a kernel, at {named}; each shape is a column, its matrices counted once. "
        "Measured ceilings: a copy in device memory, and cuBLAS at 8192³ alone, at the clock that "
        "the power limit leaves it.",
        f"{'; '.join(dict.fromkeys(where(run.named) for run in runs))}; ceilings of {ceiling.name}",
        roofline(
            "Rate over arithmetic intensity",
            dots,
            roofs(ceiling.record),
            "flop a byte of A, B and D",
        ),
    )


def roofs(record: BenchRecord) -> list[Roof]:
    """The datasheet's ceilings, where it is known, and those measured in the run."""
    roofs = [Roof("measured", record.matrix_tflops, record.copy_terabytes, "roof")]
    if peaks := DATASHEET.get(record.device["name"]):
        roofs.insert(0, Roof("datasheet, published", *peaks, "baseline"))
    return roofs


def tuned_figures(benches: Sequence[Named[BenchRecord]]) -> Iterator[Figure]:
    """The best kernel of each shape against cuBLAS, from records of few kernels."""
    few = [named for named in benches if not is_ladder(named.record)]
    found = [(named, shape) for named in few for shape in named.record.shapes]
    rows: list[Bar] = []
    points: list[str] = []
    seen: dict[str, list[str]] = {}
    for named, shape in sorted(found, key=lambda item: item[1].shape):
        own = [entry for entry in shape.entries if entry.name not in (BASELINE, AGAIN)]
        if not own:
            continue
        best = max(own, key=lambda entry: entry.ratio)
        text = shape_text(shape.shape)
        before = seen.setdefault(text, [])
        before.append(best.digest)
        again = "again" if best.digest == before[0] else "another spec"
        label = text if len(before) == 1 else f"{again}, run {len(before)}"
        band = max(shape.noise, best.spread) * best.ratio
        rows.append(Bar(label, best.ratio, f"{best.ratio:.3f}", "f0", band))
        run = f", run {len(before)}" if len(before) > 1 else ""
        run += " of another spec" if again != "again" else ""
        settled = named.record.settle_ms
        how = f", settled {settled:g} ms" if settled else ""
        rate = f"{best.tflops:.0f} TFLOP/s, noise {shape.noise:.1%}{how}"
        points.append(f"{text}{run}: {best.name}, {rate} ({stem(named.name)})")
    if not rows:
        return
    yield Figure(
        "tuned-ratio",
        "ladder",
        "Best kernel a shape, over cuBLAS",
        "The thin line is the noise of each run, either way; where it meets cuBLAS, neither wins. "
        "Another spec: its digest, which counts texts too, is not that of run 1.",
        f"{len(few)} records, named above: {few[0].record.device['name']}, {few[0].record.date}",
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
            slug("published", ladder),
            "published",
            f"Published: ladder {ladder}",
            f"Quoted from the write-up that the ladder follows ({where}); not measured here.",
            f"published figures, quoted in specs/ of the ladder {ladder}",
            bars(f"Published rates of the ladder {ladder}", rows, unit="TFLOP/s, as published"),
        )
