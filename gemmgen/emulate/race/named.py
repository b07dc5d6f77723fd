"""Named barriers: what their generations pass on, and whose arrivals may be mistaken for others'.

PTX ISA "barrier{.cta}": a barrier counts the threads that arrive, whoever they are, and begins
again when it has as many as it expects. So a thread may arrive for the next generation only when it
knows that the one before is complete: else, in another schedule, it is counted there, and threads
are let go that wait for somebody else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.machine import Group
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.race.access import Access, knows
from gemmgen.emulate.race.barriers import by_threads
from gemmgen.emulate.race.clocks import EXECUTED, Clock
from gemmgen.emulate.race.rules import Rules
from gemmgen.emulate.race.state import cta_state, warp_clock


@dataclass(eq=False, slots=True)
class Generation:
    """``clock`` is what the arrivals so far have passed on, ``arrivals`` are they themselves;
    ``waiting`` counts the groups of lanes that have not gone on yet.
    """

    clock: Clock
    arrivals: list[Access] = field(default_factory=list)
    waiting: int = 0


def arrived(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    """Threads arrive at a named barrier. Raises E219 when they may be counted too early."""
    bar, number = target
    found: dict[int, Generation] = cta_state(group.cta).named.setdefault(bar.number, {})
    access = by_threads(".".join(instr.opcode.split(".")[:2]), group, instr)
    clock = warp_clock(group.warp).release(group.mask)
    before = found.get(number - 1)
    if before is not None:
        for old in before.arrivals:
            if not knows(clock.near, old, EXECUTED):
                raise _mixed(bar.number, old, access)
    mine = found.get(number)
    if mine is None:
        mine = found[number] = Generation(clock)
        if number - 2 in found and not found[number - 2].waiting:
            del found[number - 2]
    else:
        mine.clock = clock.join(mine.clock)
    mine.arrivals.append(access)
    if "arrive" not in instr.opcode:
        mine.waiting += 1


def passed(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    """The generation is complete: memory of all its threads is ordered."""
    bar, number = target
    found = cta_state(group.cta).named[bar.number]
    mine = found[number]
    warp_clock(group.warp).agree(group.mask, mine.clock)
    mine.waiting -= 1
    if not mine.waiting and number + 2 in found:
        del found[number]


def _mixed(number: int, old: Access, now: Access) -> EmulationError:
    error = EmulationError(
        "E219",
        f"warp {now.warp} arrives at barrier {number}, and nothing orders that after the arrival "
        f"of warp {old.warp} one time before: which of them a time counts is chance\n"
        f"  first: {old}\n  then: {now}\n"
        f"  missing: a barrier between the two uses, or another number for one of them",
        place=None if now.instr is None else now.instr.place,
    )
    error.where = f"{now.cta.where()}, warp {now.warp}"
    return error
