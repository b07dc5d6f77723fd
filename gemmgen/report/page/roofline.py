"""Rooflines: rates over arithmetic intensity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemmgen.report.page.scale import Scale, tick_text, y_axis
from gemmgen.report.page.svg import WIDTH, Svg


@dataclass(frozen=True)
class Dot:
    """A point of a roofline: `x` flop a byte, `y` TFLOP/s; no label where it is empty."""

    label: str
    x: float
    y: float
    classes: str = "f0"


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


def roofline(title: str, dots: Sequence[Dot], roofs: Sequence[Roof], unit: str) -> Svg:
    """Rates over arithmetic intensity in `unit`, both logarithmic, under their ceilings."""
    left, head, height = 44.0, 58.0, 400.0
    bottom, right = height - 40, WIDTH - 10
    svg = Svg(WIDTH, height, title)
    xs = [dot.x for dot in dots] + [roof.matrix / roof.memory for roof in roofs]
    ys = [dot.y for dot in dots] + [roof.matrix for roof in roofs]
    across = Scale(min(xs) / 2.2, max(xs) * 4.5, left, right, log=True)
    up = Scale(min(ys) / 1.5, max(ys) * 1.12, bottom, head, log=True)
    for tick in across.ticks():
        svg.line("grid", across(tick), head, across(tick), bottom)
        svg.text("dim small", across(tick), bottom + 14, tick_text(tick), "middle")
    y_axis(svg, up, left, right)
    svg.text("dim small", 4, 14, "TFLOP/s")
    svg.text("dim small", (left + right) / 2, bottom + 30, unit, "middle")
    for index, roof in enumerate(roofs):
        start = max(across.low, up.low / roof.memory)
        ridge = roof.matrix / roof.memory
        ends = [(start, start * roof.memory), (ridge, roof.matrix), (across.high, roof.matrix)]
        svg.path(roof.classes, [(across(x), up(y)) for x, y in ends])
        svg.path(roof.classes, [(left + 52, 10.0 + 16 * index), (left + 76, 10.0 + 16 * index)])
        rates = f"{roof.matrix:.0f} TFLOP/s, {roof.memory:.2f} TB/s"
        svg.text("small", left + 82, 14.0 + 16 * index, f"{roof.label}: {rates}")
    _dots(svg, dots, across, up, head, bottom)
    return svg


def _dots(
    svg: Svg, dots: Sequence[Dot], across: Scale, up: Scale, head: float, bottom: float
) -> None:
    """Dots, with labels in a column beside each cluster of them that keep clear of each other."""
    clusters = _clusters(dots, across)
    for index, cluster in enumerate(clusters):
        named = sorted((dot for dot in cluster if dot.label), key=lambda dot: -dot.y)
        places = _spread([up(dot.y) for dot in named], 12.5, head, bottom)
        left, right = across(cluster[0].x), across(cluster[-1].x)
        leftward = right > WIDTH - 70 or (index == 0 and len(clusters) > 1 and left > 120)
        side, anchor = (-1, "end") if leftward else (1, "start")
        edge = (left if leftward else right) + 13 * side
        for dot, place in zip(named, places, strict=True):
            at = (across(dot.x), up(dot.y))
            svg.path("leader", [at, (edge, place), (edge + 4 * side, place)])
            svg.text("small halo", edge + 7 * side, place + 4, dot.label, anchor)
    for dot in dots:
        svg.circle(f"dot {dot.classes}", across(dot.x), up(dot.y), 4.5)


def _clusters(dots: Sequence[Dot], across: Scale) -> list[list[Dot]]:
    """Dots from left to right, cut where there is room for labels between two."""
    clusters: list[list[Dot]] = []
    for dot in sorted(dots, key=lambda dot: dot.x):
        if clusters and across(dot.x) - across(clusters[-1][-1].x) < 50:
            clusters[-1].append(dot)
        else:
            clusters.append([dot])
    return clusters


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
