"""The steps of one CTA of a kernel for tensor memory, as the templates print them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

from gemmgen.plan.barriers import ArrivePlan, BarrierPlan, Purpose
from gemmgen.plan.copies import Copy
from gemmgen.plan.cursor import Cursor
from gemmgen.plan.make import Plan
from gemmgen.plan.roles import is_specialized
from gemmgen.plan.steps import (
    Alloc,
    Arm,
    Arrive,
    Commit,
    Dealloc,
    Init,
    Load,
    Mma,
    Part,
    Read,
    Retrieve,
    Step,
    Sync,
    Thread,
)
from gemmgen.terms import ArriveHow, ArriveTo, MainloopKind, Operand, Role

Body: TypeAlias = tuple[str, tuple[int, ...], list[Step]]
"""A thread before setup and teardown: its name, its warps, its steps."""


class CtaProgram:
    """Builds the threads of the CTA at `rank` in a cluster."""

    def __init__(self, plan: Plan, rank: int, k_tiles: int, tiles: int) -> None:
        self.plan, self.rank = plan, rank
        self.k_tiles, self.tiles = k_tiles, tiles
        g = plan.geometry
        self.leader = g.leader(rank)
        self.leads = rank == self.leader
        self.group = tuple(range(self.leader, self.leader + g.cta_group))
        self.parts: dict[Operand, tuple[Part, ...]] = {}

    # Steps of one place.

    def arm(self, slot: int) -> Iterator[Step]:
        """The arrival that announces the bytes of a stage."""
        full = self.plan.barrier(Purpose.AB_FULL)
        if full is None or full.tx_bytes is None or (full.on_leader and not self.leads):
            return
        if all(arrive.how is not ArriveHow.TX for arrive in full.arrives):
            return
        yield Arm(full.name, slot % full.depth, self.rank, full.tx_bytes.value)

    def load(self, copy: Copy, stage: int, item: tuple[int, int]) -> Iterator[Step]:
        """One operand of one k_tile."""
        full = self.plan.barrier(Purpose.AB_FULL)
        if full is None:
            return
        parts = self.parts.get(copy.operand)
        if parts is None:
            parts = self.parts[copy.operand] = tuple(self.written(copy, full))
        yield Load(copy.operand, stage, full.name, slot=stage % full.depth, parts=parts, item=item)

    def written(self, copy: Copy, full: BarrierPlan) -> Iterator[Part]:
        """What any load of one operand writes, and whose `full` counts it."""
        g = self.plan.geometry
        along = self.rank // g.cluster_m
        if copy.operand is Operand.B:
            along = self.rank % g.cluster_m // g.cta_group
        for target in copy.mask.targets(self.rank) if copy.mask else (self.rank,):
            yield Part(
                rank=target,
                slice=along if copy.slices > 1 else 0,
                bytes=copy.issued_bytes,
                signal=g.leader(target) if full.on_leader else target,
            )

    def loads(self, stage: int, item: tuple[int, int]) -> Iterator[Step]:
        """Both operands of one k_tile, announced and issued."""
        yield from self.arm(stage)
        for copy in self.plan.copies:
            yield from self.load(copy, stage, item)

    def commit(self, purpose: Purpose, slot: int) -> Iterator[Step]:
        """The commits on the barrier for `purpose`."""
        barrier = self.plan.barrier(purpose)
        for arrive in barrier.arrives if barrier else ():
            if barrier is not None and arrive.how is ArriveHow.COMMIT:
                yield Commit(barrier.name, slot % barrier.depth, self.reached(arrive))

    def arrive(self, purpose: Purpose, slot: int) -> Iterator[Step]:
        """The thread arrivals on the barrier for `purpose`."""
        barrier = self.plan.barrier(purpose)
        for arrive in barrier.arrives if barrier else ():
            if barrier is None or arrive.how not in (ArriveHow.THREAD, ArriveHow.THREADS):
                continue
            each = self.plan.epilogue.group_threads if arrive.how is ArriveHow.THREADS else 1
            for rank in self.reached(arrive):
                yield Arrive(barrier.name, slot % barrier.depth, rank, each)

    def reached(self, arrive: ArrivePlan) -> tuple[int, ...]:
        """CTAs whose barrier an arrival of this CTA reaches."""
        if arrive.mask is not None:
            return arrive.mask.targets(self.rank)
        if arrive.to is ArriveTo.LEADER:
            return (self.leader,)
        if arrive.to is ArriveTo.PAIR and arrive.how is not ArriveHow.COMMIT:
            return self.group
        return (self.rank,)

    # Roles.

    def producer(self) -> Iterator[Step]:
        """The producer of a warp-specialized kernel."""
        depth = self.plan.spec.pipeline.ab_stages
        ring = Cursor(self.plan.barrier(Purpose.AB_EMPTY), Role.PRODUCER, depth)
        for tile in range(self.tiles):
            ring.next_tile()
            for k in range(self.k_tiles):
                yield from ring.waits()
                yield from self.loads(ring.slot, (tile, k))
                ring.advance()
        for _ in range(depth):  # a lap more: no commit is under way at exit
            yield from ring.waits()
            ring.advance()

    def mma(self, consumer: int) -> Iterator[Step]:
        """One warp of the mma role of a warp-specialized kernel, with its accumulators."""
        if not self.leads:
            return
        pipeline = self.plan.spec.pipeline
        ring = Cursor(self.plan.barrier(Purpose.AB_FULL), Role.MMA, pipeline.ab_stages)
        slots = Cursor(
            self.plan.barrier(Purpose.ACC_EMPTY), Role.MMA, pipeline.acc_stages, consumer
        )
        for tile in range(self.tiles):
            ring.next_tile()
            slots.next_tile()
            yield from slots.waits()
            for k in range(self.k_tiles):
                yield from ring.waits()
                yield Mma(ring.slot, slots.index, self.group, (tile, k), first=k == 0)
                yield from self.commit(Purpose.AB_EMPTY, ring.slot)
                ring.advance()
            yield from self.commit(Purpose.ACC_FULL, slots.index)
            slots.advance()

    def epilogue(self, consumer: int = 0) -> Iterator[Step]:
        """Reads of a consumer's accumulator, each slot handed back as soon as it is read."""
        depth = self.plan.spec.pipeline.acc_stages
        slots = Cursor(self.plan.barrier(Purpose.ACC_FULL), Role.EPILOGUE, depth, consumer)
        for tile in range(self.tiles):
            slots.next_tile()
            yield from slots.waits()
            yield Read(slots.index, tile)
            yield from self.arrive(Purpose.ACC_EMPTY, slots.index)
            slots.advance()

    def one_warp(self, full: Cursor, done: Cursor, tile: int) -> Iterator[Step]:
        """The mainloop of one warp that loads and multiplies in turn, or a ring ahead."""
        plan = self.plan
        stages = plan.spec.pipeline.ab_stages
        ahead = stages if plan.spec.mainloop.kind is MainloopKind.PREFETCH else 0
        for k in range(min(ahead, self.k_tiles)):
            yield from self.loads((full.slot + k) % stages, (tile, k))
        for k in range(self.k_tiles):
            if not ahead:
                yield from self.loads(full.slot, (tile, k))
            yield from full.waits()
            yield Mma(full.slot, 0, self.group, (tile, k), first=k == 0)
            yield from self.commit(Purpose.MMA_DONE, 0)
            yield from done.waits()
            if ahead and k + ahead < self.k_tiles:
                yield from self.loads(full.slot, (tile, k + ahead))
            full.advance()
            done.advance()
        yield from self.commit(Purpose.ACC_FULL, 0)

    # Threads.

    def threads(self) -> tuple[Thread, ...]:
        """Threads of this CTA."""
        bodies = self.specialized() if is_specialized(self.plan.spec) else self.in_turn()
        if all(0 not in warps for _, warps, _ in bodies):
            bodies.append(("warp 0", (0,), []))
        return tuple(
            Thread(self.rank, name, (*self.setup(0 in warps), *body, *self.teardown(0 in warps)))
            for name, warps, body in bodies
        )

    def specialized(self) -> list[Body]:
        """Producer, mma and epilogue; warps that join the epilogue later carry on with it."""
        taken: set[int] = set()
        out: list[Body] = []
        for name, warps, steps in self.issuers():
            out.append((name, warps, [*steps, *self.joined(warps)]))
            taken |= set(warps)
        groups = self.groups()
        for consumer, group in enumerate(groups):
            name = f"epilogue {consumer}" if len(groups) > 1 else "epilogue"
            if rest := tuple(warp for warp in group if warp not in taken):
                out.append((name, rest, list(self.epilogue(consumer))))
        return out

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The warps that read the accumulators of each consumer."""
        warps, many = self.plan.role(Role.EPILOGUE).warps, self.plan.geometry.consumers
        bounds = [len(warps) * consumer // many for consumer in range(many + 1)]
        return tuple(warps[first:end] for first, end in pairwise(bounds))

    def joined(self, warps: tuple[int, ...]) -> Iterator[Step]:
        """The epilogue of warps that had another role until the end of the mainloop."""
        for consumer, group in enumerate(self.groups()):
            if set(group) & set(warps):
                yield from self.epilogue(consumer)

    def issuers(self) -> Iterator[Body]:
        """The producer and each mma warp."""
        yield "producer", self.plan.role(Role.PRODUCER).warps, list(self.producer())
        yield from self.multipliers()

    def multipliers(self) -> Iterator[Body]:
        """Each mma warp."""
        warps = self.plan.role(Role.MMA).warps
        for consumer, warp in enumerate(warps):
            name = f"mma {consumer}" if len(warps) > 1 else "mma"
            yield name, (warp,), list(self.mma(consumer))

    def in_turn(self) -> list[Body]:
        """One warp runs the mainloop; the CTA then meets, unless a barrier tells the others."""
        plan, stages = self.plan, self.plan.spec.pipeline.ab_stages
        full = Cursor(plan.barrier(Purpose.AB_FULL), Role.MMA, stages)
        done = Cursor(plan.barrier(Purpose.MMA_DONE), Role.PRODUCER, 1)
        told = plan.barrier(Purpose.ACC_FULL) is not None
        warps, readers = plan.role(Role.MMA).warps, plan.role(Role.EPILOGUE).warps
        first: list[Step] = []
        others: list[Step] = []
        for tile in range(self.tiles):
            full.next_tile()
            done.next_tile()
            first += self.one_warp(full, done, tile)
            meet: list[Step] = [] if told else [Sync((self.rank,), "after the mainloop")]
            read: list[Step] = [*self.epilogue()] if told else [Read(0, tile)]
            end = [Sync((self.rank,), "after the epilogue")] if plan.persistent else []
            first += [*meet, *(read if set(warps) & set(readers) else ()), *end]
            others += [*meet, *read, *end]
        rest = tuple(w for w in readers if w not in warps)
        return [("mainloop", warps, first), ("epilogue", rest, others)]

    def setup(self, first: bool) -> Iterator[Step]:
        """Barriers, tensor memory, and the CTA or cluster barrier before anybody uses them."""
        g = self.plan.geometry
        everyone = tuple(range(g.cluster_size))
        if first:
            yield Init()
        if g.is_pair:
            yield Sync(everyone, "setup")
            if first:
                yield Alloc(self.group)
            yield Sync((self.rank,), "after the allocation")
        else:
            if first:
                yield Alloc((self.rank,))
            yield Sync(everyone, "setup")
        yield Retrieve()

    def teardown(self, first: bool) -> Iterator[Step]:
        """The barrier after which tensor memory is free and the CTA may exit."""
        yield Sync(tuple(range(self.plan.geometry.cluster_size)), "teardown")
        if first:
            yield Dealloc()
