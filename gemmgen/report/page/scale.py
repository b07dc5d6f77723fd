"""Values to coordinates, and the axes that show them."""

from __future__ import annotations

import math

from gemmgen.report.page.svg import Svg


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
        steps = (1, 2, 5) if last - first <= 3 else (1,)
        values = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [value for value in values if self.low <= value <= self.high * 1.001]


def tick_text(value: float) -> str:
    """``1,000`` ``0.5`` ``2``."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def text_width(text: str, size: float = 12.0) -> float:
    """About how wide `text` is; fonts differ, so generously."""
    narrow = sum(char in "iljtf.,:;'|! " for char in text)
    return size * (0.62 * (len(text) - narrow) + 0.36 * narrow)


def x_axis(svg: Svg, scale: Scale, head: float, bottom: float, unit: str) -> None:
    for tick in scale.ticks():
        x = scale(tick)
        svg.line("grid", x, head, x, bottom)
        svg.text("dim small", x, bottom + 14, tick_text(tick), "middle")
    svg.line("axis", scale.start, bottom, scale.end, bottom)
    svg.text("dim small", (scale.start + scale.end) / 2, bottom + 30, unit, "middle")


def y_axis(svg: Svg, scale: Scale, left: float, right: float) -> None:
    for tick in scale.ticks(4):
        y = scale(tick)
        svg.line("grid", left, y, right, y)
        svg.text("dim small", left - 6, y + 4, tick_text(tick), "end")
