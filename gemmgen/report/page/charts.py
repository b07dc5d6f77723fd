"""Charts on the small SVG writer, 440 units wide: a phone shows them at almost full size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gemmgen.report.page.svg import Svg

WIDTH = 440.0
ROW = 22.0
COLOURS = 7
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
    _x_axis(svg, scale, head, bottom, unit)
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


class Scale:
    """Values to coordinates, linear or logarithmic."""

    def __init__(
        self, low: float, high: float, start: float, end: float, *, log: bool = False
    ) -> None:
        self.low, self.high, self.start, self.end, self.log = low, high, start, end, log

    def __call__(self, value: float) -> float:
        if self.log:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + part * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values inside the scale."""
        if self.log:
            return self._decades()
        raw = (self.high - self.low) / count
        unit = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
        step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, int(self.high / step + 1e-9) + 1)]

    def _decades(self) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1, 2, 5) if last - first <= 2 else (1,)
        values = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [value for value in values if self.low <= value <= self.high * 1.001]


def tick_text(value: float) -> str:
    """``1,000`` ``0.5`` ``2``."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def text_width(text: str, size: float = 12.0) -> float:
    """About how wide `text` is; fonts differ, so generously."""
    narrow = sum(char in "iljtf.,:;'|! " for char in text)
    return size * (0.62 * (len(text) - narrow) + 0.36 * narrow)


def _x_axis(svg: Svg, scale: Scale, head: float, bottom: float, unit: str) -> None:
    for tick in scale.ticks():
        x = scale(tick)
        svg.line("grid", x, head, x, bottom)
        svg.text("dim small", x, bottom + 14, tick_text(tick), "middle")
    svg.line("axis", scale.start, bottom, scale.end, bottom)
    svg.text("dim small", (scale.start + scale.end) / 2, bottom + 30, unit, "middle")


def _y_axis(svg: Svg, scale: Scale, left: float, right: float) -> None:
    for tick in scale.ticks(4):
        y = scale(tick)
        svg.line("grid", left, y, right, y)
        svg.text("dim small", left - 6, y + 4, tick_text(tick), "end")


@dataclass(frozen=True)
class Dot:
    """A point of a roofline: `x` flop a byte, `y` TFLOP/s; no label where it is empty."""

    label: str
    x: float
    y: float
    classes: str = SERIES


@dataclass(frozen=True)
class Roof:
    """Two ceilings: TFLOP/s of the matrix units, TB/s of the memory.

    Attributes:
        label: what they are.
        classes: of their line.
    """

    label: str
    matrix: float
    memory: float
    classes: str


def roofline(title: str, dots: Sequence[Dot], roofs: Sequence[Roof]) -> Svg:
    """Rates over arithmetic intensity, both logarithmic, under their ceilings."""
    left, head, height = 44.0, 58.0, 400.0
    bottom, right = height - 40, WIDTH - 10
    svg = Svg(WIDTH, height, title)
    xs = [dot.x for dot in dots] + [roof.matrix / roof.memory for roof in roofs]
    ys = [dot.y for dot in dots] + [roof.matrix for roof in roofs]
    x_axis = Scale(min(xs) / 2.2, max(xs) * 2.6, left, right, log=True)
    y_axis = Scale(min(ys) / 1.5, max(ys) * 1.12, bottom, head, log=True)
    for tick in x_axis.ticks():
        svg.line("grid", x_axis(tick), head, x_axis(tick), bottom)
        svg.text("dim small", x_axis(tick), bottom + 14, tick_text(tick), "middle")
    _y_axis(svg, y_axis, left, right)
    svg.text("dim small", 4, 14, "TFLOP/s")
    svg.text("dim small", (left + right) / 2, bottom + 30, "flop a byte of A, B and D", "middle")
    for index, roof in enumerate(roofs):
        start = max(x_axis.low, y_axis.low / roof.memory)
        ridge = roof.matrix / roof.memory
        ends = [(start, start * roof.memory), (ridge, roof.matrix), (x_axis.high, roof.matrix)]
        svg.path(roof.classes, [(x_axis(x), y_axis(y)) for x, y in ends])
        svg.path(roof.classes, [(left + 52, 10.0 + 16 * index), (left + 76, 10.0 + 16 * index)])
        rates = f"{roof.matrix:.0f} TFLOP/s, {roof.memory:.2f} TB/s"
        svg.text("small", left + 82, 14.0 + 16 * index, f"{roof.label}: {rates}")
    _dots(svg, dots, x_axis, y_axis, head, bottom)
    return svg


def _dots(
    svg: Svg, dots: Sequence[Dot], x_axis: Scale, y_axis: Scale, head: float, bottom: float
) -> None:
    """Dots with labels that keep clear of each other: left of the first column, else right."""
    columns: dict[float, list[Dot]] = {}
    for dot in dots:
        columns.setdefault(dot.x, []).append(dot)
    for index, x in enumerate(sorted(columns)):
        column = sorted(columns[x], key=lambda dot: -dot.y)
        named = [dot for dot in column if dot.label]
        places = _spread([y_axis(dot.y) for dot in named], 12.5, head, bottom)
        leftward = index == 0 and len(columns) > 1
        side, anchor = (-1, "end") if leftward else (1, "start")
        for dot, place in zip(named, places, strict=True):
            at = (x_axis(x), y_axis(dot.y))
            svg.path("leader", [at, (at[0] + 13 * side, place), (at[0] + 17 * side, place)])
            svg.text("small halo", at[0] + 20 * side, place + 4, dot.label, anchor)
        for dot in column:
            svg.circle(f"dot {dot.classes}", x_axis(x), y_axis(dot.y), 4.5)


def _spread(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """`places`, ascending, moved as little as it takes to be `gap` apart, between two ends."""
    out = list(places)
    for _ in range(200):
        moved = False
        for i in range(len(out) - 1):
            short = gap - (out[i + 1] - out[i])
            if short > 0.01:
                out[i] -= short / 2
                out[i + 1] += short / 2
                moved = True
        out = [min(max(place, low), high) for place in out]
        if not moved:
            break
    return out


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
    y_axis = Scale(0.0 if zero else lows - pad, top or highs + pad, bottom, head)
    _y_axis(svg, y_axis, left, right)
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
    if line is not None and y_axis.low <= line <= y_axis.high:
        svg.line("baseline", left, y_axis(line), right, y_axis(line))
    for index, curve in enumerate(lines):
        _curve(svg, curve, places, y_axis, index % COLOURS, labelled=labelled)
    _legend(svg, keys)
    return svg


def _extent(lines: Sequence[Line], line: float | None) -> tuple[float, float]:
    values = [] if line is None else [line]
    for curve in lines:
        bands = curve.bands or (0.0,) * len(curve.ys)
        values += [y - b for y, b in zip(curve.ys, bands, strict=True)]
        values += [y + b for y, b in zip(curve.ys, bands, strict=True)]
    return min(values), max(values)


def _curve(
    svg: Svg,
    curve: Line,
    places: dict[str, float],
    y_axis: Scale,
    colour: int,
    *,
    labelled: bool,
) -> None:
    points = [(places[x], y_axis(y)) for x, y in zip(curve.xs, curve.ys, strict=True)]
    if any(curve.bands):
        both = list(zip(curve.xs, curve.ys, curve.bands, strict=True))
        above = [(places[x], y_axis(y + band)) for x, y, band in both]
        below = [(places[x], y_axis(y - band)) for x, y, band in reversed(both)]
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
    _x_axis(svg, scale, head, bottom, unit)
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
    return COLOURS - 1 if index == count - 1 else index % (COLOURS - 1)


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
    _x_axis(svg, scale, head, bottom, "percent")
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
