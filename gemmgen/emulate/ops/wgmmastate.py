"""The wgmmas of a warpgroup that are in flight, and the accumulators that they build.

The four warps of a warpgroup issue the same wgmmas; one is carried out when all four have issued
it. Its results appear in registers only when a `wgmma.wait_group` that covers it has passed. Until
then the registers hold NaN patterns, so a use that comes too early shows.

Results are filled into the arrays that the registers already hold: where the compiler moves a
register before the wait, the copy is filled too, as it is on hardware, where the wait orders the
value and not the name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.asyncops import AsyncOp, Channel
from gemmgen.emulate.lanes import spread
from gemmgen.emulate.machine import Cta, Warp
from gemmgen.emulate.tensor.faults import fault
from gemmgen.emulate.tensor.fragments import WARPS, fragment_of, matrix_of

_POISON = 0x7FD0BAD1
_KEY = "wgmma"


class Accumulator:
    """One accumulator of 64 by N: its values, and the register arrays that will show them."""

    def __init__(self, registers: int, d: str) -> None:
        self.d = d
        self.values: NDArray[Any] | None = None
        self.sources: list[Sequence[Any] | None] = [None] * WARPS
        """Registers that hold the starting values, for each warp; None for zero."""
        self.unfinished = 0
        self.filled = False
        self.registers = registers
        self._renew()

    def _renew(self) -> None:
        self.block = np.full((WARPS, self.registers, 32), _POISON, dtype=np.uint32)
        self.rows = [list(part) for part in self.block]
        self.filled = False

    def holds(self, warp: int, values: Sequence[Any]) -> bool:
        """Whether a warp's registers are the very arrays of this accumulator."""
        rows = self.rows[warp]
        return len(rows) == len(values) and all(map(is_, values, rows))

    def successor(self) -> Accumulator:
        """Return an accumulator that goes on from these values in fresh register arrays."""
        after = Accumulator.__new__(Accumulator)
        after.__dict__.update(self.__dict__)
        after.sources = [None] * WARPS
        after._renew()
        return after

    def start(self) -> NDArray[Any] | None:
        """Return the values to add to, gathered from registers where need be; None for zero."""
        sources = [s for s in self.sources if s is not None]
        if self.values is None and sources:
            if len(sources) != WARPS:
                raise fault("E248", "the warps of the warpgroup do not agree on scale-d")
            stacks = [np.stack([spread(value, 32) for value in source]) for source in sources]
            self.values = matrix_of(np.stack(stacks), self.d)
        return self.values

    def fill(self) -> None:
        """Show the values in the registers of all four warps."""
        if not self.filled and self.values is not None:
            self.block[...] = fragment_of(self.values, self.d)
            self.filled = True


@dataclass(eq=False, slots=True)
class Issued:
    """One wgmma as far as the warps have issued it."""

    index: int
    descriptors: tuple[int, ...]
    accumulator: Accumulator
    a_registers: dict[int, list[Any]] = field(default_factory=dict)
    warps: set[int] = field(default_factory=set)
    operation: AsyncOp | None = None
    channel: Channel = field(default_factory=Channel)
    mark: Any = None  # the listeners' own

    def __post_init__(self) -> None:
        self.accumulator.unfinished += 1

    @property
    def done(self) -> bool:
        return self.operation is not None and self.operation.done

    def waits_on(self) -> Channel:
        """Return the channel that tells of progress: issue by all warps, then completion."""
        return self.channel if self.operation is None else self.operation.channel


@dataclass(eq=False, slots=True)
class WarpState:
    """What one warp has issued: how many wgmmas, and its groups, oldest first."""

    count: int = 0
    fenced: bool = False
    recent: list[Accumulator] = field(default_factory=list)
    """Accumulators that this warp's registers may still hold, newest last."""
    waiting: Issued | None = None
    """A wgmma that must show its result at once and that other warps have yet to issue."""
    open: list[Issued] = field(default_factory=list)
    committed: list[list[Issued]] = field(default_factory=list)

    def holding(self, warp: int, values: Sequence[Any] | None) -> Accumulator | None:
        """Return the accumulator whose register arrays the values are, if any."""
        if values is None:
            return None
        return next((a for a in reversed(self.recent) if a.holds(warp, values)), None)

    def remember(self, accumulator: Accumulator) -> None:
        """Note that the warp's registers hold an accumulator."""
        if accumulator not in self.recent:
            self.recent = [*self.recent[-7:], accumulator]


@dataclass(eq=False, slots=True)
class WarpgroupState:
    """Wgmmas in the order of issue; `base` counts those that were dropped from the front."""

    issued: list[Issued] = field(default_factory=list)
    base: int = 0

    def at(self, number: int) -> Issued | None:
        """Return the wgmma of that number when another warp has issued it already."""
        place = number - self.base
        return self.issued[place] if place < len(self.issued) else None

    def forget(self) -> None:
        """Drop finished wgmmas from the front."""
        while self.issued and self.issued[0].done:
            self.issued.pop(0)
            self.base += 1


def warp_state(warp: Warp) -> WarpState:
    """Return the state of a warp."""
    state: WarpState | None = warp.ext.get(_KEY)
    if state is None:
        state = warp.ext[_KEY] = WarpState()
    return state


def warpgroup_state(cta: Cta, warp: Warp) -> WarpgroupState:
    """Return the state of the warpgroup that a warp belongs to."""
    groups: dict[int, WarpgroupState] = cta.ext.setdefault(_KEY, {})
    return groups.setdefault(warp.index // WARPS, WarpgroupState())
