"""The steps of one CTA of a kernel for wgmma, as the templates print them.

Each warp of a consumer is a thread of its own: it multiplies its rows, waits for its part of a
wgmma and arrives for itself. What the warps of a warpgroup do together is not relied on.
"""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.plan.barriers import Purpose
from gemmgen.plan.cta_program import CtaProgram
from gemmgen.plan.cursor import Cursor
from gemmgen.plan.roles import is_specialized
from gemmgen.plan.steps import Arrive, Fill, Init, Mma, Read, Retire, Step, Sync, Thread
from gemmgen.terms import ArriveTo, LoadKind, MainloopKind, Role


class WarpgroupProgram(CtaProgram):
    """Builds the threads of the CTA at `rank` in a cluster: a producer, and each mma warp."""

    def threads(self) -> tuple[Thread, ...]:
        """Threads of this CTA."""
        warps = self.plan.role(Role.MMA).warps
        bodies: list[tuple[str, bool, Iterator[Step]]] = []
        if is_specialized(self.plan.spec):
            first = 0 in self.plan.role(Role.PRODUCER).warps
            bodies.append(("producer", first, self.loader()))
            bodies += [
                (f"mma warp {warp}", warp == 0, self.consume(i, warp))
                for i, warp in enumerate(warps)
            ]
        else:
            bodies += [(f"warp {warp}", warp == 0, self.in_step(warp)) for warp in warps]
        return tuple(
            Thread(self.rank, name, (*self.start(first), *steps)) for name, first, steps in bodies
        )

    def start(self, first: bool) -> Iterator[Step]:
        """Barriers, and the CTA or cluster barrier before anybody uses them."""
        if not self.plan.barriers:
            return
        if first:
            yield Init()
        yield Sync(tuple(range(self.plan.geometry.cluster_size)), "setup")

    def loader(self) -> Iterator[Step]:
        """The producer; in a cluster it stays until its peer has signalled it for the last time."""
        depth = self.plan.spec.pipeline.ab_stages
        ring = Cursor(self.plan.barrier(Purpose.AB_EMPTY), Role.PRODUCER, depth)
        for tile in range(self.tiles):
            ring.next_tile()
            for k in range(self.k_tiles):
                yield from ring.waits()
                yield from self.loads(ring.slot, (tile, k))
                ring.advance()
        for _ in range(depth if self.plan.geometry.cluster_size > 1 else 0):
            yield from ring.waits()
            ring.advance()

    def consume(self, index: int, warp: int) -> Iterator[Step]:
        """The mma warp `index` of all: its tiles, and the stages that it hands back."""
        plan, g = self.plan, self.plan.geometry
        consumer = index // plan.arch.warps_per_group
        in_turn = plan.spec.mainloop.kind is MainloopKind.PINGPONG
        ring = Cursor(plan.barrier(Purpose.AB_FULL), Role.MMA, plan.spec.pipeline.ab_stages)
        turn = Cursor(plan.barrier(Purpose.MMA_TURN), Role.MMA, 1, consumer)
        turn.phase = begins = 0 if consumer else turn.phase
        for tile in range(self.tiles):
            if in_turn and tile % g.consumers != consumer:
                for _ in range(self.k_tiles):
                    ring.advance()
                continue
            ring.next_tile()
            turn.phase = turn.phase if turn.carried else begins
            yield from turn.waits()
            turn.advance()
            last = ring.slot
            for k in range(self.k_tiles):
                yield from ring.waits()
                yield Mma(ring.slot, warp, (self.rank,), (tile, k), first=k == 0)
                yield Retire(1)
                if k:
                    yield from self.hand_back(last)
                last = ring.slot
                ring.advance()
            yield from self.pass_turn(consumer)
            yield Retire(0)
            yield from self.hand_back(last)
            yield Read(warp, tile)

    def hand_back(self, slot: int) -> Iterator[Step]:
        """One arrival at each CTA whose loads this stage waits for."""
        empty = self.plan.barrier(Purpose.AB_EMPTY)
        if empty is None:
            return
        for arrive in empty.arrives:
            ranks = {self.rank}
            if arrive.to is ArriveTo.SHARERS:
                ranks |= set(self.sharers())
            for rank in sorted(ranks):
                yield Arrive(empty.name, slot % empty.depth, rank)

    def sharers(self) -> Iterator[int]:
        """CTAs whose loads write into this one."""
        for copy in self.plan.copies:
            for rank in range(self.plan.geometry.cluster_size if copy.mask else 0):
                if copy.mask is not None and self.rank in copy.mask.targets(rank):
                    yield rank

    def pass_turn(self, consumer: int) -> Iterator[Step]:
        """The tensor core is the next consumer's."""
        turn = self.plan.barrier(Purpose.MMA_TURN)
        if turn is not None and turn.arrives:
            yield Arrive(turn.name, (consumer + 1) % turn.depth, self.rank)

    def in_step(self, warp: int) -> Iterator[Step]:
        """A warp of a CTA that loads and multiplies in turn, or a ring ahead."""
        plan = self.plan
        stages, loads = plan.spec.pipeline.ab_stages, warp in plan.role(Role.PRODUCER).warps
        plain = plan.spec.load.kind is LoadKind.COOPERATIVE
        ahead = stages if plan.spec.mainloop.kind is MainloopKind.PREFETCH else 0
        full = Cursor(plan.barrier(Purpose.AB_FULL), Role.MMA, stages)
        for k in range(min(ahead, self.k_tiles) if loads else 0):
            yield from self.loads(k, (0, k))
        for k in range(self.k_tiles):
            if plain:
                yield from (Fill(copy.operand, 0, warp, (0, k)) for copy in plan.copies)
                yield Sync((self.rank,), "after the copies")
            elif loads and not ahead:
                yield from self.loads(full.slot, (0, k))
            yield from full.waits()
            yield Mma(full.slot, warp, (self.rank,), (0, k), first=k == 0)
            yield Retire(0)
            yield Sync((self.rank,), "after the k_tile")
            if loads and ahead and k + ahead < self.k_tiles:
                yield from self.loads(full.slot, (0, k + ahead))
            full.advance()
        yield Read(warp, 0)
