"""The steps of one CTA whose threads copy A and B themselves, as the templates print them."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.plan.barriers import BarrierPlan, Purpose
from gemmgen.plan.cta_program import Body, CtaProgram
from gemmgen.plan.cursor import Cursor
from gemmgen.plan.make import Plan
from gemmgen.plan.roles import is_specialized
from gemmgen.plan.steps import Arrive, Fill, Item, Mma, Read, Step, Sync
from gemmgen.terms import ArriveHow, MainloopKind, Role


def copy_parts(plan: Plan) -> tuple[tuple[int, ...], ...]:
    """Warps that copy a stage: one of them and the others, as none runs in step with another.

    Where all warps copy, the one is the warp that issues the MMAs.
    """
    warps = plan.role(Role.PRODUCER).warps
    one = warps[:1] if is_specialized(plan.spec) else plan.role(Role.MMA).warps
    rest = tuple(warp for warp in warps if warp not in one)
    return (one, rest) if rest else (one,)


class CooperativeProgram(CtaProgram):
    """Builds the threads of a CTA with plain copies in place of TMA loads."""

    def fills(self, stage: int, part: int, item: Item) -> Iterator[Step]:
        """The share of some warps of one k_tile."""
        for copy in self.plan.copies:
            yield Fill(copy.operand, stage, part, item)

    def in_turn(self) -> list[Body]:
        """All warps copy, and wait for the MMAs that one of them issues."""
        names = ("mainloop", "copies")
        parts = enumerate(copy_parts(self.plan))
        return [(names[part], warps, list(self.all_copy(part))) for part, warps in parts]

    def all_copy(self, part: int) -> Iterator[Step]:
        """Every tile of some warps: its mainloop, then its epilogue."""
        done = Cursor(self.plan.barrier(Purpose.MMA_DONE), Role.PRODUCER, 1)
        reads = set(copy_parts(self.plan)[part]) & set(self.plan.role(Role.EPILOGUE).warps)
        for tile in range(self.tiles):
            done.next_tile()
            yield from self.k_walk(part, done, tile)
            if reads and self.plan.persistent:
                yield Read(0, tile)  # the MMAs of the next tile follow a barrier after its copies
        if part == 0:
            yield from self.commit(Purpose.ACC_FULL, 0)
        if reads and not self.plan.persistent:
            yield from self.epilogue()

    def k_walk(self, part: int, done: Cursor, tile: int) -> Iterator[Step]:
        """The mainloop of a tile: all stages but one are filled ahead of the MMAs."""
        stages = self.plan.spec.pipeline.ab_stages
        ahead = stages - 1 if self.plan.spec.mainloop.kind is MainloopKind.PREFETCH else 0
        for k in range(min(ahead, self.k_tiles)):
            yield from self.fills(k, part, (tile, k))
        for k in range(self.k_tiles):
            if not ahead:
                yield from self.fills(0, part, (tile, k))
            yield Sync((self.rank,), "after the copies")
            if part == 0:
                yield Mma(k % stages, 0, self.group, (tile, k), first=k == 0)
                yield from self.commit(Purpose.MMA_DONE, 0)
            if ahead and k + ahead < self.k_tiles:
                yield from self.fills((k + ahead) % stages, part, (tile, k + ahead))
            yield from done.waits()
            done.advance()

    def issuers(self) -> Iterator[Body]:
        """The producer's warps, and each mma warp."""
        parts = copy_parts(self.plan)
        for part, warps in enumerate(parts):
            name = f"producer {part}" if len(parts) > 1 else "producer"
            yield name, warps, list(self.producer_part(part, len(warps)))
        yield from self.multipliers()

    def copied(self, full: BarrierPlan | None, slot: int, warps: int) -> Iterator[Step]:
        """The arrivals of some warps that have copied their share of a stage."""
        for arrive in full.arrives if full else ():
            if full is None or arrive.how is not ArriveHow.THREADS:
                continue
            for rank in self.reached(arrive):
                yield Arrive(full.name, slot % full.depth, rank, 32 * warps)

    def producer_part(self, part: int, warps: int) -> Iterator[Step]:
        """Some warps of the producer of a warp-specialized kernel: each thread says what it did."""
        plan, depth = self.plan, self.plan.spec.pipeline.ab_stages
        ring = Cursor(plan.barrier(Purpose.AB_EMPTY), Role.PRODUCER, depth)
        full = plan.barrier(Purpose.AB_FULL)
        for tile in range(self.tiles):
            ring.next_tile()
            for k in range(self.k_tiles):
                yield from ring.waits()
                yield from self.fills(ring.slot, part, (tile, k))
                yield from self.copied(full, ring.slot, warps)
                ring.advance()
        for _ in range(depth):  # a lap more: no commit is under way at exit
            yield from ring.waits()
            ring.advance()
