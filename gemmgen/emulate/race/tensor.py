"""Tensor Memory as warps use it: tcgen05.ld, st, alloc, dealloc.

ld and st are asynchronous until the warp's tcgen05.wait; alloc and dealloc are synchronous (PTX ISA
"Memory Consistency Model for 5th generation of TensorCore operations"). A warp does each of them as
one: what one lane knows holds for all.
"""

from __future__ import annotations

from gemmgen.emulate.machine import Group
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.race.access import Access, Actor
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
    cta_state(group.cta).tensor.touch(Actor(access, [(group.mask, clock)]), (rows, where))
