"""What must be over before a CTA exits: whatever reaches into its memory from elsewhere, or
asynchronously.

After the exit of a CTA its shared memory may belong to another (CUDA Programming Guide,
"Distributed Shared Memory": a CTA must not exit while others access its shared memory).
"""

from __future__ import annotations

import numpy as np

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import WARP
from gemmgen.emulate.machine import Cta, lanes_text
from gemmgen.emulate.race.access import Access
from gemmgen.emulate.race.clocks import EXECUTED, Ticks, absorbed
from gemmgen.emulate.race.rules import TITLES
from gemmgen.emulate.race.state import cta_state, warp_clock


def reached(cta: Cta, access: Access) -> None:
    """Note an access, or a signal, into a CTA by another one or by asynchronous work."""
    held = cta_state(cta).reached
    if access.column >= 0:
        held[access.column] = access
        return
    for lane in range(WARP):
        if access.mask >> lane & 1:
            held[access.base + lane] = access


def check(cta: Cta) -> None:
    """A CTA exits. Raises E268 when something that reached into it may come later."""
    state = cta_state(cta)
    known = _known(cta)
    for column, access in state.reached.items():
        if column >= known.size or known[column] < access.epoch:
            raise _fault(cta, access)
    state.reached.clear()


def _known(cta: Cta) -> Ticks:
    """What the threads of a CTA know together at their exits, of what has executed."""
    all_ = None
    for warp in cta.warps:
        clock = warp_clock(warp)
        for part in clock.parts:
            all_ = part.near.copy() if all_ is None else absorbed(all_, part.near)
    assert all_ is not None
    known: Ticks = all_[EXECUTED]
    for warp in cta.warps:
        base = warp_clock(warp).base
        known[base : base + WARP] = np.iinfo(np.int32).max
    return known


def _fault(cta: Cta, access: Access) -> EmulationError:
    place = access.instr.place if access.instr is not None else None
    missing = {
        "tensor store": "cp.async.bulk.wait_group.read by the storing thread, before it exits",
        "tcgen05.commit": "a wait in this CTA on the mbarrier that the commit arrives on",
    }.get(access.kind, "a wait in this CTA for it, or a cluster barrier at the end of both CTAs")
    detail = (
        f"nothing that {cta.where()} has waited for says that this is over:\n"
        f"  first: {access}\n  then: the exit of {cta.where()}\n  missing: {missing}"
    )
    error = EmulationError("E268", detail, place=place, title=TITLES["E268"])
    error.where = f"{access.cta.where()}, warp {access.warp}, {lanes_text(access.mask)}"
    return error
