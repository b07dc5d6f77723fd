"""Synchronisation through memory: release and acquire by ld, st, atom, red and fences.

PTX ISA "Release and acquire patterns": a release is a strong write with .release, or a strong write
after a fence; an acquire is a strong read with .acquire, or a fence after a strong read.
"""

from __future__ import annotations

from gemmgen.emulate.lanes import Value, lane_of
from gemmgen.emulate.machine import Cta, Group
from gemmgen.emulate.race.state import KEY, GlobalState, warp_clock


def strong_access(
    group: Group, mods: list[str], space: str, cta: Cta, address: Value, kind: str
) -> None:
    """A strong access of each active lane."""
    found: GlobalState | None = group.machine.ext.get(KEY)
    if found is None:
        return
    place = space if space == "global" else cta
    warp = warp_clock(group.warp)
    acquires = "acquire" in mods or "acq_rel" in mods
    releases = "release" in mods or "acq_rel" in mods
    for lane in group.lanes.tolist():
        key = (place, lane_of(address, lane))
        held = found.released.get(key)
        if kind != "write" and held is not None:
            if acquires:
                warp.acquire(1 << lane, held)
            else:
                before = warp.heard.get(lane)
                warp.heard[lane] = held.join(before) if before is not None else held
        if kind != "read":
            clock = warp.release(1 << lane) if releases else warp.fenced.get(lane)
            if clock is not None:
                found.released[key] = clock.join(held)


def plain_fence(group: Group) -> None:
    """fence or membar: relaxed reads before it acquire, relaxed writes after it release."""
    warp = warp_clock(group.warp)
    for lane in group.lanes.tolist():
        warp.acquire(1 << lane, warp.heard.pop(lane, None))
    clock = warp.release(group.mask)
    for lane in group.lanes.tolist():
        warp.fenced[lane] = clock if group.mask == 1 << lane else warp.release(1 << lane)
