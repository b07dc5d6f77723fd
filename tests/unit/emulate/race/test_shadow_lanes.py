"""Operations in a row know the same, and each piece of memory is still judged by its own lane."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gemmgen.emulate.race.access import Access, Actor, ordered
from gemmgen.emulate.race.clocks import Clock
from gemmgen.emulate.race.shadow import Cells, Shadow

CTA: Any = SimpleNamespace(cluster=SimpleNamespace(index=0))
LANES, PIECE, EPOCH = 4, 16, 5
WRITE = (1 << LANES) - 1


class Verdicts:
    """Remembers whether each judged piece was written before it is read."""

    def __init__(self) -> None:
        self.said: list[bool] = []

    def __call__(self, old: Access, now: Actor, cells: Cells, unit: int) -> None:
        self.said.append(ordered(old, now, cells, unit))

    def simple(self, old: Access, now: Access) -> bool:
        return True


def known(lanes: int) -> Clock:
    """A clock that knows what the first `lanes` lanes of warp 0 have done."""
    ticks = np.zeros((8, 64), dtype=np.int32)
    ticks[:, :lanes] = EPOCH
    return Clock(0, ticks)


@pytest.mark.parametrize("lanes", range(LANES + 1))
def test_a_read_in_pieces_is_judged_by_the_lane_that_wrote_each(lanes: int) -> None:
    verdicts = Verdicts()
    shadow = Shadow(8, verdicts)
    starts = np.arange(LANES, dtype=np.int64) * PIECE
    write = Access("st.shared", True, None, CTA, 0, WRITE, 0, EPOCH, starts=starts, size=PIECE)
    shadow.touch_runs(Actor(write, [(WRITE, known(0))]), starts, PIECE)
    mma = Access("tcgen05.mma", False, None, CTA, 1, 1, 32, 9, column=40, proxy="async")
    reader = Actor(mma, [(1, known(lanes))])
    for piece in range(LANES):
        shadow.touch(reader, slice(piece, piece + 1))
    right = [piece < lanes for piece in range(LANES)]
    assert verdicts.said == ([] if lanes == LANES else right)
