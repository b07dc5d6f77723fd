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
    """``shared`` is known to waiters in every CTA of the cluster, ``own`` to those of one CTA, by
    rank; ``passed`` is what both were when the last phase completed.
    """

    init: Access
    shared: Clock | None = None
    own: dict[int, Clock] = field(default_factory=dict)
    passed: tuple[Clock | None, dict[int, Clock]] = (None, {})


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
    foreign = barrier.cta is not group.cta
    wide = "cluster" in mods or (not rules.strict and foreign)
    if foreign:
        access = by_threads("mbarrier.arrive", group, instr)
        reached(barrier.cta, access)
        if rules.strict and not wide:
            detail = f"{barrier.label} is in another CTA, and the arrival has .cta scope"
            missing = ".cluster scope on the arrival"
            raise fault("E267", detail, barrier.mark.init, access, missing)
    clock = warp_clock(group.warp).release(group.mask)
    state: BarrierState = barrier.mark
    thin = clock.relaxed(cluster_state(group.cta.cluster).lanes)
    if "relaxed" in mods:
        state.shared = thin.join(state.shared)
    elif wide:
        state.shared = clock.join(state.shared)
    else:
        state.shared = thin.join(state.shared)
        state.own[group.cta.rank] = clock.join(state.own.get(group.cta.rank))


def signalled(barrier: MBarrier) -> None:
    """Asynchronous work arrives."""
    operation = barrier.machine.running
    if operation is not None:
        state: BarrierState = barrier.mark
        state.shared = operation.mark.done().join(state.shared)


def flipped(barrier: MBarrier) -> None:
    """A phase completes."""
    state: BarrierState = barrier.mark
    state.passed = (state.shared, dict(state.own))


def passed(group: Group, instr: Instr, barrier: MBarrier, rules: Rules) -> None:
    """A wait has found its phase complete."""
    check_visible(group, instr, barrier)
    state: BarrierState = barrier.mark
    shared, own = state.passed
    warp = warp_clock(group.warp)
    if shared is None:
        return  # no phase has completed: the wait passed on the parity of a fresh barrier
    if ".relaxed" in instr.opcode:
        warp.acquire(group.mask, shared.relaxed(cluster_state(group.cta.cluster).lanes))
        return
    warp.acquire(group.mask, shared)
    warp.acquire(group.mask, own.get(group.cta.rank))


def check_visible(group: Group, instr: Instr, barrier: MBarrier) -> None:
    """Raise E266 when a thread does not know of the init of a barrier that it uses."""
    state: BarrierState = barrier.mark
    warp = warp_clock(group.warp)
    user = Access(
        ".".join(instr.opcode.split(".")[:2]), True, instr, group.cta, group.warp.index,
        group.mask, warp.base, warp.tick,
    )  # fmt: skip
    now = actor_of(user, warp, group.mask)
    if _known(state.init, now, HAPPENED) or _known(state.init, now, INIT):
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


def check_async(barrier: MBarrier, access: Access, clock: Clock) -> None:
    """Raise E266 when asynchronous work may not see the init of the barrier that it signals."""
    state: BarrierState = barrier.mark
    now = Actor(access, [(access.mask, clock)])
    if _known(state.init, now, INIT) or _known(state.init, now, PROXY_SHARED):
        return
    missing = "fence.mbarrier_init after the init, and a barrier from there to the issuing thread"
    detail = f"{barrier.label} is signalled by asynchronous work, which may not see its init"
    raise fault("E266", detail, state.init, access, missing)
