"""Naming the MMA that a warp did not wait for, and the edge that would have made it wait.

Nothing is kept for it: what is unfinished is still in flight when the fault is found.
"""

from __future__ import annotations

from collections.abc import Sequence

from gemmgen.emulate.asyncops import AsyncOp
from gemmgen.emulate.errors import Earlier, EmulationError
from gemmgen.emulate.machine import Cta, lanes_text


def blame_mma(error: EmulationError, cta: Cta, first: int, columns: int) -> EmulationError:
    """Add to `error` the latest unfinished MMA that writes one of the columns, and what is missing
    after it: its commit, or a wait for that commit. Without such an MMA `error` stays as it is.
    """
    pending = cta.machine.pending
    found = [o for o in pending if o.kind == "mma" and _writes(o, cta, first, columns)]
    if not found:
        return error
    last = found[-1]
    commit = _commit(pending, last)
    if commit is None:
        missing = (
            "tcgen05.commit after the MMA, in the thread that issued it, and a wait for its "
            "mbarrier here (no such commit has been issued)"
        )
    else:
        missing = f"a wait on barrier {commit.signals} that ends after the {_earlier(commit)}"
    return error.after(_earlier(last), missing)


def _writes(operation: AsyncOp, cta: Cta, first: int, columns: int) -> bool:
    for touch in operation.touches() if operation.touches is not None else ():
        if touch.space == "tmem" and touch.writes and touch.cta is cta:
            assert isinstance(touch.where, slice)
            if touch.where.start < first + columns and first < touch.where.stop:
                return True
    return False


def _commit(pending: Sequence[AsyncOp], mma: AsyncOp) -> AsyncOp | None:
    """The last commit by the thread of an MMA before its next MMA, so that of a whole tile rather
    than that of a stage.
    """
    found = None
    for later in pending[pending.index(mma) + 1 :]:
        if later.group is not None and mma.group is not None:
            if later.group.warp is not mma.group.warp or later.lane != mma.lane:
                continue
            if later.kind == "mma":
                break
            found = later if later.kind == "commit" else found
    return found


def _earlier(operation: AsyncOp) -> Earlier:
    assert operation.group is not None
    assert operation.instr is not None
    group = operation.group
    by = f"{group.cta.where()}, warp {group.warp.index}, {lanes_text(1 << operation.lane)}"
    return Earlier(f"tcgen05.{operation.kind}", by, operation.instr.place)
