"""mbarriers: who knows of their init, and what their phases pass on.

PTX ISA "mbarrier": an arrival releases (unless relaxed), a successful wait acquires, within their
scopes; the arrival of asynchronous work releases at cluster scope. Arrivals are read-modify-writes
of one object, so a phase passes on what the phases before it did ("Observation order").
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gemmgen.emulate.machine import Group
from gemmgen.emulate.mbarrier import MBarrier
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.race.access import Access, Actor, Offsets, actor_of, ordered
from gemmgen.emulate.race.clocks import HAPPENED, INIT, PROXY_SHARED, Clock
from gemmgen.emulate.race.leaving import reached
from gemmgen.emulate.race.rules import Rules, fault
from gemmgen.emulate.race.state import cluster_state, warp_clock


def _whole() -> Offsets:
    return np.zeros(1, dtype=np.int64)


@dataclass(eq=False, slots=True)
class BarrierState:
    """``clock`` is what all signals so far have passed on, ``passed`` what it was when the last
    phase completed. ``seen`` are the threads and warps that are known to know of the init. Only
    threads of its own CTA wait on a barrier (PTX ISA "mbarrier.test_wait").
    """

    init: Access
    clock: Clock | None = None
    passed: Clock | None = None
    seen: set[tuple[int, int]] = field(default_factory=set)


def initialised(group: Group, instr: Instr, barrier: MBarrier) -> None:
    """mbarrier.init."""
    barrier.mark = BarrierState(by_threads("mbarrier.init", group, instr))


def by_threads(kind: str, group: Group, instr: Instr) -> Access:
    """An access that each active lane of a group makes to the whole of something."""
    warp = warp_clock(group.warp)
    return Access(
        kind, True, instr, group.cta, group.warp.index, group.mask, warp.base, warp.mark()
    )


def arrived(group: Group, instr: Instr, barrier: MBarrier, rules: Rules) -> None:
    """An arrival is about to count. Raises E266, E267."""
    check_visible(group, instr, barrier)
    mods = instr.opcode.split(".")
    wide = True
    if barrier.cta is not group.cta:
        access = by_threads("mbarrier.arrive", group, instr)
        reached(barrier.cta, access)
        wide = "cluster" in mods or not rules.strict
        if not wide:
            detail = f"{barrier.label} is in another CTA, and the arrival has .cta scope"
            missing = ".cluster scope on the arrival"
            raise fault("E267", detail, barrier.mark.init, access, missing)
    clock = warp_clock(group.warp).release(group.mask)
    if "relaxed" in mods:
        clock = clock.relaxed(cluster_state(group.cta.cluster).lanes)
    state: BarrierState = barrier.mark
    state.clock = clock.join(state.clock)


def signalled(barrier: MBarrier) -> None:
    """Asynchronous work arrives."""
    operation = barrier.machine.running
    if operation is not None:
        state: BarrierState = barrier.mark
        state.clock = operation.mark.done().join(state.clock)


def flipped(barrier: MBarrier) -> None:
    """A phase completes."""
    state: BarrierState = barrier.mark
    state.passed = state.clock


def passed(group: Group, instr: Instr, barrier: MBarrier, rules: Rules) -> None:
    """A wait has found its phase complete."""
    check_visible(group, instr, barrier)
    clock = barrier.mark.passed
    if clock is None:
        return  # no phase has completed: the wait passed on the parity of a fresh barrier
    if ".relaxed" in instr.opcode:
        clock = clock.relaxed(cluster_state(group.cta.cluster).lanes)
    warp_clock(group.warp).acquire(group.mask, clock)


def check_visible(group: Group, instr: Instr, barrier: MBarrier) -> None:
    """Raise E266 when a thread does not know of the init of a barrier that it uses."""
    state: BarrierState = barrier.mark
    warp = warp_clock(group.warp)
    key = (warp.base, group.mask)
    if key in state.seen:
        return
    user = Access(
        ".".join(instr.opcode.split(".")[:2]), True, instr, group.cta, group.warp.index,
        group.mask, warp.base, warp.tick,
    )  # fmt: skip
    now = actor_of(user, warp, group.mask)
    if _known(state.init, now, HAPPENED) or _known(state.init, now, INIT):
        state.seen.add(key)
        return
    missing = (
        "bar.sync, or another barrier, between the init and this"
        if barrier.cta is group.cta
        else "fence.mbarrier_init, and a cluster barrier after it, between the init and this"
    )
    detail = f"{barrier.label} is used, and nothing orders that after its init"
    raise fault("E266", detail, state.init, user, missing)


def _known(init: Access, now: Actor, row: int) -> bool:
    return ordered(init, now, _whole, 1, row)


def check_async(barrier: MBarrier, now: Actor) -> None:
    """Raise E266 when asynchronous work may not see the init of the barrier that it signals."""
    state: BarrierState = barrier.mark
    key = (now.access.base, -now.access.mask)
    if key in state.seen:
        return
    if _known(state.init, now, INIT) or _known(state.init, now, PROXY_SHARED):
        state.seen.add(key)
        return
    missing = "fence.mbarrier_init after the init, and a barrier from there to the issuing thread"
    detail = f"{barrier.label} is signalled by asynchronous work, which may not see its init"
    raise fault("E266", detail, state.init, now.access, missing)
