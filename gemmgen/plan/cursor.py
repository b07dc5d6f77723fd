"""The variables with which a role walks a ring."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.plan.barriers import BarrierPlan, Flip
from gemmgen.plan.steps import Step, Wait
from gemmgen.terms import Role


class Cursor:
    """The pair of variables that walks a ring: a slot, and the phase that the next wait names."""

    def __init__(
        self, barrier: BarrierPlan | None, role: Role, depth: int, consumer: int = 0
    ) -> None:
        self.barrier = barrier
        self.first = consumer * depth
        self.wait = next((w for w in barrier.waits if w.role is role), None) if barrier else None
        self.depth = depth
        self.carried = self.wait.carried if self.wait else True
        self.reset()

    @property
    def index(self) -> int:
        """The slot where it stands, counted over the rings of all consumers."""
        return self.first + self.slot

    def reset(self) -> None:
        """Back to the first slot and phase."""
        self.slot = 0
        self.phase = self.wait.first_phase if self.wait else 0

    def next_tile(self) -> None:
        """A new output tile: only a cursor that is not carried starts again."""
        if not self.carried:
            self.reset()

    def waits(self) -> Iterator[Step]:
        """The wait at the slot where it stands."""
        if self.barrier is not None and self.wait is not None:
            yield Wait(self.barrier.name, self.index % self.barrier.depth, self.phase)

    def advance(self) -> None:
        """To the next slot, flipping the phase as the plan says."""
        self.slot += 1
        wrapped = self.slot == self.depth
        if wrapped:
            self.slot = 0
        flips = self.wait.flips if self.wait else Flip.NEVER
        if flips is Flip.EACH_USE or (flips is Flip.ON_WRAP and wrapped):
            self.phase ^= 1
