"""Differences between two versions, told as a reader wants them: no header, no re-indentation, no
blank lines.

A line *changes* when its text without leading space differs; the counts are insertions plus
deletions, as ``git diff --stat`` counts them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from gemmgen.frozen import frozen
from gemmgen.render.regions import header_length, split_regions


@frozen
class DiffLine:
    """One line of a diff.

    Attributes:
        mark: ``" "`` kept, ``"-"`` only in the old text, ``"+"`` only in the new, ``"@"`` a gap.
        text: the line as it stands in its file, or the region's name for a gap.
        old: 1-based line in the old file, 0 when it has none.
        new: 1-based line in the new file, 0 when it has none.
    """

    mark: str
    text: str
    old: int = 0
    new: int = 0

    def __str__(self) -> str:
        """The line after its mark, or the region of a gap, as `gemmgen diff` prints it."""
        return f"@@ {self.text}" if self.mark == "@" else f"{self.mark} {self.text}"


@frozen
class TextDiff:
    """A whole diff with its counts (lines)."""

    lines: tuple[DiffLine, ...]
    inserted: int
    deleted: int

    @property
    def changed(self) -> int:
        """Insertions plus deletions."""
        return self.inserted + self.deleted


@frozen
class _Line:
    number: int
    text: str
    key: str
    region: str


def diff_texts(
    old: str,
    new: str,
    *,
    context: int = 3,
    ignore_indent: bool = True,
    ignore_header: bool = True,
) -> TextDiff:
    """Compare two generated files, or two specs.

    Args:
        context: unchanged lines shown around each change.
        ignore_indent: compare lines without their leading space.
        ignore_header: leave out the leading comment lines.
    """
    old_lines = list(_read(old, ignore_indent, ignore_header))
    new_lines = list(_read(new, ignore_indent, ignore_header))
    matcher = difflib.SequenceMatcher(
        None, [line.key for line in old_lines], [line.key for line in new_lines], autojunk=False
    )
    out: list[DiffLine] = []
    inserted = deleted = 0
    for group in matcher.get_grouped_opcodes(context):
        out.append(DiffLine("@", new_lines[min(group[0][3], len(new_lines) - 1)].region))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                pairs = zip(old_lines[i1:i2], new_lines[j1:j2], strict=True)
                out.extend(DiffLine(" ", n.text, o.number, n.number) for o, n in pairs)
                continue
            out.extend(DiffLine("-", line.text, line.number) for line in old_lines[i1:i2])
            out.extend(DiffLine("+", line.text, 0, line.number) for line in new_lines[j1:j2])
            deleted += i2 - i1
            inserted += j2 - j1
    return TextDiff(tuple(out), inserted, deleted)


def changed_regions(old: str, new: str) -> set[str]:
    """Names of the regions whose lines differ between two generated files, header ignored.

    A region that only one of them has counts as changed. The preamble is left out: the docstring of
    every version differs.
    """
    texts = [_by_region(old), _by_region(new)]
    names = texts[0].keys() | texts[1].keys()
    return {name for name in names if texts[0].get(name) != texts[1].get(name)}


def _by_region(source: str) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for region in split_regions(source)[1:]:
        out.setdefault(region.name, []).extend(
            line.strip() for line in region.lines if line.strip()
        )
    return out


def _read(source: str, ignore_indent: bool, ignore_header: bool) -> Iterator[_Line]:
    skip = header_length(source) if ignore_header else 0
    for region in split_regions(source):
        for number, text in enumerate(region.lines, start=region.first_line):
            if number > skip and text.strip():
                key = text.strip() if ignore_indent else text.rstrip()
                yield _Line(number, text, key, region.name)
