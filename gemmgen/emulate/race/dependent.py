"""Programmatic dependent launch: no access to global memory before the wait for the grids ahead.

The grid may start before the grid ahead of it in the stream has ended (CUDA Programming Guide 4.5,
"Programmatic Dependent Launch and Synchronization"). What that one wrote is visible to a grid once
griddepcontrol.wait has returned in it (PTX ISA "griddepcontrol"): to the thread that waited, and
to threads of its cluster whose accesses causality order puts after the wait. Which buffers the grid
ahead uses is not known here, so all of global memory counts; parameters, and the tensor maps in
them, do not, nor do prefetches, which are hints.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.machine import Group, lanes_text
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.race.clocks import HAPPENED, Ticks, flags_of
from gemmgen.emulate.race.rules import TITLES
from gemmgen.emulate.race.state import warp_clock

KEY = "grid_wait"


@dataclass(eq=False, slots=True)
class Waits:
    """The waits of a cluster: lane 0's column of the warp, its lanes, their tick."""

    events: list[tuple[int, int, int]] = field(default_factory=list)

    def known(self, ticks: Ticks) -> bool:
        """Whether a clock knows that a thread of the cluster has waited."""
        for base, mask, tick in self.events:
            seen = ticks[HAPPENED, base : base + 32] >= tick
            if (seen & flags_of(mask)).any():
                return True
        return False


def waited(group: Group) -> None:
    """The lanes of a group have executed griddepcontrol.wait."""
    before = group.warp.ext.get(KEY, 0)
    new = group.mask & ~before
    if not new:
        return
    group.warp.ext[KEY] = before | new
    waits: Waits = group.cta.cluster.ext.setdefault(KEY, Waits())
    warp = warp_clock(group.warp)
    waits.events.append((warp.base, new, warp.mark()))


def check(group: Group, mask: int, instr: Instr | None, kind: str = "") -> None:
    """Lanes access global memory, themselves or by an operation that they issue.

    Raises E270 when one of them has not waited, and knows of no wait of its cluster; never where
    the launch is not a dependent one.
    """
    if not group.machine.dependent:
        return
    left = mask & ~group.warp.ext.get(KEY, 0)
    if not left:
        return
    waits: Waits | None = group.cta.cluster.ext.get(KEY)
    for lanes, part in warp_clock(group.warp).views(left):
        if waits is None or not waits.known(part.near):
            raise _fault(group, lanes, instr, kind)


def _fault(group: Group, lanes: int, instr: Instr | None, kind: str) -> EmulationError:
    place = instr.place if instr is not None else None
    opcode = ".".join(instr.opcode.split(".")[:2]) if instr is not None else ""
    detail = (
        f"the launch lets this grid start before the one ahead of it has ended, and"
        f" {kind or opcode} touches what that one may still write or read\n"
        "  missing: griddepcontrol.wait by this thread before it, or by another with a barrier"
        " from there to here"
    )
    error = EmulationError("E270", detail, place=place, title=TITLES["E270"])
    error.where = f"{group.cta.where()}, warp {group.warp.index}, {lanes_text(lanes)}"
    return error
