"""One run of a program, with the causes of every event.

Each thread goes as far as it can; loads, MMAs and commits take effect at once. What follows for all
other interleavings is told from the causes alone (`prove`): no role of a program chooses, so
interleavings differ only in the order of events that neither cause the other.

Assumed of the hardware, as documented or as every known kernel relies on it: MMAs of one thread
complete in order; a commit signals each CTA at any time after them, even after later commits; loads
land in any order, a whole operand in one CTA at a time, data before the bytes are counted (PTX ISA,
cp.async.bulk.tensor, tcgen05.commit, memory consistency of async operations).
"""

from __future__ import annotations

import operator
from functools import partial, reduce

from gemmgen.check.protocol import words
from gemmgen.check.protocol.events import Tag, Text
from gemmgen.check.protocol.record import Drain, Key, Multiply, Run, Slot, Waited, Write
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
    Part,
    Program,
    Read,
    Retire,
    Retrieve,
    Step,
    Sync,
    Thread,
    Wait,
)

JOINT = (Sync, Alloc)


class Runner:
    """Runs the threads of a program round and round until none can go on."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.run = Run(program)
        self.who = [thread.who for thread in program.threads]
        self.core = [f"CTA {thread.rank} tensor core" for thread in program.threads]
        self.past = [0] * len(program.threads)
        self.at = [0] * len(program.threads)
        self.multiplied = [0] * len(program.threads)
        self.completed: list[list[int]] = [[] for _ in program.threads]
        for barrier in program.barriers:
            for rank in {thread.rank for thread in program.threads}:
                for slot in range(barrier.depth):
                    key = (barrier.name, rank, slot)
                    self.run.slots[key] = Slot(barrier.arrivals)

    def go(self) -> Run:
        """Run to the end, or until every thread that is left waits."""
        moved = True
        while moved:
            moved = False
            for index, thread in enumerate(self.program.threads):
                steps, last = thread.steps, len(thread.steps)
                while self.at[index] < last and self.step(index, thread, steps[self.at[index]]):
                    moved = True
        for index, thread in enumerate(self.program.threads):
            if self.at[index] < len(thread.steps):
                self.run.stuck.append((thread, thread.steps[self.at[index]]))
            self.run.exits[thread.rank] = self.run.exits.get(thread.rank, 0) | self.past[index]
        return self.run

    def step(self, index: int, thread: Thread, step: Step) -> bool:
        """Take `step`, the current one of thread `index`; False where it cannot go on yet."""
        if isinstance(step, Wait):
            if not self.wait(index, thread, step):
                return False
        elif isinstance(step, Load):
            self.load(index, thread, step)
        elif isinstance(step, Mma):
            self.mma(index, step)
        elif isinstance(step, Commit):
            self.commit(index, step)
        elif isinstance(step, JOINT):
            return self.meet(step)
        elif isinstance(step, Retire):
            self.retire(index, step)
        else:
            self.plain(index, thread, step)
        self.at[index] += 1
        return True

    def meeting(self, step: Sync | Alloc) -> list[int] | None:
        """Threads that stand at `step`, once all that it joins do."""
        here = []
        for index, thread in enumerate(self.program.threads):
            if thread.rank not in step.ranks:
                continue
            if self.at[index] < len(thread.steps) and thread.steps[self.at[index]] == step:
                here.append(index)
            elif isinstance(step, Sync):
                return None
        ranks = {self.program.threads[index].rank for index in here}
        return here if ranks == set(step.ranks) else None

    def event(self, index: int, what: Text, *tags: Tag, cause: int = 0) -> int:
        """An event of thread `index`, after all that the thread did before."""
        event = self.run.history.add(self.who[index], what, tags, self.past[index] | cause)
        self.past[index] = event.past
        return event.number

    def meet(self, step: Sync | Alloc) -> bool:
        """All threads that `step` joins pass it together; False where one is still on its way."""
        here = self.meeting(step)
        if here is None:
            return False
        if isinstance(step, Alloc):
            self.allocate(here, step)
            return True
        ranks = ", ".join(str(rank) for rank in step.ranks)
        who = f"CTA {ranks}" if len(step.ranks) == 1 else f"CTAs {ranks}"
        event = self.run.history.add(who, partial(words.meets, step), (), self.pasts(here))
        for index in here:
            self.past[index] = event.past
            self.at[index] += 1
        return True

    def pasts(self, here: list[int]) -> int:
        """All that happened before in any of the threads `here`."""
        return reduce(operator.or_, (self.past[index] for index in here))

    def allocate(self, here: list[int], step: Alloc) -> None:
        """Allocations of a pair return together, but order nothing else between its CTAs."""
        who = " and ".join(self.who[index] for index in here)
        number = self.run.history.add(who, "tcgen05.alloc", (), self.pasts(here)).number
        for index in here:
            self.run.alloc_starts.append((number, self.past[index], step.ranks))
            self.past[index] |= 1 << number
            self.at[index] += 1
        for rank in step.ranks:
            self.run.allocs[rank] = number

    def plain(self, index: int, thread: Thread, step: Step) -> None:
        """Steps of one thread alone."""
        rank = thread.rank
        if isinstance(step, Init):
            self.run.inits[rank] = self.event(index, "initialises its barriers")
        elif isinstance(step, Dealloc):
            self.run.deallocs[rank] = self.event(index, "tcgen05.dealloc")
        elif isinstance(step, Retrieve):
            event = self.event(index, "reads the address of tensor memory")
            self.run.retrieves.append((rank, event))
        elif isinstance(step, Arm):
            key = (step.barrier, step.rank, step.slot)
            event = self.event(index, partial(words.arms, step, key), key)
            self.signal(key, event, 1, step.tx_bytes)
        elif isinstance(step, Arrive):
            key = (step.barrier, step.rank, step.slot)
            event = self.event(index, partial(words.arrives, step, key), key)
            self.signal(key, event, step.count, 0)
        elif isinstance(step, Fill):
            name, stage = step.operand.value, step.stage
            event = self.event(index, partial(words.copies, step), (name, rank, stage))
            write = Write(rank, name, stage, step.slice, step.item, event, event)
            self.run.writes.append(write)
        elif isinstance(step, Read):
            event = self.event(index, partial(words.reads, step), ("acc", rank, step.acc_slot))
            self.run.drains.append(Drain(rank, index, step, event))

    def wait(self, index: int, thread: Thread, step: Wait) -> bool:
        """Pass a wait whose phase has completed; False where it has not."""
        key = (step.barrier, thread.rank, step.slot)
        done = self.run.slots[key].completions
        if len(done) % 2 == step.phase:
            return False
        start = self.past[index]
        cause = self.run.history.past(done[-1]) if done else 0
        event = self.event(index, partial(words.passes, step, key), key, cause=cause)
        self.run.waited.append(Waited(key, event, start, len(done)))
        return True

    def load(self, index: int, thread: Thread, step: Load) -> None:
        name, stage = step.operand.value, step.stage
        tags = [(name, part.rank, stage) for part in step.parts]
        issued = self.event(index, partial(words.loads, step), *tags)
        for part, tag in zip(step.parts, tags, strict=True):
            self.land(thread.rank, step, part, issued, tag)

    def land(self, issuer: int, step: Load, part: Part, issued: int, tag: Tag) -> None:
        key = (step.barrier, part.signal, step.slot)
        what = partial(words.lands, step, part, issuer, key)
        past = self.run.history.past(issued)
        landed = self.run.history.add(f"CTA {issuer} TMA", what, (tag, key), past).number
        write = Write(part.rank, tag[0], step.stage, part.slice, step.item, issued, landed)
        self.run.writes.append(write)
        self.run.touched.append((part.rank, landed))
        self.signal(key, landed, 0, -part.bytes)

    def mma(self, index: int, step: Mma) -> None:
        tags: list[Tag] = []
        for rank in step.ranks:
            tags += [("a", rank, step.stage), ("b", rank, step.stage), ("acc", rank, step.acc_slot)]
        issued = self.event(index, partial(words.multiplies, step), *tags)
        what, before = (
            partial(words.has_multiplied, step),
            self.past[index] | self.multiplied[index],
        )
        finished = self.run.history.add(self.core[index], what, tuple(tags), before)
        self.multiplied[index] = finished.past
        self.completed[index].append(finished.number)
        self.run.multiplies.append(Multiply(step, issued, finished.number))
        self.run.touched += [(rank, finished.number) for rank in step.ranks]

    def retire(self, index: int, step: Retire) -> None:
        done = self.completed[index][: len(self.completed[index]) - step.pending]
        if done:
            cause = self.run.history.past(done[-1])
            self.event(index, partial(words.retires, step.pending), cause=cause)

    def commit(self, index: int, step: Commit) -> None:
        self.event(index, partial(words.commits, step))
        before = self.past[index] | self.multiplied[index]
        for rank in step.ranks:
            key = (step.barrier, rank, step.slot)
            what = partial(words.committed, key)
            event = self.run.history.add(self.core[index], what, (key,), before)
            self.signal(key, event.number, 1, 0)

    def signal(self, key: Key, event: int, arrivals: int, tx_bytes: int) -> None:
        """Count an arrival or bytes on a slot, and complete its phase when all are there."""
        slot = self.run.slots[key]
        slot.pending -= arrivals
        slot.tx_bytes += tx_bytes
        slot.signals.append(event)
        if slot.pending < 0 and slot.over is None:
            slot.over = event
        slot.phases.append((event, len(slot.completions) + 1))
        self.run.touched.append((key[1], event))
        if slot.pending == 0 and slot.tx_bytes == 0:
            self.complete(key, slot)

    def complete(self, key: Key, slot: Slot) -> None:
        """The phase of `slot` ends, after all that signalled it."""
        phase, before = len(slot.completions) % 2, 0
        for signal in slot.signals:
            before |= self.run.history.past(signal)
        what = partial(words.completes, key, phase)
        event = self.run.history.add(f"CTA {key[1]} barrier", what, (key,), before)
        slot.completions.append(event.number)
        slot.pending, slot.signals = slot.count, []
