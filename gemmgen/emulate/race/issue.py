"""Asynchronous operations: what they know when they are issued, and what they touch.

An operation happens after what its thread did before issuing it, at any time until its end. It is
checked at its issue, so that a fault shows whenever the operation really takes effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import is_

from gemmgen.emulate.asyncops import AsyncOp, Touch
from gemmgen.emulate.machine import Group
from gemmgen.emulate.race import dependent
from gemmgen.emulate.race.access import Access, Actor
from gemmgen.emulate.race.barriers import check_async
from gemmgen.emulate.race.clocks import Clock
from gemmgen.emulate.race.leaving import reached
from gemmgen.emulate.race.rules import Rules, fault
from gemmgen.emulate.race.state import (
    QUARTERS,
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

    MMAs (or wgmmas) that are issued in a row, with nothing between that they could know or that
    could know of them, share one; ``known`` tells by what it was made.
    """

    clock: Clock
    ends: list[Slot]
    written: list[Slot] = field(default_factory=list)
    known: tuple[Clock, ...] = ()
    actors: dict[tuple[bool, str], Actor] = field(default_factory=dict)
    _done: Clock | None = None

    def done(self) -> Clock:
        """What its completion passes on."""
        if self._done is None:
            self._done = self.clock.with_done(self.ends)
        return self._done

    def actor(self, operation: AsyncOp, group: Group, writes: bool, proxy: str) -> Actor:
        """The operation as it reads or writes a kind of memory."""
        found = self.actors.get((writes, proxy))
        if found is None:
            mask = group.mask if operation.lane < 0 else 1 << operation.lane
            column, epoch = (self.written if proxy == "global" and writes else self.ends)[0]
            access = Access(
                NAMES[operation.kind],
                writes,
                operation.instr,
                group.cta,
                group.warp.index,
                mask,
                warp_clock(group.warp).base,
                epoch,
                column=column,
                proxy="async" if proxy == "global" else proxy,
                strong=operation.kind == "tma_reduce" and proxy == "global",
            )
            found = self.actors[writes, proxy] = Actor(access, [(mask, self.clock)])
        found.access.instr = operation.instr
        return found


def issued(operation: AsyncOp, rules: Rules) -> None:
    """Check an operation at its issue. Raises E260, E261, E263 to E266, E269, E270."""
    group = operation.group
    if group is None or operation.kind not in NAMES:
        return  # the writing step of a store, which was seen with its reading step
    warp = warp_clock(group.warp)
    mask = group.mask if operation.lane < 0 else 1 << operation.lane
    known = operation.mark or (warp.release(mask),)  # a wgmma: of each of the four warps
    mark = operation.mark = _mark(operation, group, known, rules.strict)
    proxy = "generic" if operation.kind == "st_async" else "async"
    if operation.barriers is not None:
        signal = mark.actor(operation, group, True, proxy)
        for barrier in operation.barriers():
            check_async(barrier, signal)
            reached(barrier.cta, signal.access)
    if operation.touches is not None:
        touches = operation.touches()
        if rules.strict and _uses_global(operation, touches):
            dependent.check(group, mask, operation.instr, NAMES[operation.kind])
        for touch in touches:
            space = touch.space
            now = mark.actor(operation, group, touch.writes, proxy if space == "shared" else space)
            _touch(touch, now, rules)
            if rules.strict and operation.lanes & operation.lanes - 1 and space == "global":
                _check_once(touch, now.access, operation.lanes & operation.lanes - 1, rules)


def _check_once(touch: Touch, access: Access, others: int, rules: Rules) -> None:
    """Raise E269 when a store of several lanes at once writes what is written once at the most."""
    assert not isinstance(touch.where, slice)
    buffer = touch.cta.machine.memory.find(int(touch.where[0]), 1)
    if buffer.name in rules.once:
        detail = (
            f"`{buffer.name}` is written by the same {access.kind} in {others.bit_count() + 1} "
            f"lanes at once"
        )
        missing = "elect.sync, or a predicate, that leaves one lane"
        raise fault("E269", detail, access, replace(access, mask=others), missing)


def _uses_global(operation: AsyncOp, touches: Sequence[Touch]) -> bool:
    """Whether an operation reads or writes global memory; what it reads of inputs is no touch."""
    tensor = operation.kind in ("tma_load", "tma_store", "tma_reduce")
    return tensor or any(touch.space == "global" for touch in touches)


def _mark(operation: AsyncOp, group: Group, known: tuple[Clock, ...], strict: bool) -> Issued:
    cluster = cluster_state(group.cta.cluster)
    thread = (warp_clock(group.warp).base, operation.lane)
    kind = operation.kind
    if kind in ("mma", "wgmma"):
        key = (kind, *thread) if kind == "mma" else wgmma_key(group)
        last = cluster.row.get(key)
        if isinstance(last, Issued) and all(map(is_, last.known, known)):
            return last
        made = Issued(_common(known), [cluster.in_order(key)], known=known)
        cluster.row[key] = made
        return made
    clock = known[0]
    if kind in ("tma_store", "tma_reduce"):  # bulk groups end in the order of their commits
        read, written = (cluster.in_order((step, thread)) for step in ("read", "written"))
        warp_clock(group.warp).bulk.setdefault(operation.lane, [])
        return Issued(clock, [read], [written])
    if kind != "commit":
        return Issued(clock, [cluster.free(thread, clock)])
    # CUTLASS relies on commits that arrive in the order of issue
    end = cluster.free(thread, clock) if strict else cluster.in_order(("commit", thread))
    mmas = cluster.newest(("mma", *thread))
    cluster.row.pop(("mma", *thread), None)
    return Issued(clock, [end] if mmas is None else [end, mmas])


def wgmma_key(group: Group) -> tuple[object, ...]:
    """Names the queue of a warpgroup."""
    return ("wgmma", group.cta.rank, group.warp.index // 4)


def _common(known: tuple[Clock, ...]) -> Clock:
    """What each of the warps that issue a wgmma knows: none waits for another by issuing it."""
    clock = known[0]
    for other in known[1:]:
        clock = clock.meet(other)
    return clock


def _touch(touch: Touch, now: Actor, rules: Rules) -> None:
    if touch.space == "global":
        assert not isinstance(touch.where, slice)
        found = global_state(touch.cta.machine, rules).at(int(touch.where[0]), 1)
        if found is not None:
            found.shadow.touch_runs(now, touch.where - found.origin, touch.size)
        return
    state = cta_state(touch.cta)
    if touch.cta not in now.reached:
        now.reached.add(touch.cta)
        reached(touch.cta, now.access)
    where = touch.where
    if touch.space == "tmem":
        assert isinstance(where, slice)
        key = (id(state.tensor), where.start, where.stop)
        if key not in now.touched:
            now.touched.add(key)
            state.tensor.touch(now, (slice(0, QUARTERS), where))
    elif touch.size:
        assert not isinstance(where, slice)
        state.shared.touch_runs(now, where, touch.size)
    else:
        state.shared.touch(now, where)
