"""Tables of the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from gemmgen.bench_records import BenchRecord
from gemmgen.records import TestRecord
from gemmgen.report.ladder import verified
from gemmgen.report.page.documents import Named
from gemmgen.report.suite import SEEDS, activity, against_cublas, gain_of, gains

RESOURCES = (
    "kernel", "registers", "spill bytes", "shared memory KiB", "TMEM columns", "threads",
    "named barriers", "equal to torch",
)  # fmt: skip


def table_html(rows: Sequence[Sequence[str]], classes: Sequence[Sequence[str]] = ()) -> str:
    """`rows` as a table, the first as its heading; numbers are flush right.

    Args:
        classes: of the cells, in the shape of `rows`.
    """
    out = []
    for index, row in enumerate(rows):
        tag = "td" if index else "th"
        cells = []
        for column, cell in enumerate(row):
            names = ["n"] if column and _is_number(rows, column) else []
            names += [classes[index][column]] if classes and classes[index][column] else []
            mark = f' class="{" ".join(names)}"' if names else ""
            cells.append(f"<{tag}{mark}>{escape(cell)}")
        out.append(f"<tr>{''.join(cells)}")
    return f'<div class="scroll"><table class="data">{"".join(out)}</table></div>'


def _is_number(rows: Sequence[Sequence[str]], column: int) -> bool:
    cells = [row[column] for row in rows[1:] if column < len(row)]
    shown = [cell.rstrip("% =").replace(",", "") for cell in cells if cell not in ("", "-")]
    return bool(shown) and all(cell.replace(".", "", 1).lstrip("-").isdigit() for cell in shown)


def regimes_html(named: Named[BenchRecord]) -> str:
    """When each rung helps, where the record is of the seeds' shapes; else nothing."""
    record = named.record
    rows = gains(record, "seeds") if record.rungs else []
    wide = [row for row in rows[1:] if any(cell != "-" for cell in row[2:])]
    regimes = {shape for shapes in SEEDS.values() for shape in shapes}
    if not wide or len({found.shape for found in record.shapes} & regimes) < 3:
        return ""
    classes = [[""] * len(rows[0])]
    for below, row in zip([record.rungs[0], *record.rungs[1:]], rows[1:], strict=False):
        marks = [_mark(record, below[0], row[0], shapes) for shapes in SEEDS.values()]
        classes.append(["", "", *marks])
    source = f"{named.name}: {record.device['name']}, {record.date}"
    return (
        f"{table_html(rows, classes)}<p class='record'>times faster than the rung below; = is "
        f"within noise. {escape(source)}</p><h4>Against cuBLAS</h4>"
        f"{table_html(against_cublas(record))}<p class='record'>{escape(source)}</p>"
    )


def _mark(
    record: BenchRecord, below: str, rung: str, shapes: Sequence[tuple[int, int, int]]
) -> str:
    gain = gain_of(record, below, rung, shapes)
    if gain is None:
        return ""
    return "same" if not gain.tells else "up" if gain.factor > 1 else "down"


def activity_html(named: Named[BenchRecord]) -> str:
    """NVML's readings of each contender alone, or nothing."""
    rows = activity(named.record)
    if len(rows) < 2:
        return ""
    source = f"{named.name}: {named.record.device['name']}, {named.record.date}"
    noise = max(found.noise for found in named.record.shapes if found.alone)
    caveat = (
        f"Rates are of this run, in which cuBLAS differed from itself by {noise:.1%}: for what a "
        "kernel is worth, see the ladder."
    )
    return f"{table_html(rows)}<p class='record'>{escape(caveat)} {escape(source)}</p>"


def resources_html(tests: Sequence[Named[list[TestRecord]]]) -> str:
    """What each kernel uses; where it was verified, by every record that has it."""
    uses: dict[str, TestRecord] = {}
    where: dict[str, dict[str, None]] = {}
    for named in tests:
        for record in named.record:
            uses.setdefault(record.file, record)
            where.setdefault(record.file, {})[verified(record)] = None
    rows = [RESOURCES]
    for file, record in sorted(uses.items(), key=lambda item: _natural(item[0])):
        use = record.resources
        if not use:
            continue
        smem = (use["dynamic_smem_bytes"] + use["static_smem_bytes"]) / 1024
        rows.append(
            (
                file.removeprefix("generated/").removesuffix(".py"),
                str(use["registers"]),
                str(use["spill_store_bytes"] + use["spill_load_bytes"]),
                f"{smem:.1f}",
                str(use["tmem_columns"] or "-"),
                str(use["threads"]),
                str(use["named_barriers"]),
                "; ".join(where[file]),
            )
        )
    if len(rows) < 2:
        return ""
    names = ", ".join(named.name for named in tests)
    every = any(row[RESOURCES.index("named barriers")] == "16" for row in rows[1:])
    note = "16 named barriers: one has an id that is computed, so ptxas reserves all. "
    return f"{table_html(rows)}<p class='record'>{note * every}{escape(names)}</p>"


def _natural(path: str) -> tuple[str, list[tuple[int, str]]]:
    """Sort key: folder by folder, h10 after h9."""
    folder, _, name = path.rpartition("/")
    pieces = re.findall(r"(\d+)|(\D+)", name)
    return folder, [(int(digits or -1), text) for digits, text in pieces]
