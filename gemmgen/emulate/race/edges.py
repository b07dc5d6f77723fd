"""Synchronising instructions other than mbarriers: which of them pass knowledge on, to whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.machine import Cluster, Group
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.race import barriers, dependent, named
from gemmgen.emulate.race.clocks import (
    AFTER,
    BEFORE,
    INIT,
    PROXY_GLOBAL,
    PROXY_SHARED,
)
from gemmgen.emulate.race.issue import wgmma_key
from gemmgen.emulate.race.rules import Rules
from gemmgen.emulate.race.semaphores import plain_fence
from gemmgen.emulate.race.state import bulk_slots, cluster_state, warp_clock
from gemmgen.emulate.tensor.faults import fault

Handler = Callable[[Group, Instr, Any, Rules], None]


def _init(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    if rules.strict and group.mask & (group.mask - 1):
        raise EmulationError(
            "E216",
            f"{target.label} is initialised by several lanes, each over the one before",
        )
    barriers.initialised(group, instr, target)


def _init_again(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    """A barrier object is there already, and was not invalidated."""
    if rules.strict:
        raise EmulationError(
            "E216",
            f"{target.label} is initialised again, with no mbarrier.inval before",
        )
    barriers.initialised(group, instr, target)


def _expect(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    barriers.check_visible(group, instr, target)


def _cluster_arrive(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    """PTX ISA "barrier.cluster": arrive releases unless it is relaxed, wait acquires."""
    cluster, phase = target
    state = cluster_state(cluster)
    clock = warp_clock(group.warp).release(group.mask)
    if ".relaxed" in instr.opcode:
        clock = clock.relaxed(state.lanes)
    state.barrier[phase] = clock.join(state.barrier.get(phase))
    state.barrier.pop(phase - 2, None)


def _cluster_wait(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    cluster, phase = target
    assert isinstance(cluster, Cluster)
    warp_clock(group.warp).acquire(group.mask, cluster_state(cluster).barrier[phase])


def _warp(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    warp_clock(group.warp).sync(group.mask)


def _fence(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    warp, opcode = warp_clock(group.warp), instr.opcode
    if opcode.startswith("fence.proxy."):
        if opcode.startswith("fence.proxy.async"):
            if not opcode.endswith(".global"):
                warp.fence(group.mask, PROXY_SHARED)
            if ".shared" not in opcode:
                warp.fence(group.mask, PROXY_GLOBAL)
    elif opcode.startswith("fence.mbarrier_init"):
        warp.fence(group.mask, INIT)
    elif opcode.startswith("tcgen05.fence::before"):
        state = cluster_state(group.cta.cluster)
        slots = (state.newest((kind, warp.base)) for kind in ("ld", "st"))
        warp.fence_own(group.mask, [slot[0] for slot in slots if slot is not None])
    elif opcode.startswith("tcgen05.fence::after"):
        warp.fence(group.mask, AFTER, BEFORE)
    else:
        plain_fence(group)


def _bulk_commit(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    cluster = cluster_state(group.cta.cluster)
    for lane, groups in warp_clock(group.warp).bulk.items():
        if group.mask >> lane & 1:
            groups.append(bulk_slots(cluster, (warp_clock(group.warp).base, lane)))


def _bulk_wait(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    keep, read_only = target
    warp = warp_clock(group.warp)
    for lane, groups in warp.bulk.items():
        if group.mask >> lane & 1 and len(groups) > keep:
            read, written = groups[len(groups) - keep - 1]
            warp.finish([read] if read_only else [read, written], 1 << lane)
            del groups[: len(groups) - keep - 1]


def _tmem_wait(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    """tcgen05.wait: the accesses of the warp so far are done; it is one for all its lanes."""
    warp = warp_clock(group.warp)
    slot = cluster_state(group.cta.cluster).newest((target, warp.base))
    if slot is not None:
        warp.finish([slot], group.mask)


def _tmem_unwaited(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    """A load whose registers are used with no wait between, as some kernels leave to ptxas."""
    if rules.strict:
        user = "and no tcgen05.wait::ld in the kernel" if target is None else f"by {target.place}"
        raise fault("E247", f"used before tcgen05.wait::ld {user}")


def _wgmma(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    clock = warp_clock(group.warp).release(group.mask)
    target.mark = (*(target.mark or ()), clock)


def _wgmma_commit(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    cluster_state(group.cta.cluster).row.pop(wgmma_key(group), None)


def _wgmma_wait(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    slots = [slot for operation in target for slot in operation.mark.ends]
    warp_clock(group.warp).finish(slots, group.mask)


def _grid_wait(group: Group, instr: Instr, target: Any, rules: Rules) -> None:
    dependent.waited(group)


HANDLERS: dict[str, Handler] = {
    "init": _init,
    "init_again": _init_again,
    "arrive": barriers.arrived,
    "expect": _expect,
    "passed": barriers.passed,
    "bar": named.arrived,
    "bar_passed": named.passed,
    "cluster_arrive": _cluster_arrive,
    "cluster_wait": _cluster_wait,
    "warp": _warp,
    "fence": _fence,
    "bulk_commit": _bulk_commit,
    "bulk_wait": _bulk_wait,
    "tmem_wait": _tmem_wait,
    "tmem_unwaited": _tmem_unwaited,
    "wgmma": _wgmma,
    "wgmma_commit": _wgmma_commit,
    "wgmma_wait": _wgmma_wait,
    "grid_wait": _grid_wait,
}
