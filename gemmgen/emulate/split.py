"""Divergence: lane groups of a warp part at branches and come together where they stand at one
instruction.
"""

from __future__ import annotations

from typing import Any

from gemmgen.emulate.asyncops import Wait
from gemmgen.emulate.lanes import Lanes, bit_mask, merge
from gemmgen.emulate.machine import Group
from gemmgen.emulate.program import Program

PARKED = -1  # the group waits (for a channel or for lanes of its warp)
LEFT = -2  # all its lanes have exited
SPLIT = -3  # it has parted; it and the new group carry their own next instruction


def settle(g: Group, p: Lanes) -> Any:
    """A predicate array -> True or False when the active lanes agree, else the array."""
    active = p[g.lanes]
    if active.all():
        return True
    return p if active.any() else False


def part(g: Group, mask: int, pc: int) -> Group:
    """Take the lanes of ``mask`` out of ``g`` into a new group that continues at ``pc``."""
    machine = g.machine
    machine.serial += 1
    new = Group(g.warp, mask, list(g.regs), pc, machine.serial)
    new.dirty = g.dirty
    g.mask &= ~mask
    g.forget_lanes()
    g.warp.groups.append(new)
    g.warp.split = True
    machine.born.append(new)
    return new


def diverge(g: Group, p: Lanes, yes: int, no: int) -> int:
    """A branch whose predicate differs between lanes: part, unless the active lanes agree."""
    taken = bit_mask(p & g.flags)
    if taken == g.mask:
        return yes
    if not taken:
        return no
    if yes < no:
        part(g, g.mask & ~taken, no)
        g.pc = yes
    else:
        part(g, taken, yes)
        g.pc = no
    return SPLIT


def split_guard(g: Group, p: Lanes, index: int) -> int:
    """A guard that differs between lanes on an instruction that may wait: the others go on."""
    taken = bit_mask(p & g.flags)
    part(g, g.mask & ~taken, index + 1)
    g.pc = index
    return SPLIT


def park(g: Group, index: int, wait: Wait) -> int:
    """Wait on a channel; the instruction is tried again when it is notified."""
    g.pc = index
    g.state = "wait"
    g.wait = wait
    wait.channel.waiters.append(g)
    if g.machine.hub.wait:
        g.machine.hub.on_wait(g, wait)
    return PARKED


def meet(g: Group, index: int) -> int:
    """Wait for other lanes of the warp to come to this instruction."""
    g.pc = index
    g.state = "meet"
    return PARKED


def leave(g: Group) -> int:
    """All lanes of the group exit."""
    return LEFT


def absorb(g: Group, other: Group, program: Program) -> None:
    """Join ``other``, which stands at the same instruction, to ``g``."""
    slots = (g.dirty | other.dirty) & program.live.get(g.pc, -1)
    mine, theirs = g.regs, other.regs
    flags = g.flags
    bits = program.kernel.bits
    while slots:
        low = slots & -slots
        slot = low.bit_length() - 1
        slots ^= low
        if mine[slot] is not theirs[slot]:
            mine[slot] = merge(flags, mine[slot], theirs[slot], bits[slot])
    g.mask |= other.mask
    g.forget_lanes()
    g.dirty |= other.dirty
    other.state = "dead"
    groups = g.warp.groups
    groups.remove(other)
    if len(groups) == 1:
        g.dirty = 0
        g.warp.split = False
