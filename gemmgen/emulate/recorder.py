"""A listener that writes down what happens in a run and when: for traces and digests."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

from gemmgen.emulate.asyncops import AsyncOp, Wait
from gemmgen.emulate.listener import Listener
from gemmgen.emulate.machine import Cta, Group, Machine
from gemmgen.emulate.mbarrier import MBarrier
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.timing import Stamp


@dataclass(eq=False)
class Residence:
    """A CTA on an SM; `sm` counts from 0, the lowest that was free."""

    cta: tuple[int, int, int]
    linear: int
    cluster: int
    rank: int
    sm: int
    start: Stamp
    end: Stamp = field(default_factory=Stamp)
    left: dict[int, Stamp] = field(default_factory=dict)  # by warp: when its last lanes exited


@dataclass(eq=False)
class Waiting:
    """A warp that could not go on: `what` as the hang table says it, `barrier` by name and slot."""

    at: Residence
    warp: int
    what: str
    barrier: str
    phase: int
    start: Stamp
    end: Stamp = field(default_factory=Stamp)
    source: str = ""


@dataclass(eq=False)
class Passing:
    """A warp that passed a barrier, with a wait or without; `barrier` is empty for bar.sync."""

    at: Residence
    warp: int
    barrier: str
    time: Stamp


@dataclass(eq=False)
class Operation:
    """Asynchronous work from its issue to its completion.

    `signals` is the barrier that it signals, `passed` the one that the issuing warp passed last.
    """

    kind: str
    at: Residence
    warp: int
    detail: str
    size: int
    signals: str
    passed: str
    start: Stamp
    end: Stamp = field(default_factory=Stamp)
    source: str = ""


class Recorder(Listener):
    """Records one run.

    Attributes:
        residences, waits, passings, operations: in the order of their beginnings.
    """

    def __init__(self) -> None:
        self.residences: list[Residence] = []
        self.waits: list[Waiting] = []
        self.passings: list[Passing] = []
        self.operations: list[Operation] = []
        self._at: dict[Cta, Residence] = {}
        self._open: dict[Group, Waiting] = {}
        self._flying: dict[AsyncOp, Operation] = {}
        self._passed: dict[tuple[Residence, int], str] = {}
        self._digest = hashlib.sha256()
        self._last = -1.0
        self._machine: Machine | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of every event in its order; addresses of the host do not enter it."""
        return self._digest.hexdigest()

    @property
    def end(self) -> float:
        """The last time that is known, in steps."""
        stamps = [s for r in self.residences for s in (r.end, *r.left.values())]
        return max((s.time for s in stamps if not math.isnan(s.time)), default=max(self._last, 0.0))

    def close(self) -> None:
        """After the run, failed or not: settle the last slice; what is still open ends there."""
        if self._machine is None:
            return
        settle = getattr(self._machine.timing, "settle", None)
        if settle is not None:
            settle()
        last = self._stamp(self._machine)
        if settle is not None:
            settle()
        every: list[Residence | Waiting | Operation] = [
            *self.residences,
            *self.waits,
            *self.operations,
        ]
        for item in every:
            if math.isnan(item.end.time):
                item.end.time = max(last.time, item.start.time)

    def on_start(self, cta: Cta) -> None:
        taken = {self._at[c].sm for c in self._at}
        sm = next(i for i in range(len(taken) + 1) if i not in taken)
        stamp = self._stamp(cta.machine)
        index = cta.cluster.index
        self._at[cta] = Residence(cta.ctaid, cta.linear, index, cta.rank, sm, stamp)
        self.residences.append(self._at[cta])
        self._note("start", cta.linear)

    def on_exit(self, cta: Cta) -> None:
        self._at.pop(cta).end = self._stamp(cta.machine)
        self._note("exit", cta.linear)

    def on_leave(self, group: Group) -> None:
        self._at[group.cta].left[group.warp.index] = self._stamp(group.machine)
        self._note("leave", group.cta.linear, group.warp.index)

    def on_wait(self, group: Group, wait: Wait) -> None:
        self._note("wait", group.cta.linear, group.warp.index, group.mask, wait.reason, wait.phase)
        if any(other.state == "run" for other in group.warp.groups if other is not group):
            return  # other lanes of the warp go on
        bar = wait.barrier
        name = bar.label if isinstance(bar, MBarrier) else ""
        self._open[group] = Waiting(
            self._at[group.cta],
            group.warp.index,
            wait.reason,
            name,
            wait.phase,
            self._stamp(group.machine),
        )
        self.waits.append(self._open[group])

    def on_wake(self, group: Group, wait: Wait) -> None:
        self._note("wake", group.cta.linear, group.warp.index, group.mask)
        waiting = self._open.pop(group, None)
        if waiting is not None:
            waiting.end = self._stamp(group.machine)

    def on_sync(self, group: Group, instr: Instr, what: str, target: object) -> None:
        if what not in ("passed", "bar"):
            return
        at, warp = self._at[group.cta], group.warp.index
        label = target.label if isinstance(target, MBarrier) else ""
        if self._passed.get((at, warp)) != label:
            stamp = group.machine.timing.began(group)
            self.passings.append(Passing(at, warp, label, stamp))
        self._passed[at, warp] = label

    def on_issue(self, operation: AsyncOp) -> None:
        group = operation.group
        warp = -1 if group is None else group.warp.index
        source = operation.instr.place.source if operation.instr is not None else ""
        self._flying[operation] = Operation(
            operation.kind,
            self._at[operation.cta],
            warp,
            operation.detail,
            operation.size,
            operation.signals,
            self._passed.get((self._at[operation.cta], warp), ""),
            self._stamp(operation.cta.machine),
            source=source,
        )
        self.operations.append(self._flying[operation])
        self._note("issue", operation.kind, operation.cta.linear, warp, operation.detail)

    def on_complete(self, operation: AsyncOp) -> None:
        self._flying.pop(operation).end = self._stamp(operation.cta.machine)
        self._note("complete", operation.kind, operation.cta.linear, operation.serial)

    def on_flip(self, barrier: MBarrier) -> None:
        self._note("flip", barrier.label, barrier.phase)

    def _note(self, *event: object) -> None:
        self._digest.update(repr(event).encode())

    def _stamp(self, machine: Machine) -> Stamp:
        """The policy's time; where it counts steps, later events are at least a step later."""
        self._machine = machine
        stamp = machine.timing.stamp(machine)
        if not math.isnan(stamp.time):
            self._last = stamp.time = max(stamp.time, self._last + 1)
        return stamp
