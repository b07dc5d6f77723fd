"""A figure of the page, and the words that figures share."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from gemmgen.bench_records import BenchRecord
from gemmgen.report.page.documents import Named
from gemmgen.report.page.svg import Svg

LADDER_RUNGS = 3  # as many make a record one of a ladder
TUNED = "tuned"


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

    @property
    def file(self) -> Svg:
        """For a file of its own: with its title and the record that it is from."""
        published = ", published, not measured here" if self.section == "published" else ""
        lines = textwrap.wrap(self.source, 78, break_on_hyphens=False)
        return self.svg.framed(f"{self.title}{published}", lines)


@dataclass(frozen=True)
class Quoted:
    """A published figure of a rung."""

    ladder: str
    kernel: str
    device: str
    shape: str
    tflops: float


def shape_text(shape: Sequence[int]) -> str:
    """``4096³`` or ``256 × 8192 × 28672``."""
    m, n, k = shape
    return f"{m}³" if m == n == k else f"{m} × {n} × {k}"


def slug(*parts: object) -> str:
    kept = "".join(char if char.isalnum() else "-" for part in parts for char in f"{part}-".lower())
    return "-".join(piece for piece in kept.split("-") if piece)


def stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".json")


def where(named: Named[BenchRecord]) -> str:
    record = named.record
    return f"{named.name}: {record.device['name']}, {record.date}"


def is_ladder(record: BenchRecord) -> bool:
    """Whether `record` is of several rungs of a ladder."""
    names = {entry.name for shape in record.shapes for entry in shape.entries}
    return sum(short(name) not in (name, TUNED) for name in names) >= LADDER_RUNGS


def short(name: str) -> str:
    """``h10`` of ``h10_pingpong``, where a rung is meant; ``tuned`` for a kernel of one shape."""
    if re.fullmatch(r"[a-z]+\d+_\d+x\d+x\d+", name):
        return TUNED
    rung = re.match(r"([a-z]\d{1,2})_", name)
    return rung[1] + "n" * name.endswith("_n") if rung else name
