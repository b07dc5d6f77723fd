"""Race detection as a listener: :class:`RaceDetector`."""

from __future__ import annotations

import numpy as np

from gemmgen.emulate.asyncops import AsyncOp
from gemmgen.emulate.lanes import Value
from gemmgen.emulate.listener import Listener
from gemmgen.emulate.machine import Cta, Group
from gemmgen.emulate.mbarrier import MBarrier
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.race import dependent, edges, leaving
from gemmgen.emulate.race.access import Access, Actor, Offsets
from gemmgen.emulate.race.barriers import flipped, signalled
from gemmgen.emulate.race.issue import issued
from gemmgen.emulate.race.rules import Rules
from gemmgen.emulate.race.semaphores import strong_access
from gemmgen.emulate.race.state import cta_state, global_state, start, warp_clock
from gemmgen.emulate.race.tensor import tensor_access

_STRONG = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")


class RaceDetector(Listener):
    """Reports accesses that nothing orders, whatever the schedule made of them.

    Raises, out of the run that it listens to, EmulationError with the codes E260 to E270.

    Args:
        rules: how strict to be.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()

    def on_start(self, cta: Cta) -> None:
        start(cta, self.rules)

    def on_exit(self, cta: Cta) -> None:
        leaving.check(cta)

    def on_issue(self, operation: AsyncOp) -> None:
        issued(operation, self.rules)

    def on_signal(self, barrier: MBarrier) -> None:
        signalled(barrier)

    def on_flip(self, barrier: MBarrier) -> None:
        flipped(barrier)

    def on_sync(self, group: Group, instr: Instr, what: str, target: object) -> None:
        edges.HANDLERS[what](group, instr, target, self.rules)

    def on_access(
        self, group: Group, instr: Instr, space: str, cta: Cta, address: Value, size: int, kind: str
    ) -> None:
        if space == "tmem":
            assert isinstance(address, int)
            tensor_access(group, instr, address, size, kind)
            return
        if space == "global":
            if self.rules.strict and ".const" not in instr.opcode:
                dependent.check(group, group.mask, instr)
            found = global_state(group.machine, self.rules).find(group, address)
            if found is None:
                return
            shadow, origin = found.shadow, found.origin
        else:
            shadow, origin = cta_state(cta).shared, 0
        mods = instr.opcode.split(".")
        strong = kind == "atomic" or any(m in _STRONG for m in mods)
        if strong:
            strong_access(group, mods, space, cta, address, kind)
        access = _access(group, instr, address, size, kind)
        access.strong = strong
        if cta is not group.cta and space == "shared":
            leaving.reached(cta, access)
        if access.starts is None:
            starts = np.array([address], dtype=np.int64) - origin
        else:
            starts = access.starts = access.starts - origin
        if not shadow.holds(starts, size):
            return  # the memory refuses this access next, and says where it is
        shadow.touch_runs(Actor(access, warp_clock(group.warp).views(group.mask)), starts, size)


def _access(group: Group, instr: Instr, address: Value, size: int, kind: str) -> Access:
    warp = warp_clock(group.warp)
    starts: Offsets | None = None
    if isinstance(address, np.ndarray):
        starts = address[group.lanes].astype(np.int64)
    return Access(
        ".".join(instr.opcode.split(".")[:2]),
        kind != "read",
        instr,
        group.cta,
        group.warp.index,
        group.mask,
        warp.base,
        warp.mark(),
        starts=starts,
        size=size,
    )
