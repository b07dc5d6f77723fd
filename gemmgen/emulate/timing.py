"""Timing policies: which warp runs next, and when asynchronous work takes effect. Deterministic
by seed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from gemmgen.emulate.asyncops import AsyncOp
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.machine import Group, Machine
from gemmgen.emulate.settings import Settings


@dataclass(slots=True)
class Stamp:
    """A point in emulated time, in steps; NaN until the policy knows it."""

    time: float = math.nan


def heads(pending: Sequence[AsyncOp]) -> list[AsyncOp]:
    """The operations that may complete now: the first of each queue and those without one."""
    seen = set()
    out = []
    for operation in pending:
        if operation.queue is None:
            out.append(operation)
        elif operation.queue not in seen:
            seen.add(operation.queue)
            out.append(operation)
    return out


class Timing:
    """The lazy policy, and the base of the others: work completes only when no warp can run,
    newest first, so that of two operations without an order between them the later one wins.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.rng = random.Random(f"{settings.timing}:{settings.seed}")

    def at_once(self, operation: AsyncOp, pending: Sequence[AsyncOp]) -> bool:
        """Whether an operation completes as it is submitted; ``pending`` includes it."""
        return False

    def stamp(self, machine: Machine) -> Stamp:
        """The emulated time of what happens now: warp instructions and completions so far."""
        return Stamp(machine.instructions + machine.clock)

    def began(self, group: Group) -> Stamp:
        """When the slice that the group is in began, as far as the policy knows."""
        return self.stamp(group.machine)

    def quantum(self) -> int:
        """Blocks until another warp is picked."""
        return self.settings.quantum

    def choose(self, ready: Sequence[Group], pending: Sequence[AsyncOp]) -> Group | AsyncOp:
        """What happens next; at least one of the two is not empty."""
        return ready[0] if ready else self.late(heads(pending))

    def late(self, operations: list[AsyncOp]) -> AsyncOp:
        """The operation that completes when nothing else can happen."""
        return operations[-1]


class Eager(Timing):
    """Work completes as it is issued, in the order of its queue."""

    def at_once(self, operation: AsyncOp, pending: Sequence[AsyncOp]) -> bool:
        return operation.queue is None or all(
            o is operation or o.queue != operation.queue for o in pending
        )

    def choose(self, ready: Sequence[Group], pending: Sequence[AsyncOp]) -> Group | AsyncOp:
        return heads(pending)[0] if pending else ready[0]


class Random(Timing):
    """Warps and completions in random order, in slices of random length."""

    def quantum(self) -> int:
        return self.rng.choice((1, 2, 4, 16, 64, self.settings.quantum))

    def choose(self, ready: Sequence[Group], pending: Sequence[AsyncOp]) -> Group | AsyncOp:
        if not ready or (pending and self.rng.random() < 0.3):
            return self.rng.choice(heads(pending))
        return self.rng.choice(ready)


class Pct(Timing):
    """Random priorities of warps and of kinds of work, with a few points at which the highest
    drops to the lowest: Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees
    of Finding Bugs" (ASPLOS 2010).
    """

    _HORIZONS = (100, 400, 1600, 6400)  # choices among which the changes fall; one is drawn

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.rank: dict[object, float] = {}
        points = range(1, self.rng.choice(self._HORIZONS))
        self.drops = sorted(self.rng.sample(points, settings.pct_depth), reverse=True)
        self.steps = 0
        self.lowest = 0.0

    def quantum(self) -> int:
        return 8

    def _priority(self, key: object) -> float:
        if key not in self.rank:
            self.rank[key] = self.rng.random() + 1
        return self.rank[key]

    def choose(self, ready: Sequence[Group], pending: Sequence[AsyncOp]) -> Group | AsyncOp:
        self.steps += 1
        options: list[tuple[float, int, object, Group | AsyncOp]] = []
        for g in ready:
            key = (g.cta.linear, g.warp.index)
            options.append((self._priority(key), -g.serial, key, g))
        for operation in heads(pending):
            key2 = (operation.kind, operation.cta.linear)
            options.append((self._priority(key2), -operation.serial, key2, operation))
        best = max(options, key=lambda o: o[:2])
        if self.drops and self.steps >= self.drops[-1]:
            self.drops.pop()
            self.lowest -= 1
            self.rank[best[2]] = self.lowest
        return best[3]


class Starve(Random):
    """Work of some kinds completes only when nothing else can happen; the rest is random."""

    _KINDS = ("tma_load", "tma_store", "tma_write", "mma", "commit", "wgmma", "bulk_copy")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        drawn = self.rng.choice(self._KINDS)
        self.kinds = set((settings.target or drawn).split(","))

    def choose(self, ready: Sequence[Group], pending: Sequence[AsyncOp]) -> Group | AsyncOp:
        if not pending:
            return self.rng.choice(ready)
        free = [o for o in heads(pending) if o.kind not in self.kinds]
        if ready and (not free or self.rng.random() < 0.6):
            return self.rng.choice(ready)
        return self.rng.choice(free) if free else heads(pending)[-1]


class Delay(Random):
    """One CTA (of its cluster) or one warp runs only when nothing else can happen."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.cta, self.warp = self._parse(settings.target)

    def _parse(self, target: str) -> tuple[int, int | None]:
        if not target:
            warp = self.rng.choice((None, *range(8)))
            return self.rng.randrange(2), warp
        cta, _, warp_text = target.partition(".")
        if not cta.isdigit() or (warp_text and not warp_text.isdigit()):
            raise EmulationError("E217", f"delay target `{target}` is not `CTA` or `CTA.WARP`")
        return int(cta), int(warp_text) if warp_text else None

    def _late(self, g: Group) -> bool:
        return g.cta.rank == self.cta and self.warp in (None, g.warp.index)

    def choose(self, ready: Sequence[Group], pending: Sequence[AsyncOp]) -> Group | AsyncOp:
        prompt = [g for g in ready if not self._late(g)]
        if prompt or pending:
            return super().choose(prompt, pending)
        return ready[0]


POLICIES: dict[str, type[Timing]] = {
    "lazy": Timing,
    "eager": Eager,
    "random": Random,
    "pct": Pct,
    "starve": Starve,
    "delay": Delay,
}


def timing(settings: Settings) -> Timing:
    """The policy that the settings name. Raises E217 for an unknown name."""
    if settings.timing == "nominal":
        from gemmgen.emulate.nominal import Nominal

        return Nominal(settings)
    found = POLICIES.get(settings.timing)
    if found is None:
        raise EmulationError(
            "E217", f"timing `{settings.timing}` is not one of {', '.join(POLICIES)}"
        )
    return found(settings)
