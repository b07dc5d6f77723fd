"""Tensor Memory as warps use it: tcgen05.ld, st, alloc, dealloc.

ld and st are asynchronous until the warp's tcgen05.wait; alloc and dealloc are synchronous (PTX ISA
"Memory Consistency Model for 5th generation of TensorCore operations"). A warp does each of them as
one: what one lane knows holds for all.
"""

from __future__ import annotations

from gemmgen.emulate.machine import Group
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.race.access import Access, Actor, knows
from gemmgen.emulate.race.clocks import EXECUTED, Clock
from gemmgen.emulate.race.rules import fault
from gemmgen.emulate.race.state import QUARTERS, cluster_state, cta_state, warp_clock

_NAMES = {"read": "tcgen05.ld", "write": "tcgen05.st", "alloc": "tcgen05.alloc",
          "free": "tcgen05.dealloc"}  # fmt: skip


def tensor_access(group: Group, instr: Instr, address: int, size: int, kind: str) -> None:
    """`size` columns from `address`, in the warp's own lanes or, for alloc and free, in all.

    Raises E264, E265.
    """
    warp = warp_clock(group.warp)
    access = Access(
        _NAMES[kind], kind != "read", instr, group.cta, group.warp.index, group.mask, warp.base,
        warp.mark(), proxy="tmem",
    )  # fmt: skip
    first = address & 0xFFFF
    where, rows = slice(first, first + size), slice(0, QUARTERS)
    if kind in ("read", "write"):
        key = (_NAMES[kind][-2:], warp.base)
        access.column, access.epoch = cluster_state(group.cta.cluster).in_order(key)
        quarter = address >> 21 & 3
        rows = slice(quarter, quarter + 1)
    clock = warp.release(group.mask)
    ctas = [group.cta]
    if kind == "alloc":
        cta_state(group.cta).allocated = access
    elif kind == "free" and "cta_group::2" in instr.opcode:
        _check_peer(access, group, clock)
        ctas.append(group.cta.cluster.ctas[group.cta.rank ^ 1])
    for cta in ctas:  # what a pair has allocated together it frees together
        cta_state(cta).tensor.touch(Actor(access, [(group.mask, clock)]), (rows, where))


def _check_peer(access: Access, group: Group, clock: Clock) -> None:
    """Raise E264 when the peer may still be in the allocation of the pair (CUTLASS issue 3435)."""
    peer = group.cta.cluster.ctas[group.cta.rank ^ 1]
    old = cta_state(peer).allocated
    if old is not None and not knows(clock.near, old, EXECUTED):
        detail = f"{group.cta.where()} frees what its peer may still be allocating with it"
        raise fault("E264", detail, old, access, "a cluster barrier after the allocations")
