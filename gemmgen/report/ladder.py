"""The table of a ladder, and keeping it current inside a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gemmgen.records import TestRecord
from gemmgen.terms import Finding, GemmgenError

_MARK = re.compile(r"(<!-- ladder (?P<name>[a-z0-9_]+) -->\n).*?(<!-- end ladder -->)", re.DOTALL)
_WHERE = {
    "emulate": "emulator",
    "gpu": "GPU",
    "both": "emulator and GPU",
}


@dataclass(frozen=True)
class Rung:
    """A line of the table.

    Attributes:
        name: name of the spec.
        title: what the rung brings.
        link: path of its kernel from the document.
        changed: lines of the kernel that differ from the predecessor's; None for the first rung.
        published: the write-up's figure, or empty.
        digest: of the resolved spec; a record of another digest says nothing about this rung.
    """

    name: str
    title: str
    link: str
    changed: int | None
    published: str
    digest: str


def markdown(rungs: Sequence[Rung], records: Sequence[TestRecord]) -> str:
    """The ladder as a Markdown table, with what the newest fitting record of each rung says."""
    by_digest = {record.digest: record for record in records}
    head = (
        "kernel",
        "what it brings",
        "lines changed",
        "registers, shared memory, TMEM",
        "published, not measured here",
        "verified",
    )
    lines = [_line(head), _line(["---", "---", "---:", "---", "---", "---"])]
    for rung in rungs:
        record = by_digest.get(rung.digest)
        lines.append(
            _line(
                (
                    f"[`{rung.name}`]({rung.link})",
                    rung.title,
                    "" if rung.changed is None else str(rung.changed),
                    resources(record) if record else "",
                    rung.published,
                    verified(record) if record else "no",
                )
            )
        )
    return "\n".join(lines) + "\n"


def resources(record: TestRecord) -> str:
    """Registers a thread, shared memory in KiB, columns of tensor memory."""
    r = record.resources
    if not r:
        return ""
    smem = (r["dynamic_smem_bytes"] + r["static_smem_bytes"]) / 1024
    columns = f", {r['tmem_columns']} columns" if r["tmem_columns"] else ""
    return f"{r['registers']}, {smem:.1f} KiB{columns}"


def verified(record: TestRecord) -> str:
    """Where the kernel was equal to torch, and in how many cases."""
    passed = sum(case.status == "passed" for case in record.cases)
    if record.status != "passed" or passed != len(record.cases):
        return record.status
    return f"{_WHERE[record.runner]}, {passed} cases"


def tables_in(text: str, file: str) -> list[str]:
    """Ladders whose tables `text` has a place for: between ``<!-- ladder NAME -->`` and its end.

    Raises:
        GemmgenError: T407, there is none.
    """
    names = [match["name"] for match in _MARK.finditer(text)]
    if not names:
        help_ = "add `<!-- ladder NAME -->` and `<!-- end ladder -->`, each on its own line"
        raise GemmgenError([Finding("T407", "no place for a table", file=file, help=help_)])
    return names


def replace_tables(text: str, tables: dict[str, str]) -> str:
    """`text` with the table of each ladder that it has a place for."""
    return _MARK.sub(lambda match: f"{match[1]}{tables[match['name']]}{match[3]}", text)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
