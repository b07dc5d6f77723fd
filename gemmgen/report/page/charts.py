"""Charts on the small SVG writer, 440 units wide: a phone shows them at almost full size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemmgen.report.page.scale import Scale, text_width, x_axis, y_axis
from gemmgen.report.page.svg import WIDTH, Svg

ROW = 22.0
COLOURS = 8
REST = 6  # grey
FAR = 1.3
SERIES = "f0"


@dataclass(frozen=True)
class Bar:
    """A bar of a bar chart.

    Attributes:
        label: at its left.
        value: its length.
        text: behind it.
        classes: of its rectangle.
        spread: half the width of its whisker, in units of `value`; 0 for none.
    """

    label: str
    value: float
    text: str
    classes: str = SERIES
    spread: float = 0.0


def bars(
    title: str,
    rows: Sequence[Bar],
    *,
    unit: str,
    line: float | None = None,
    noise: float = 0.0,
    line_label: str = "",
    dots: bool = False,
    log: bool = False,
) -> Svg:
    """Horizontal bars from zero, a row each, with their values in a column at the right.

    Args:
        unit: of the axis, below it.
        line: value of a dashed line with a band of `noise` around it, relative to it.
        dots: dots instead of bars, on an axis that need not begin at zero.
        log: that axis is logarithmic.
    """
    left = 14 + max(text_width(row.label) for row in rows)
    right = 16 + max(text_width(row.text) for row in rows)
    head, foot = (20.0 if line_label else 8.0), 38.0
    bottom = head + ROW * len(rows)
    svg = Svg(WIDTH, bottom + foot, title)
    low, high = _range(rows, line, noise, dots=dots, log=log)
    scale = Scale(low, high, left, WIDTH - right, log=log)
    x_axis(svg, scale, head, bottom, unit)
    if line is not None:
        start, end = scale(line * (1 - noise)), scale(line * (1 + noise))
        svg.rect("noise", start, head, end - start, bottom - head)
        svg.line("baseline", scale(line), head - 2, scale(line), bottom)
        if line_label:
            svg.text("dim small", scale(line), head - 7, line_label, "middle")
    for index, row in enumerate(rows):
        y = head + ROW * index
        svg.text("", left - 8, y + 15, row.label, "end")
        svg.text("strong small", WIDTH - 4, y + 15, row.text, "end")
        if dots:
            svg.line("leader", left, y + ROW / 2, scale(row.value), y + ROW / 2)
        else:
            svg.rect(row.classes, left, y + 4, scale(row.value) - left, ROW - 8)
        if row.spread:
            ends = scale(max(row.value - row.spread, low)), scale(row.value + row.spread)
            svg.line("whisker", ends[0], y + ROW / 2, ends[1], y + ROW / 2)
        if dots:
            svg.circle(f"dot {row.classes}", scale(row.value), y + ROW / 2, 5)
    return svg


def _range(
    rows: Sequence[Bar], line: float | None, noise: float, *, dots: bool, log: bool
) -> tuple[float, float]:
    """Ends of the axis of `bars`."""
    reach = [] if line is None else [line * (1 - noise), line * (1 + noise)]
    lows = [row.value - row.spread for row in rows] + reach
    highs = [row.value + row.spread for row in rows] + reach
    if log:
        return min(lows) / 1.25, max(highs) * 1.12
    if dots:
        pad = 0.1 * (max(highs) - min(lows))
        return min(lows) - pad, max(highs) + pad
    return 0.0, max(highs) * 1.02


@dataclass(frozen=True)
class Line:
    """A curve: values at `xs` (positions along the axis), and half its band at each."""

    label: str
    xs: tuple[str, ...]
    ys: tuple[float, ...]
    bands: tuple[float, ...] = ()


def curves(
    title: str,
    lines: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    line: float | None = None,
    zero: bool = False,
    top: float | None = None,
    height: float = 260.0,
    labelled: bool = False,
) -> Svg:
    """Curves with bands over an axis of names; `zero` starts the other axis there.

    Args:
        labelled: write each value above its point.
    """
    ticks = list(dict.fromkeys(x for curve in lines for x in curve.xs))
    legend = len(lines) > 1
    keys = _legend_rows([curve.label for curve in lines]) if legend else []
    left, head = 46.0, 30.0 + 16.0 * len(keys)
    svg = Svg(WIDTH, height + 16 * len(keys), title)
    bottom, right = svg.height - 40, WIDTH - 14
    lows, highs = _extent(lines, line)
    pad = 0.08 * ((highs - lows) or highs)
    up = Scale(0.0 if zero else lows - pad, top or highs + pad, bottom, head)
    y_axis(svg, up, left, right)
    svg.text("dim small", 4, 16, y_label)
    places = {name: left + (right - left) * (i + 0.5) / len(ticks) for i, name in enumerate(ticks)}
    turned = max(text_width(name, 11) for name in ticks) > (right - left) / len(ticks) + 2
    for name, x in places.items():
        if turned:
            svg.text("dim small", x + 4, bottom + 13, name, "end", -35)
        else:
            svg.text("dim small", x, bottom + 14, name, "middle")
    svg.line("axis", left, bottom, right, bottom)
    svg.text("dim small", (left + right) / 2, svg.height - 6, x_label, "middle")
    if line is not None and up.low <= line <= up.high:
        svg.line("baseline", left, up(line), right, up(line))
    for index, curve in enumerate(lines):
        _curve(svg, curve, places, up, index % COLOURS, labelled=labelled)
    _legend(svg, keys)
    return svg


def _extent(lines: Sequence[Line], line: float | None) -> tuple[float, float]:
    values: list[float] = []
    for curve in lines:
        bands = curve.bands or (0.0,) * len(curve.ys)
        values += [y - b for y, b in zip(curve.ys, bands, strict=True)]
        values += [y + b for y, b in zip(curve.ys, bands, strict=True)]
    if line is not None and min(values) / FAR < line < max(values) * FAR:
        values.append(line)  # a line far away would only flatten the curves
    return min(values), max(values)


def _curve(
    svg: Svg,
    curve: Line,
    places: dict[str, float],
    up: Scale,
    colour: int,
    *,
    labelled: bool,
) -> None:
    points = [(places[x], up(y)) for x, y in zip(curve.xs, curve.ys, strict=True)]
    if any(curve.bands):
        both = list(zip(curve.xs, curve.ys, curve.bands, strict=True))
        above = [(places[x], up(y + band)) for x, y, band in both]
        below = [(places[x], up(y - band)) for x, y, band in reversed(both)]
        svg.path(f"band f{colour}", above + below, closed=True)
    svg.path(f"curve l{colour}", points)
    for (x, y), value in zip(points, curve.ys, strict=True):
        svg.circle(f"dot f{colour}", x, y, 4)
        if labelled:
            svg.text("small halo", x, y - 9, f"{value:.0f}", "middle")


Key = tuple[int, float, str]


def _legend_rows(labels: Sequence[str]) -> list[list[Key]]:
    """Each label with its colour and place, in as few rows as fit."""
    rows: list[list[Key]] = [[]]
    x = 4.0
    for index, label in enumerate(labels):
        wide = text_width(label, 11) + 26
        if rows[-1] and x + wide > WIDTH:
            rows.append([])
            x = 4.0
        rows[-1].append((index % COLOURS, x, label))
        x += wide
    return rows


def _legend(svg: Svg, rows: list[list[Key]]) -> None:
    for index, row in enumerate(rows):
        y = 34.0 + 16 * index
        for colour, x, label in row:
            svg.rect(f"f{colour}", x, y - 9, 10, 10)
            svg.text("small", x + 14, y, label)


def stacks(
    title: str, rows: Sequence[tuple[str, Sequence[float]]], names: Sequence[str], *, unit: str
) -> Svg:
    """Horizontal stacked bars, a row each, with a part for each of `names`."""
    keys = [
        [(_part_colour(colour, len(names)), x, label) for colour, x, label in row]
        for row in _legend_rows(names)
    ]
    left = 12 + max(text_width(label) for label, _ in rows)
    head = 12.0 + 16 * len(keys) + 16
    svg = Svg(WIDTH, head + ROW * len(rows) + 38, title)
    bottom = head + ROW * len(rows)
    high = max(sum(parts) for _, parts in rows)
    scale = Scale(0.0, high, left, WIDTH - 16)
    x_axis(svg, scale, head, bottom, unit)
    for index, (label, parts) in enumerate(rows):
        y, at = head + ROW * index, 0.0
        svg.text("", left - 8, y + 15, label, "end")
        for colour, part in enumerate(parts):
            wide = scale(at + part) - scale(at)
            svg.rect(f"f{_part_colour(colour, len(parts))}", scale(at), y + 4, wide, ROW - 8)
            at += part
    _legend(svg, keys)
    return svg


def _part_colour(index: int, count: int) -> int:
    """The last part of a stack, which is the rest, is grey."""
    return REST if index == count - 1 else index % REST


def pairs(
    title: str, rows: Sequence[tuple[str, float | None, float | None]], names: tuple[str, str]
) -> Svg:
    """Two bars a row, both percentages; None leaves one out."""
    high = 34.0
    keys = _legend_rows(names)
    left, head = 12 + max(text_width(row[0]) for row in rows), 12.0 + 16 * len(keys) + 16
    svg = Svg(WIDTH, head + high * len(rows) + 38, title)
    bottom = head + high * len(rows)
    scale = Scale(0.0, 100.0, left, WIDTH - 50)
    x_axis(svg, scale, head, bottom, "percent")
    for index, (label, *values) in enumerate(rows):
        y = head + high * index
        svg.text("", left - 8, y + 21, label, "end")
        for which, value in enumerate(values):
            if value is not None:
                top = y + 4 + 13 * which
                svg.rect(f"f{which}", left, top, scale(value) - left, 12)
                svg.text("small", scale(value) + 5, top + 10, f"{value:.0f} %")
    _legend(svg, keys)
    return svg
