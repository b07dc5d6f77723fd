"""Nominal timing: a plausible schedule with round costs, for pictures of how work overlaps.

Nothing here is measured. The figures are round numbers near an SM at its clock: tcgen05 retires
8192 = M x N x bytes of K a step, the published dense f16 rate of a B200 (2.25 PFLOP/s over 148 SMs
at about 1.85 GHz is 8,200 operations a clock), wgmma half of it, as an H100 does (989 TFLOP/s over
132 SMs at about 1.8 GHz); the others are chosen so that loads take long to arrive and yet keep up.
A warp instruction takes one step, whatever it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from gemmgen.emulate.asyncops import AsyncOp
from gemmgen.emulate.lanes import Value
from gemmgen.emulate.listener import Listener
from gemmgen.emulate.machine import Cta, Group, Machine
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.settings import Settings
from gemmgen.emulate.timing import Stamp, Timing, heads

LATENCY = 600  # steps from a copy's turn in its unit to its completion
COPY_BYTES = 128  # a step, for the copies of one CTA
MMA_WORK = {"mma": 8192, "wgmma": 4096}  # M x N x bytes of K a step and CTA
SIGNAL = 20  # steps from the end of the MMAs to the arrival of their commit
STORE_BYTES = 64  # a step, for the global accesses of one CTA's warps


class Nominal(Timing, Listener):
    """Discrete events: every warp and unit has its own clock, and the earliest goes next."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.now = 0.0
        self.clock: dict[Hashable, float] = {}  # by warp
        self.free: defaultdict[Hashable, float] = defaultdict(float)  # by unit
        self.due: dict[AsyncOp, float] = {}
        self.last: dict[Hashable, float] = {}  # completion in each queue
        self.fresh: list[AsyncOp] = []
        self.running: Group | None = None
        self.mark = 0  # instructions when it was chosen
        self.moved = 0  # bytes of its global accesses since then
        self.known: set[Group] = set()
        self.cell = Stamp()

    def at_once(self, operation: AsyncOp, pending: Sequence[AsyncOp]) -> bool:
        self.fresh.append(operation)
        return False

    def quantum(self) -> int:
        return 1

    def stamp(self, machine: Machine) -> Stamp:
        """What happens in a slice is stamped with the end of the slice."""
        return self.cell

    def began(self, group: Group) -> Stamp:
        return Stamp(self.clock[_warp(group)])

    def on_access(
        self, group: Group, instr: Instr, space: str, cta: Cta, address: Value, size: int, kind: str
    ) -> None:
        """Count global bytes: the warp goes on when the CTA's unit has taken them."""
        if space == "global":
            self.moved += size * group.mask.bit_count()

    def choose(self, ready: Sequence[Group], pending: Sequence[AsyncOp]) -> Group | AsyncOp:
        self.settle()
        for group in ready:
            if group not in self.known:
                key = _warp(group)
                self.clock[key] = max(self.clock.get(key, 0.0), self.now)
        self.known = set(ready)
        first = min(ready, key=lambda g: self.clock[_warp(g)], default=None)
        done = min(heads(pending), key=self.due.__getitem__, default=None)
        if done is not None and (first is None or self.due[done] <= self.clock[_warp(first)]):
            self.now = self.last[done.queue] = max(self.due.pop(done), self._after(done))
            return done
        assert first is not None
        self.running, self.mark = first, first.machine.instructions
        return first

    def settle(self) -> None:
        """Charge the slice that has ended, and time what it has issued."""
        if self.running is not None:
            key, cta = _warp(self.running), self.running.cta.linear
            self.clock[key] += self.running.machine.instructions - self.mark
            if self.moved:
                start = max(self.clock[key], self.free["store", cta])
                self.clock[key] = self.free["store", cta] = start + self.moved / STORE_BYTES
            self.now = self.clock[key]
            self.running, self.moved = None, 0
        for operation in self.fresh:
            self.due[operation] = self._finish(operation)
        self.fresh.clear()
        self.cell.time = self.now
        self.cell = Stamp()

    def _after(self, operation: AsyncOp) -> float:
        return 0.0 if operation.queue is None else self.last.get(operation.queue, 0.0)

    def _finish(self, operation: AsyncOp) -> float:
        kind, cta = operation.kind, operation.cta.linear
        if kind == "commit":
            return max(self.now, self.free["tensor", cta]) + SIGNAL
        rate = MMA_WORK.get(kind)
        unit = ("tensor" if rate else f"{operation.unit} {kind}", cta)
        start = max(self.now, self.free[unit])
        self.free[unit] = start + operation.size / (rate or COPY_BYTES)
        return self.free[unit] + (0 if rate else LATENCY)


def _warp(group: Group) -> Hashable:
    return group.cta.linear, group.warp.index
