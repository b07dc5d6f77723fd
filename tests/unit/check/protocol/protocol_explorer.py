"""A second opinion: every interleaving of a small program, one state at a time.

It shares nothing with the prover but the program. Memory is looked at when it is used: an MMA must
find what it wants when it is issued, a load must find its stage read, and so on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gemmgen.plan.steps import (
    Alloc,
    Arm,
    Arrive,
    Commit,
    Dealloc,
    Fill,
    Init,
    Load,
    Mma,
    Program,
    Read,
    Retrieve,
    Sync,
    Wait,
)

FLYING = -1


class WrongError(Exception):
    """An interleaving in which something goes wrong."""


class TooManyError(Exception):
    """More states than asked for."""


@dataclass
class State:
    """Everything that a step can see; `freeze` makes it hashable."""

    at: list[int]
    barriers: dict[Any, tuple[int, int, int]]
    flying: set[Any]
    queues: dict[int, tuple[Any, ...]]
    buffers: dict[Any, Any]
    slots: dict[Any, Any]
    marks: set[Any]

    def copy(self) -> State:
        return State(
            list(self.at),
            dict(self.barriers),
            set(self.flying),
            dict(self.queues),
            dict(self.buffers),
            dict(self.slots),
            set(self.marks),
        )

    def freeze(self) -> Any:
        return (
            tuple(self.at),
            frozenset(self.barriers.items()),
            frozenset(self.flying),
            frozenset(self.queues.items()),
            frozenset(self.buffers.items()),
            frozenset(self.slots.items()),
            frozenset(self.marks),
        )


class Explorer:
    """Depth-first search over the states of `program`.

    `planned` is the program that it is a mutant of: who reads which accumulator, and how many MMAs
    read a stage, are taken from there.
    """

    def __init__(self, program: Program, limit: int, planned: Program | None = None) -> None:
        self.program, self.limit = program, limit
        self.ranks = sorted({thread.rank for thread in program.threads})
        self.counts = {b.name: b.arrivals for b in program.barriers}
        self.readers: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.uses: Counter[tuple[int, Any]] = Counter()
        for index, thread in enumerate((planned or program).threads):
            for step in thread.steps:
                if isinstance(step, Read):
                    self.readers[thread.rank, step.acc_slot].add(index)
                elif isinstance(step, Mma):
                    self.uses.update((rank, step.item) for rank in step.ranks)

    def wrong(self) -> str:
        """What goes wrong in some interleaving; empty when nothing does."""
        barriers = {
            (b.name, rank, slot): (b.arrivals, 0, 0)
            for b in self.program.barriers
            for rank in self.ranks
            for slot in range(b.depth)
        }
        start = State([0] * len(self.program.threads), barriers, set(), {}, {}, {}, set())
        seen, todo = {start.freeze()}, [start]
        try:
            while todo:
                state = todo.pop()
                moved = False
                for later in self.moves(state):
                    moved = True
                    frozen = later.freeze()
                    if frozen not in seen:
                        seen.add(frozen)
                        todo.append(later)
                        if len(seen) > self.limit:
                            raise TooManyError
                if not moved:
                    self.end(state)
        except WrongError as error:
            return str(error)
        return ""

    def done(self, state: State, rank: int) -> bool:
        return all(
            state.at[i] == len(thread.steps)
            for i, thread in enumerate(self.program.threads)
            if thread.rank == rank
        )

    def end(self, state: State) -> None:
        if not all(self.done(state, rank) for rank in self.ranks):
            raise WrongError("deadlock")
        for (rank, slot), (_, _, readers) in state.slots.items():
            if len(readers) < len(self.readers[rank, slot]):
                raise WrongError(f"accumulator slot {slot} of CTA {rank} not read")
        for key, (pending, tx, _) in state.barriers.items():
            if pending != self.counts[key[0]] or tx:
                raise WrongError(f"{key} left in a phase")

    def moves(self, state: State) -> Iterator[State]:
        for index in range(len(self.program.threads)):
            yield from self.thread_moves(state, index)
        for part in state.flying:
            later = state.copy()
            later.flying.remove(part)
            self.land(later, part)
            yield later
        for index, queue in state.queues.items():
            if queue:
                yield from self.unit_moves(state, index, queue)

    def thread_moves(self, state: State, index: int) -> Iterator[State]:
        thread = self.program.threads[index]
        if state.at[index] == len(thread.steps):
            return
        step = thread.steps[state.at[index]]
        later = state.copy()
        if isinstance(step, Sync | Alloc):
            here = self.meeting(state, step)
            if here and here[0] == index:
                for other in here:
                    later.at[other] += 1
                if isinstance(step, Alloc):
                    later.marks |= {("alloc", rank) for rank in step.ranks}
                yield later
            return
        if isinstance(step, Wait):
            if ("init", thread.rank) not in state.marks:
                raise WrongError("wait before init")
            completed = state.barriers[step.barrier, thread.rank, step.slot][2]
            if completed % 2 == step.phase:
                return
        later.at[index] += 1
        self.act(later, index, step)
        yield later

    def meeting(self, state: State, step: Sync | Alloc) -> list[int]:
        here = []
        for i, thread in enumerate(self.program.threads):
            if thread.rank in step.ranks:
                at = state.at[i]
                if at < len(thread.steps) and thread.steps[at] == step:
                    here.append(i)
                elif isinstance(step, Sync):
                    return []
        ranks = {self.program.threads[i].rank for i in here}
        return here if ranks == set(step.ranks) else []

    def act(self, state: State, index: int, step: Any) -> None:
        rank = self.program.threads[index].rank
        if isinstance(step, Init):
            state.marks.add(("init", rank))
        elif isinstance(step, Dealloc):
            self.dealloc(state, rank)
        elif isinstance(step, Retrieve):
            if ("alloc", rank) not in state.marks:
                raise WrongError("no address of tensor memory")
        elif isinstance(step, Arm):
            self.signal(state, (step.barrier, step.rank, step.slot), 1, step.tx_bytes)
        elif isinstance(step, Arrive):
            self.signal(state, (step.barrier, step.rank, step.slot), step.count, 0)
        elif isinstance(step, Load):
            for part in step.parts:
                key = (part.rank, step.operand.value, step.stage, part.slice)
                self.overwrite(state, key)
                state.buffers[key] = (step.item, FLYING)
                barrier = (step.barrier, part.signal, step.slot)
                state.flying.add((key, step.item, barrier, part.bytes))
        elif isinstance(step, Fill):
            key = (rank, step.operand.value, step.stage, step.slice)
            self.overwrite(state, key)
            state.buffers[key] = (step.item, self.uses[rank, step.item])
        elif isinstance(step, Mma):
            self.mma(state, index, step)
        elif isinstance(step, Commit):
            keys = tuple((step.barrier, target, step.slot) for target in step.ranks)
            queue = state.queues.get(index, ())
            state.queues[index] = (*queue, ("commit", keys, (index, state.at[index])))
        elif isinstance(step, Read):
            key = (rank, step.acc_slot)
            tile, complete, readers = state.slots.get(key, (None, 0, frozenset()))
            if tile != step.tile or complete != self.program.k_tiles:
                raise WrongError(f"accumulator {key} read early")
            if ("freed", rank) in state.marks:
                raise WrongError("accumulator read after it was freed")
            state.slots[key] = (tile, complete, readers | {index})

    def overwrite(self, state: State, key: Any) -> None:
        if state.buffers.get(key, (None, 0))[1] != 0:
            raise WrongError(f"{key} overwritten")

    def mma(self, state: State, index: int, step: Mma) -> None:
        for target in step.ranks:
            if ("alloc", target) not in state.marks or ("freed", target) in state.marks:
                raise WrongError("no tensor memory")
            for operand, slices in zip("ab", self.program.slices, strict=True):
                for part in range(slices):
                    key = (target, operand, step.stage, part)
                    item, unread = state.buffers.get(key, (None, 0))
                    if item != step.item or unread in (0, FLYING):
                        raise WrongError(f"{key} read early")
            slot = (target, step.acc_slot)
            tile, _, readers = state.slots.get(slot, (None, 0, frozenset()))
            if step.first:
                if tile is not None and len(readers) < len(self.readers[slot]):
                    raise WrongError(f"accumulator {slot} overwritten")
                state.slots[slot] = (step.item[0], 0, frozenset())
            elif tile != step.item[0]:
                raise WrongError(f"accumulator {slot} mixed")
        state.queues[index] = (*state.queues.get(index, ()), ("mma", step))

    def dealloc(self, state: State, rank: int) -> None:
        busy = [
            entry
            for queue in state.queues.values()
            for entry in queue
            if entry[0] == "mma" and rank in entry[1].ranks
        ]
        if busy:
            raise WrongError("freed under an MMA")
        state.marks.add(("freed", rank))

    def land(self, state: State, part: Any) -> None:
        key, item, barrier, size = part
        if key is None:
            self.signal(state, barrier, 1, 0)
            return
        if self.done(state, key[0]):
            raise WrongError("load into a CTA that has exited")
        state.buffers[key] = (item, self.uses[key[0], item])
        self.signal(state, barrier, 0, -size)

    def unit_moves(self, state: State, index: int, queue: tuple[Any, ...]) -> Iterator[State]:
        head, rest = queue[0], queue[1:]
        if head[0] == "mma":
            later = state.copy()
            later.queues[index] = rest
            step = head[1]
            for target in step.ranks:
                for operand, slices in zip("ab", self.program.slices, strict=True):
                    for part in range(slices):
                        key = (target, operand, step.stage, part)
                        item, unread = later.buffers[key]
                        later.buffers[key] = (item, unread - 1)
                slot = (target, step.acc_slot)
                tile, complete, readers = later.slots[slot]
                later.slots[slot] = (tile, complete + 1, readers)
            yield later
            return
        later = state.copy()
        later.queues[index] = rest
        later.flying |= {(None, head[2], key, 0) for key in head[1]}
        yield later

    def signal(self, state: State, key: Any, arrivals: int, tx: int) -> None:
        if ("init", key[1]) not in state.marks:
            raise WrongError("barrier used before init")
        if self.done(state, key[1]):
            raise WrongError("signal into a CTA that has exited")
        pending, bytes_, completed = state.barriers[key]
        pending, bytes_ = pending - arrivals, bytes_ + tx
        if pending < 0:
            raise WrongError(f"{key} below zero")
        if pending == 0 and bytes_ == 0:
            pending, completed = self.counts[key[0]], completed + 1
        state.barriers[key] = (pending, bytes_, completed)
