"""Figures of sweeps and ablations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gemmgen.render.ablations import ABLATIONS
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
    if not all(isinstance(point["values"][keys[0]], int) for point in timed):
        yield _choices(named, timed)
        return
    refused = sum(point.get("status") == "refused" for point in record["points"])
    for shape in dict.fromkeys(shape for point in timed for shape in point["times"]):
        lines: dict[str, list[tuple[str, float, float]]] = {}
        for point in timed:
            if shape in point["times"]:
                time = point["times"][shape]
                rest = _combination(point["values"], without=keys[0])
                band = max(time["noise"], time["spread"]) * time["ratio"]
                place = _value(point["values"][keys[0]])
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


def _choices(named: Named[dict[str, Any]], timed: list[dict[str, Any]]) -> Figure:
    """Combinations that are no numbers, a row each: on and off."""
    record, key = named.record, _telling_key(timed)
    rows = []
    for shape in dict.fromkeys(shape for point in timed for shape in point["times"]):
        text = shape_text([int(size) for size in shape.split("x")])
        for point in timed:
            if time := point["times"].get(shape):
                label = _value(point["values"][key]) if key else _combination(point["values"])
                band = max(time["noise"], time["spread"]) * time["ratio"]
                name = f"{text}: {label}"
                rows.append(Bar(name, time["ratio"], f"{time['ratio']:.2f}", "f0", band))
    what = _last(key) if key else ", ".join(map(_last, timed[0]["values"]))
    bests = [best for shape in record["finals"] for best in _best(record, shape)]
    return Figure(
        slug(stem(named.name), "choices"),
        "sweeps",
        f"{record['spec']}: {what}",
        f"Bars by shape and {what}; the thin line is noise, either way.",
        f"{named.name}: {record['device'].get('name', 'unknown device')}, {record['date']}",
        bars(
            f"Rate over cuBLAS by {what}",
            rows,
            unit="rate over that of cuBLAS",
            line=1.0,
            line_label="cuBLAS",
        ),
        tuple(bests),
    )


def _telling_key(timed: list[dict[str, Any]]) -> str:
    """The key with the shortest values that tells all of `timed` apart; empty without one."""
    telling = []
    for key in timed[0]["values"]:
        texts = {_value(point["values"][key]) for point in timed}
        if len(texts) == len(timed):
            telling.append((max(map(len, texts)), key))
    return min(telling)[1] if telling else ""


def _combination(values: dict[str, Any], without: str = "") -> str:
    """Keys and values; a key is whole where another ends alike: ``tile.n 128, mma.n 128``."""
    ends = [_last(key) for key in values]
    return ", ".join(
        f"{key if ends.count(_last(key)) > 1 else _last(key)} {_value(value)}"
        for key, value in values.items()
        if key != without
    )


def _columns(
    points: list[tuple[str, float, float]],
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]]:
    return tuple(p[0] for p in points), tuple(p[1] for p in points), tuple(p[2] for p in points)


def _value(value: Any) -> str:
    """A value of a key, as short as it is clear."""
    if isinstance(value, list):
        return ", ".join(map(_value, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_value(item)}" for key, item in value.items())
    return "none" if value is None else str(value)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _best(record: dict[str, Any], shape: str) -> tuple[str, ...]:
    final = record["finals"].get(shape)
    if not final:
        return ()
    values = {point["name"]: _combination(point["values"]) for point in record["points"]}
    best, other = values.get(final["best"], "?"), values.get(final["runner_up"], "?")
    place = shape_text([int(size) for size in shape.split("x")])
    noise = f"{final['noise']:.1%}"
    if final["clear"]:
        return (
            f"Best at {place}: {best}, {final['gain']:.1%} faster than {other}; noise {noise}.",
        )
    text = f"No clear best at {place}: {best} and {other} differ by {final['gain']:.1%}"
    return (f"{text}, within the noise of {noise}.",)


def _says(entry: dict[str, Any], noise: float) -> str:
    """What an entry shows, in today's words; those of its record for an unknown ablation."""
    ablation = ABLATIONS.get(entry["name"])
    if ablation is None:
        return str(entry["says"])
    rate = entry.get("loaded_terabytes", 0.0)
    return ablation.sentence(entry["share"], max(noise, entry["spread"]), rate)


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
        says = [f"{entry['name']}: {_says(entry, found['noise'])}." for entry in entries]
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
            tuple(text for text in says if not text.startswith("full")),
        )
