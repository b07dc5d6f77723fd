"""A timeline as a still: one SVG that reads in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from gemmgen.terms import Role
from gemmgen.timeline import Span, Timeline, Track

WIDTH, TOP = 960, 58
LABELS, NARROW_LABELS, NARROW = 168, 132, 800  # narrow pictures squeeze their labels
MARK, LEGEND = 88, 15  # px between marks of the axis at least; height of a line of the legend
ROW, LANE, GAP = 16, 8, 4  # heights of a warp's row and of a lane of loads; space between rows
CHARACTER = 6.1  # width of a character at 10 px
SLOTS = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#e15759", "#76b7b2", "#9c755f")

_STYLE = """
svg { font: 10px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.paper { fill: #ffffff; } .ink { fill: #24292f; } .dim { fill: #57606a; }
.grid { stroke: #d0d7de; stroke-width: 0.5; } .done { stroke: #57606a; stroke-dasharray: 3 2; }
.title { font-size: 13px; font-weight: 600; }
.resident { fill: #eaeef2; stroke: #afb8c1; stroke-width: 0.5; }
.wait { fill: #eaeef2; } .producer { fill: #2f6fd0; } .mma { fill: #d1572b; }
.epilogue { fill: #2a8a4a; } .scheduler { fill: #8250df; } .run { fill: #7d7f86; }
.store { fill: #8a8d3a; }
.white { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117; } .ink { fill: #e6edf3; } .dim { fill: #9198a1; }
.grid { stroke: #30363d; } .done { stroke: #9198a1; } .resident { fill: #21262d; stroke: #484f58; }
.wait { fill: #21262d; } .producer { fill: #5b93ea; } .mma { fill: #e0764e; }
.epilogue { fill: #4cae6c; } .scheduler { fill: #a371f7; }
.run { fill: #9a9ca3; } .white { fill: #0d1117; }
}
"""


def still(timeline: Timeline, *, sm: int = 0, end: float = 0.0, width: int = WIDTH) -> str:
    """The SVG text of one SM's tracks.

    Args:
        end: last step of the axis, so that several stills share one scale; 0: the timeline's own.
        width: px; text keeps its size, so a picture for half a page is best made that narrow.
    """
    return "\n".join(_Still(timeline, sm, end or timeline.end or 1.0, width).lines()) + "\n"


class _Still:
    """Lays out one still."""

    def __init__(self, timeline: Timeline, sm: int, end: float, width: int) -> None:
        self.timeline = timeline
        self.sm = sm
        self.end = end
        self.width = width
        self.labels = LABELS if width >= NARROW else NARROW_LABELS
        self.scale = (width - self.labels - 8) / end
        self.rows: list[
            tuple[int, Track, float, float, bool]
        ] = []  # index, track, y, height, label
        y = float(TOP)
        before = ""
        for index, track in enumerate(timeline.tracks):
            if track.sm != sm:
                continue
            first = track.name != before
            y += GAP if first and before else 0
            height = LANE if track.kind == "tma" else ROW
            self.rows.append((index, track, y, height, first))
            y += height
            before = track.name
        self.bottom = y
        self.legend = list(self._entries())
        self.height = y + 40 + max(line for line, *_ in self.legend) * LEGEND

    def x(self, step: float) -> float:
        return self.labels + min(step, self.end) * self.scale

    def _fit(self, text: str, room: int) -> str:
        """What squeezes a text that would not fit."""
        wide = len(text) * CHARACTER > room
        return f' textLength="{room}" lengthAdjust="spacingAndGlyphs"' if wide else ""

    def lines(self) -> Iterator[str]:
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height:.0f}" '
            f'width="{self.width}" height="{self.height:.0f}" role="img">'
        )
        yield f"<title>{escape(self.timeline.title)}</title><style>{_STYLE}</style>"
        yield f'<rect class="paper" width="{self.width}" height="{self.height:.0f}"/>'
        yield f'<text class="ink title" x="8" y="18">{escape(self.timeline.title)}</text>'
        clock = f"SM {self.sm}; {self.timeline.clock}"
        fit = self._fit(clock, self.width - 16)
        yield f'<text class="dim" x="8" y="32"{fit}>{escape(clock)}</text>'
        yield from self._axis()
        by_track: dict[int, list[Span]] = {}
        for span in self.timeline.spans:
            by_track.setdefault(span.track, []).append(span)
        for index, track, y, height, first in self.rows:
            if first:
                middle = y + min(height, ROW) / 2 + 3
                fit = self._fit(track.name, self.labels - 14)
                yield f'<text class="ink" x="8" y="{middle:.1f}"{fit}>{escape(track.name)}</text>'
            for span in by_track.get(index, ()):
                yield from self._span(span, y, height)
        yield from self._tiles(by_track)
        yield from self._legend()
        yield "</svg>"

    def _axis(self) -> Iterator[str]:
        step = _round_step(self.end * MARK / (self.width - self.labels))
        mark = 0.0
        while mark <= self.end:
            x = self.x(mark)
            yield f'<path class="grid" d="M{x:.1f} {TOP - 6}V{self.bottom:.1f}"/>'
            text = f"{mark:,.0f}"
            yield f'<text class="dim" x="{x:.1f}" y="{TOP - 9}" text-anchor="middle">{text}</text>'
            mark += step

    def _span(self, span: Span, y: float, height: float) -> Iterator[str]:
        if span.state == "commit" or span.start >= self.end:
            return
        x, width = self.x(span.start), max(self.x(span.end) - self.x(span.start), 0.4)
        fill = ""
        kind = span.role or "run" if span.state == "run" else span.state
        if span.slot >= 0:
            fill, kind = f' fill="{SLOTS[span.slot % len(SLOTS)]}"', ""
        inset = height * 0.3 if span.state == "wait" else 0.5
        tip = f"<title>{escape(span.name)}: {span.start:,.0f} to {span.end:,.0f}</title>"
        look = f' class="{kind}"' if kind else fill
        yield (
            f'<rect{look} x="{x:.1f}" y="{y + inset:.1f}" width="{width:.1f}" '
            f'height="{height - 2 * inset:.1f}">{tip}</rect>'
        )
        if span.state in ("wait", "resident", "mma") and len(span.name) * CHARACTER + 6 < width:
            colour = "white" if span.state == "mma" else "dim"
            yield (
                f'<text class="{colour}" x="{x + 3:.1f}" y="{y + height / 2 + 3:.1f}">'
                f"{escape(span.name)}</text>"
            )

    def _tiles(self, by_track: dict[int, list[Span]]) -> Iterator[str]:
        """A line where the tensor core hands a finished tile over."""
        spans = [span for index, *_ in self.rows for span in by_track.get(index, ())]
        ends = sorted(span.end for span in spans if span.done and span.end <= self.end)
        for count, end in enumerate(ends):
            x, y = self.x(end), self.bottom + 13
            anchor = "end" if x + 60 > self.width else "middle"
            yield f'<path class="done" d="M{x:.1f} {TOP - 2}V{self.bottom + 4:.1f}"/>'
            if count and x - self.x(ends[count - 1]) < 90:
                continue  # no room for its name
            yield (
                f'<text class="dim" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
                f"tile {count} summed</text>"
            )

    def _entries(self) -> Iterator[tuple[int, float, str, str]]:
        """Line, x, look and text of each entry of the legend."""
        seen = {span.role for span in self.timeline.spans}
        roles: list[str] = [role.value for role in Role if role.value in seen]
        entries = [(f'class="{role}"', role) for role in roles]
        entries += [('class="run"', "any role"), ('class="wait"', "waits")]
        entries += [
            (f'fill="{SLOTS[slot % len(SLOTS)]}"', f"slot {slot}")
            for slot in range(min(self.timeline.slots, len(SLOTS)))
        ]
        line, x = 0, 8.0
        for fill, text in entries:
            wide = 28 + len(text) * CHARACTER
            if x + wide > self.width:
                line, x = line + 1, 8.0
            yield line, x, fill, text
            x += wide

    def _legend(self) -> Iterator[str]:
        for line, x, fill, text in self.legend:
            y = self.bottom + 25 + line * LEGEND
            yield f'<rect {fill} x="{x:.0f}" y="{y:.1f}" width="10" height="10"/>'
            yield f'<text class="dim" x="{x + 14:.0f}" y="{y + 9:.1f}">{escape(text)}</text>'


def _round_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, at least `rough`."""
    power = 1.0
    while power * 10 < rough:
        power *= 10
    return next(f * power for f in (1, 2, 5, 10) if f * power >= rough)
