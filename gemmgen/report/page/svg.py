"""A small SVG writer: shapes with classes, so that one style sheet colours all figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources

WIDTH = 440.0  # of every figure: a phone shows it at almost full size


def style(name: str) -> str:
    """A style sheet of this package: ``figure.css`` or ``page.css``."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def number(value: float) -> str:
    """A coordinate with at most one decimal."""
    text = f"{value:.1f}"
    return text.removesuffix(".0")


@dataclass
class Svg:
    """A drawing of `width` x `height` user units, which are pixels at full size.

    Attributes:
        title: what a screen reader says.
    """

    width: float
    height: float
    title: str
    parts: list[str] = field(default_factory=list)

    def add(self, tag: str, classes: str, text: str = "", **attributes: float | str) -> None:
        """One element; an underscore in a name stands for a hyphen."""
        pairs = [f'class="{classes}"'] if classes else []
        for key, value in attributes.items():
            shown = value if isinstance(value, str) else number(value)
            pairs.append(f'{key.replace("_", "-")}="{escape(shown)}"')
        head = f"<{tag} {' '.join(pairs)}"
        self.parts.append(f"{head}>{escape(text)}</{tag}>" if text else f"{head}/>")

    def line(self, classes: str, x1: float, y1: float, x2: float, y2: float) -> None:
        self.add("line", classes, x1=x1, y1=y1, x2=x2, y2=y2)

    def rect(self, classes: str, x: float, y: float, width: float, height: float) -> None:
        self.add("rect", classes, x=x, y=y, width=max(width, 0.0), height=height)

    def circle(self, classes: str, x: float, y: float, r: float) -> None:
        self.add("circle", classes, cx=x, cy=y, r=r)

    def path(
        self, classes: str, points: list[tuple[float, float]], *, closed: bool = False
    ) -> None:
        """A polyline, or a closed area."""
        steps = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.add("polygon" if closed else "polyline", classes, points=steps)

    def text(
        self, classes: str, x: float, y: float, text: str, anchor: str = "start", rotate: float = 0
    ) -> None:
        """Text with its baseline at `y`; `anchor` is ``start``, ``middle`` or ``end``."""
        turn = {"transform": f"rotate({number(rotate)} {number(x)} {number(y)})"} if rotate else {}
        place = {} if anchor == "start" else {"text_anchor": anchor}
        self.add("text", classes, text, x=x, y=y, **place, **turn)

    def inline(self) -> str:
        """For a page that has the style sheet."""
        return self._open() + "".join(self.parts) + "</svg>"

    def alone(self) -> str:
        """A file of its own, with style sheet and background."""
        head = self._open(' xmlns="http://www.w3.org/2000/svg"', sized=True)
        ground = (
            f'<rect class="ground" width="{number(self.width)}" height="{number(self.height)}"/>'
        )
        return f"{head}<style>{style('figure.css')}</style>{ground}{''.join(self.parts)}</svg>\n"

    def framed(self, heading: str, source: Sequence[str]) -> Svg:
        """The same with a heading above and lines of small print below, and a margin around."""
        foot = 14.0 * len(source) + 8
        out = Svg(self.width + 24, self.height + 34 + foot, self.title)
        out.text("strong heading", 12, 23, heading)
        out.parts.append(f'<g transform="translate(12 34)">{"".join(self.parts)}</g>')
        for index, line in enumerate(source):
            out.text("dim fine", 12, self.height + 34 + 14 * (index + 1), line)
        return out

    def _open(self, namespace: str = "", *, sized: bool = False) -> str:
        box = f"0 0 {number(self.width)} {number(self.height)}"
        size = f' width="{number(self.width)}" height="{number(self.height)}"' if sized else ""
        head = f'<svg{namespace} class="figure" viewBox="{box}"{size} role="img">'
        return f"{head}<title>{escape(self.title)}</title>"
