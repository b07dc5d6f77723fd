"""Cutting a generated kernel into its regions, by the plain rules that open them.

A rule is a comment line such as ``# --- producer: TMA loads into the A/B ring ---``. The text
before the first rule is the preamble (header, docstring, imports).
"""

from __future__ import annotations

import re

from gemmgen.frozen import frozen

PREAMBLE = "preamble"
_RULE = re.compile(r"^\s*# --- (?P<region>[a-z]+)\b.* ---$")


@frozen
class RegionText:
    """One region of a generated file.

    Attributes:
        name: region name as in `gemmgen.terms.Region`, or ``preamble``.
        first_line: 1-based line of its rule.
        lines: its text, rule included.
    """

    name: str
    first_line: int
    lines: tuple[str, ...]


def split_regions(source: str) -> list[RegionText]:
    """Cut `source` at its rules, in file order; a name occurs again when a region is split."""
    regions: list[RegionText] = []
    name, first, lines = PREAMBLE, 1, list[str]()
    for number, line in enumerate(source.splitlines(), start=1):
        if match := _RULE.match(line):
            regions.append(RegionText(name, first, tuple(lines)))
            name, first, lines = match["region"], number, []
        lines.append(line)
    regions.append(RegionText(name, first, tuple(lines)))
    return regions


def header_length(source: str) -> int:
    """Number of leading comment lines: spec path, digest and the partial of each slot."""
    count = 0
    for line in source.splitlines():
        if not line.startswith("#"):
            break
        count += 1
    return count
