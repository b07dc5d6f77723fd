"""Plan -> Program: the steps that the templates print, for one problem size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from gemmgen.plan.barriers import ArrivePlan, BarrierPlan, Flip, Purpose
from gemmgen.plan.copies import Copy
from gemmgen.plan.make import Plan
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
    Program,
    Read,
    Retrieve,
    Slots,
    Step,
    Sync,
    Thread,
    Wait,
)
from gemmgen.terms import ArriveHow, ArriveTo, KExtent, MainloopKind, Operand, Role

Body: TypeAlias = tuple[str, tuple[int, ...], list[Step]]
"""A thread before setup and teardown: its name, its warps, its steps."""


class Cursor:
    """The pair of variables that walks a ring: a slot, and the phase that the next wait names."""

    def __init__(self, barrier: BarrierPlan | None, role: Role, depth: int) -> None:
        self.barrier = barrier
        self.wait = next((w for w in barrier.waits if w.role is role), None) if barrier else None
        self.depth = depth
        self.carried = self.wait.carried if self.wait else True
        self.reset()

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
            yield Wait(self.barrier.name, self.slot % self.barrier.depth, self.phase)

    def advance(self) -> None:
        """To the next slot, flipping the phase as the plan says."""
        self.slot += 1
        wrapped = self.slot == self.depth
        if wrapped:
            self.slot = 0
        flips = self.wait.flips if self.wait else Flip.NEVER
        if flips is Flip.EACH_USE or (flips is Flip.ON_WRAP and wrapped):
            self.phase ^= 1


class CtaProgram:
    """Builds the threads of the CTA at `rank` in a cluster."""

    def __init__(self, plan: Plan, rank: int, k_tiles: int, tiles: int) -> None:
        self.plan, self.rank = plan, rank
        self.k_tiles, self.tiles = k_tiles, tiles
        g = plan.geometry
        self.leader = g.leader(rank)
        self.leads = rank == self.leader
        self.group = tuple(range(self.leader, self.leader + g.cta_group))

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
        g = self.plan.geometry
        along = self.rank // g.cluster_m
        if copy.operand is Operand.B:
            along = self.rank % g.cluster_m // g.cta_group
        targets = copy.mask.targets(self.rank) if copy.mask else (self.rank,)
        parts = tuple(
            Part(
                rank=target,
                slice=along if copy.slices > 1 else 0,
                bytes=copy.issued_bytes,
                signal=g.leader(target) if full.on_leader else target,
            )
            for target in targets
        )
        yield Load(copy.operand, stage, full.name, slot=stage % full.depth, parts=parts, item=item)

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
            if barrier is not None and arrive.how is ArriveHow.THREAD:
                for rank in self.reached(arrive):
                    yield Arrive(barrier.name, slot % barrier.depth, rank)

    def reached(self, arrive: ArrivePlan) -> tuple[int, ...]:
        """CTAs whose barrier an arrival of this CTA reaches."""
        if arrive.mask is not None:
            return arrive.mask.targets(self.rank)
        if arrive.to is ArriveTo.LEADER:
            return (self.leader,)
        if arrive.to is ArriveTo.PAIR and arrive.how is ArriveHow.THREAD:
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

    def mma(self) -> Iterator[Step]:
        """The mma role of a warp-specialized kernel."""
        if not self.leads:
            return
        pipeline = self.plan.spec.pipeline
        ring = Cursor(self.plan.barrier(Purpose.AB_FULL), Role.MMA, pipeline.ab_stages)
        slots = Cursor(self.plan.barrier(Purpose.ACC_EMPTY), Role.MMA, pipeline.acc_stages)
        for tile in range(self.tiles):
            ring.next_tile()
            slots.next_tile()
            yield from slots.waits()
            for k in range(self.k_tiles):
                yield from ring.waits()
                yield Mma(ring.slot, slots.slot, self.group, (tile, k), first=k == 0)
                yield from self.commit(Purpose.AB_EMPTY, ring.slot)
                ring.advance()
            yield from self.commit(Purpose.ACC_FULL, slots.slot)
            slots.advance()

    def epilogue(self) -> Iterator[Step]:
        """Reads of the accumulator, each slot handed back as soon as it is read."""
        depth = self.plan.spec.pipeline.acc_stages
        slots = Cursor(self.plan.barrier(Purpose.ACC_FULL), Role.EPILOGUE, depth)
        for tile in range(self.tiles):
            slots.next_tile()
            yield from slots.waits()
            yield Read(slots.slot, tile)
            yield from self.arrive(Purpose.ACC_EMPTY, slots.slot)
            slots.advance()

    def one_warp(self) -> Iterator[Step]:
        """The mainloop of one warp that loads and multiplies in turn, or a ring ahead."""
        plan = self.plan
        stages = plan.spec.pipeline.ab_stages
        full = Cursor(plan.barrier(Purpose.AB_FULL), Role.MMA, stages)
        done = Cursor(plan.barrier(Purpose.MMA_DONE), Role.PRODUCER, 1)
        ahead = stages if plan.spec.mainloop.kind is MainloopKind.PREFETCH else 0
        for k in range(min(ahead, self.k_tiles)):
            yield from self.loads(k, (0, k))
        for k in range(self.k_tiles):
            if not ahead:
                yield from self.loads(full.slot, (0, k))
            yield from full.waits()
            yield Mma(full.slot, 0, self.group, (0, k), first=k == 0)
            yield from self.commit(Purpose.MMA_DONE, 0)
            yield from done.waits()
            if ahead and k + ahead < self.k_tiles:
                yield from self.loads(full.slot, (0, k + ahead))
            full.advance()
            done.advance()
        yield from self.commit(Purpose.ACC_FULL, 0)

    # Threads.

    def threads(self) -> tuple[Thread, ...]:
        """Threads of this CTA."""
        bodies = self.specialized() if not self.plan.one_warp_mainloop else self.in_turn()
        if all(0 not in warps for _, warps, _ in bodies):
            bodies.append(("warp 0", (0,), []))
        return tuple(
            Thread(self.rank, name, (*self.setup(0 in warps), *body, *self.teardown(0 in warps)))
            for name, warps, body in bodies
        )

    def specialized(self) -> list[Body]:
        """Producer, mma and epilogue; warps that join the epilogue later carry on with it."""
        joins = set(self.plan.role(Role.EPILOGUE).warps)
        taken: set[int] = set()
        out: list[Body] = []
        for role, steps in ((Role.PRODUCER, self.producer()), (Role.MMA, self.mma())):
            warps = self.plan.role(role).warps
            body = [*steps, *(self.epilogue() if joins & set(warps) else ())]
            out.append((role.value, warps, body))
            taken |= set(warps)
        rest = tuple(sorted(joins - taken))
        out.append((Role.EPILOGUE.value, rest, list(self.epilogue())))
        return out

    def in_turn(self) -> list[Body]:
        """One warp runs the mainloop; the CTA then meets, unless a barrier tells the others."""
        meet: list[Step] = []
        if self.plan.barrier(Purpose.ACC_FULL) is None:
            meet = [Sync((self.rank,), "after the mainloop")]
        tail = [*meet, *self.epilogue()]
        first = self.plan.role(Role.MMA).warps
        rest = tuple(w for w in self.plan.role(Role.EPILOGUE).warps if w not in first)
        return [
            ("mainloop", first, [*self.one_warp(), *tail]),
            (Role.EPILOGUE.value, rest, tail),
        ]

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


def make_program(plan: Plan, k_tiles: int, tiles: int = 1) -> Program:
    """The program of one cluster of `plan` for `k_tiles` mainloop steps and `tiles` output tiles.

    A kernel of one tile a CTA walks one tile, and one whose K is one step has one k_tile, whatever
    is asked.
    """
    if not plan.persistent:
        tiles = 1
    if plan.spec.problem.k_extent is KExtent.ONE_STEP:
        k_tiles = 1
    threads: list[Thread] = []
    for rank in range(plan.geometry.cluster_size):
        threads += CtaProgram(plan, rank, k_tiles, tiles).threads()
    return Program(
        k_tiles=k_tiles,
        tiles=tiles,
        slices=(plan.a.slices, plan.b.slices),
        barriers=tuple(Slots(b.name, b.depth, b.arrivals.value) for b in plan.barriers),
        threads=tuple(threads),
        readers=tuple(
            index
            for index, thread in enumerate(threads)
            if any(isinstance(step, Read) for step in thread.steps)
        ),
    )
