"""Asynchronous operations: what they know when they are issued, and what they touch.

An operation happens after what its thread did before issuing it, at any time until its end. It is
checked at its issue, so that a fault shows whenever the operation really takes effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gemmgen.emulate.asyncops import AsyncOp, Touch
from gemmgen.emulate.machine import Group
from gemmgen.emulate.race.access import Access, Actor
from gemmgen.emulate.race.barriers import check_async
from gemmgen.emulate.race.clocks import Clock, WarpClock
from gemmgen.emulate.race.leaving import reached
from gemmgen.emulate.race.rules import Rules
from gemmgen.emulate.race.state import (
    QUARTERS,
    ClusterState,
    cluster_state,
    cta_state,
    global_state,
    warp_clock,
)

Slot = tuple[int, int]

NAMES = {
    "tma_load": "tensor load",
    "bulk_copy": "bulk copy",
    "tma_store": "tensor store",
    "tma_reduce": "tensor reduction",
    "st_async": "st.async",
    "clc": "clusterlaunchcontrol.try_cancel",
    "mma": "tcgen05.mma",
    "commit": "tcgen05.commit",
    "wgmma": "wgmma",
}


@dataclass(eq=False, slots=True)
class Issued:
    """What an operation knows, and the slots whose epochs end with it: with its reading of shared
    memory, and with its writing of global memory.
    """

    clock: Clock
    ends: list[Slot]
    written: list[Slot] = field(default_factory=list)
    _done: Clock | None = None

    def done(self) -> Clock:
        """What its completion passes on."""
        if self._done is None:
            self._done = self.clock.with_done(self.ends)
        return self._done


def issued(operation: AsyncOp, rules: Rules) -> None:
    """Check an operation at its issue. Raises E260, E261, E263, E264, E265, E266, E269."""
    group, name = operation.group, NAMES.get(operation.kind)
    if group is None or name is None:
        return  # the writing step of a store, which was seen with its reading step
    warp = warp_clock(group.warp)
    mask = group.mask if operation.lane < 0 else 1 << operation.lane
    clock = warp.release(mask)
    if isinstance(operation.mark, Clock):
        clock = operation.mark  # a wgmma: of all four warps
    cluster = cluster_state(group.cta.cluster)
    mark = operation.mark = _slots(operation, group, clock, cluster)
    access = _access(operation, name, group, warp, mask, mark.ends[0])
    if operation.barriers is not None:
        for barrier in operation.barriers():
            check_async(barrier, access, clock)
            reached(barrier.cta, access)
    if operation.touches is not None:
        for touch in operation.touches():
            _touch(touch, access, clock, mark, rules)


def _slots(operation: AsyncOp, group: Group, clock: Clock, cluster: ClusterState) -> Issued:
    thread = (warp_clock(group.warp).base, operation.lane)
    kind = operation.kind
    if kind == "mma":
        return Issued(clock, [cluster.in_order(("mma", thread))])
    if kind == "wgmma":
        key = ("wgmma", group.cta.rank, group.warp.index // 4)
        return Issued(clock, [cluster.in_order(key)])
    if kind in ("tma_store", "tma_reduce"):  # bulk groups end in the order of their commits
        read, written = (cluster.in_order((step, thread)) for step in ("read", "written"))
        warp_clock(group.warp).bulk.setdefault(operation.lane, [])
        return Issued(clock, [read], [written])
    ends = [cluster.free(thread, clock)]
    if kind == "commit":
        mmas = cluster.newest(("mma", thread))
        ends += [mmas] if mmas is not None else []
    return Issued(clock, ends)


def _access(
    operation: AsyncOp, name: str, group: Group, warp: WarpClock, mask: int, slot: Slot
) -> Access:
    proxy = "generic" if operation.kind == "st_async" else "async"
    return Access(
        name, True, operation.instr, group.cta, group.warp.index, mask, warp.base, slot[1],
        column=slot[0], proxy=proxy,
    )  # fmt: skip


def _touch(touch: Touch, whole: Access, clock: Clock, mark: Issued, rules: Rules) -> None:
    access = _part(whole, touch)
    if touch.space == "global":
        _touch_global(touch, access, clock, mark, rules)
        return
    state = cta_state(touch.cta)
    reached(touch.cta, whole)
    now = Actor(access, [(access.mask, clock)])
    if touch.space == "tmem":
        assert isinstance(touch.where, slice)
        access.proxy = "tmem"
        state.tensor.touch(now, (slice(0, QUARTERS), touch.where))
    elif touch.size:
        assert not isinstance(touch.where, slice)
        state.shared.touch_runs(now, touch.where, touch.size)
    else:
        where = touch.where if isinstance(touch.where, slice) else touch.where.ravel()
        state.shared.touch(now, where)


def _part(whole: Access, touch: Touch) -> Access:
    return Access(
        whole.kind, touch.writes, whole.instr, whole.cta, whole.warp, whole.mask, whole.base,
        whole.epoch, column=whole.column, proxy=whole.proxy,
    )  # fmt: skip


def _touch_global(touch: Touch, access: Access, clock: Clock, mark: Issued, rules: Rules) -> None:
    assert not isinstance(touch.where, slice)
    found = global_state(touch.cta.machine, rules).at(int(touch.where[0]), 1)
    if found is None:
        return
    if touch.writes and mark.written:
        access.column, access.epoch = mark.written[0]
    access.strong = access.kind == "tensor reduction"
    now = Actor(access, [(access.mask, clock)])
    found.shadow.touch_runs(now, touch.where - found.origin, touch.size)
