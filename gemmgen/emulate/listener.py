"""Listeners: how traces and race detection see a run without slowing one that has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gemmgen.emulate.asyncops import AsyncOp, Wait
    from gemmgen.emulate.lanes import Value
    from gemmgen.emulate.machine import Cta, Group
    from gemmgen.emulate.mbarrier import MBarrier
    from gemmgen.emulate.ptx import Instr


class Listener:
    """Override what is needed; a run calls only what some listener overrides."""

    def on_start(self, cta: Cta) -> None:
        """A CTA has become resident."""

    def on_exit(self, cta: Cta) -> None:
        """The last warp of a CTA has exited."""

    def on_leave(self, group: Group) -> None:
        """The last lanes of a warp have exited."""

    def on_issue(self, operation: AsyncOp) -> None:
        """Asynchronous work was handed in."""

    def on_complete(self, operation: AsyncOp) -> None:
        """Asynchronous work has taken effect."""

    def on_flip(self, barrier: MBarrier) -> None:
        """A phase of an mbarrier has completed; ``barrier.phase`` is already the next."""

    def on_wait(self, group: Group, wait: Wait) -> None:
        """A group begins to wait."""

    def on_wake(self, group: Group, wait: Wait) -> None:
        """A waiting group is about to retry its instruction."""

    def on_sync(self, group: Group, instr: Instr, what: str, target: object) -> None:
        """A synchronising instruction took effect. ``what``, with its ``target``:

        - ``init``, ``arrive``, ``expect``, ``passed``: an mbarrier; a group is the lanes that did
          it, and ``arrive`` and ``expect`` come before their effect; ``init_again``: an init over a
          barrier that was not invalidated;
        - ``bar``, ``bar_passed``: a named barrier and its generation, at the arrival and when the
          threads go on;
        - ``cluster_arrive``, ``cluster_wait``: a cluster and the phase of its barrier;
        - ``warp``: None, the lanes of bar.warp.sync;
        - ``fence``: the opcode, also of proxy and tcgen05 fences;
        - ``bulk_commit``: None; ``bulk_wait``: how many groups may be unfinished, and whether the
          wait is for their reading only;
        - ``tmem_wait``: `ld` or `st`; ``tmem_unwaited``: the instruction that uses what the
          tcgen05.ld loads with no wait between, None where the kernel has no wait at all;
        - ``wgmma``, ``wgmma_commit``, ``wgmma_wait``: a wgmma that a warp has issued; None; those
          that it has waited for;
        - ``grid_wait``: None, griddepcontrol.wait.
        """

    def on_access(
        self, group: Group, instr: Instr, space: str, cta: Cta, address: Value, size: int, kind: str
    ) -> None:
        """A generic access of ``size`` bytes for each active lane. ``space``: ``shared``
        (``address`` is the offset in ``cta``), ``global`` or ``tmem`` (``address`` as in PTX,
        ``size`` columns; also ``alloc`` and ``free``); ``kind``: ``read``, ``write`` or ``atomic``.
        """

    def on_signal(self, barrier: MBarrier) -> None:
        """An arrival or bytes are about to count on an mbarrier; ``machine.running`` is the
        asynchronous operation that brings them, None for a thread.
        """


class Hub:
    """Calls of all listeners. The flags tell the engine whether a call would reach anyone."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        def over(name: str) -> list[Listener]:
            return [x for x in listeners if getattr(type(x), name) is not getattr(Listener, name)]

        self.start = over("on_start")
        self.exit = over("on_exit")
        self.leave = over("on_leave")
        self.issue = over("on_issue")
        self.complete = over("on_complete")
        self.flip = over("on_flip")
        self.wait = over("on_wait")
        self.wake = over("on_wake")
        self.sync = over("on_sync")
        self.access = over("on_access")
        self.signal = over("on_signal")

    def on_start(self, cta: Cta) -> None:
        """See :class:`Listener`, here and below."""
        for x in self.start:
            x.on_start(cta)

    def on_exit(self, cta: Cta) -> None:
        for x in self.exit:
            x.on_exit(cta)

    def on_leave(self, group: Group) -> None:
        for x in self.leave:
            x.on_leave(group)

    def on_issue(self, operation: AsyncOp) -> None:
        for x in self.issue:
            x.on_issue(operation)

    def on_complete(self, operation: AsyncOp) -> None:
        for x in self.complete:
            x.on_complete(operation)

    def on_flip(self, barrier: MBarrier) -> None:
        for x in self.flip:
            x.on_flip(barrier)

    def on_wait(self, group: Group, wait: Wait) -> None:
        for x in self.wait:
            x.on_wait(group, wait)

    def on_wake(self, group: Group, wait: Wait) -> None:
        for x in self.wake:
            x.on_wake(group, wait)

    def on_sync(self, group: Group, instr: Instr, what: str, target: object) -> None:
        for x in self.sync:
            x.on_sync(group, instr, what, target)

    def on_access(
        self, group: Group, instr: Instr, space: str, cta: Cta, address: Value, size: int, kind: str
    ) -> None:
        for x in self.access:
            x.on_access(group, instr, space, cta, address, size, kind)

    def on_signal(self, barrier: MBarrier) -> None:
        for x in self.signal:
            x.on_signal(barrier)
