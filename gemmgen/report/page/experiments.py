"""Figures of sweeps and ablations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gemmgen.report.page.charts import Bar, Line, bars, curves
from gemmgen.report.page.documents import Named
from gemmgen.report.page.figure import Figure, shape_text, slug, stem


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
            slug(stem(named.name), "sweep", shape),
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
            slug(stem(named.name), record["kernel"], *found["shape"]),
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
