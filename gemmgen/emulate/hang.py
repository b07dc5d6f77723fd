"""The table that a hang prints: what each warp waits for and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from gemmgen.emulate.errors import Hang
from gemmgen.emulate.machine import Cluster, Group, Machine, lanes_text
from gemmgen.emulate.mbarrier import MBarrier
from gemmgen.emulate.ops.registers import behind, skip_text
from gemmgen.emulate.program import Program

_MOST_ROWS = 64
Row = tuple[str, str, str, str, str, str]


def deadlock(machine: Machine, program: Program, resident: Sequence[Cluster]) -> Hang:
    """E201: nothing can run and nothing is in flight. E224 where warps will never execute a
    setmaxnreg that others of their warpgroup have: they have exited, or gone past it.
    """
    groups = _groups(resident)
    finished = sum(1 for c in resident for cta in c.ctas for w in cta.warps if not w.live)
    detail = f"{len(groups)} lane groups wait, nothing is in flight, {finished} warps have exited"
    table = _table(groups, machine, program)
    for cta in (cta for cluster in resident for cta in cluster.ctas):
        for warp, instr in behind(cta):
            if not any(program.reaches(group.pc, instr) for group in warp.groups):
                return Hang("E224", f"{skip_text(warp, instr)}\n  {detail}", table)
    return Hang("E201", detail, table)


def livelock(machine: Machine, program: Program, resident: Sequence[Cluster]) -> Hang:
    """E202: warps run, but nothing changes."""
    groups = _groups(resident)
    detail = (
        f"no memory, barrier or asynchronous work has changed for "
        f"{machine.settings.livelock_instructions} warp instructions"
    )
    return Hang("E202", detail, _table(groups, machine, program))


def _groups(resident: Sequence[Cluster]) -> list[Group]:
    return [g for c in resident for cta in c.ctas for w in cta.warps for g in w.groups]


def _table(groups: Sequence[Group], machine: Machine, program: Program) -> str:
    rows: list[Row] = [("CTA", "warp", "PTX line", "source", "waits for", "state")]
    rows += [_row(g, program) for g in groups[:_MOST_ROWS]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    if len(groups) > _MOST_ROWS:
        lines.append(f"… and {len(groups) - _MOST_ROWS} more")
    return "\n".join(lines)


def _row(g: Group, program: Program) -> Row:
    instr = program.kernel.instrs[g.pc]
    place = instr.place
    waits, state = _reason(g)
    x, y, z = g.cta.ctaid
    rank = f" rank {g.cta.rank}" if len(g.cta.cluster.ctas) > 1 else ""
    lanes = "" if g.mask == g.warp.live else f" {lanes_text(g.mask)}"
    return (
        f"({x},{y},{z}){rank}",
        f"{g.warp.index}{lanes}",
        f"{place.ptx_line}: {instr.opcode}",
        place.source or "-",
        waits,
        state,
    )


def _reason(g: Group) -> tuple[str, str]:
    wait = g.wait
    if g.state == "meet":
        return f"other lanes of its warp ({lanes_text(g.warp.live & ~g.mask)})", ""
    if wait is None:
        return "nothing (it can run)", ""
    bar = wait.barrier
    if isinstance(bar, MBarrier):
        label = bar.label.removesuffix(f" of {g.cta.where()}")
        return f"{label}, phase {wait.phase}", barrier_state(bar)
    return wait.reason, ""


def barrier_state(bar: MBarrier) -> str:
    """`in phase 1 (1 completed): 1 of 1 arrivals and 32768 tx bytes pending`."""
    tx = f" and {bar.tx} tx bytes" if bar.tx else ""
    return (
        f"in phase {bar.phase & 1} ({bar.phase} completed): "
        f"{bar.pending} of {bar.count} arrivals{tx} pending"
    )
