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

from gemmgen.check.protocol.events import Tag
from gemmgen.check.protocol.record import Drain, Key, Multiply, Run, Slot, Waited, Write
from gemmgen.plan.steps import (
    Alloc,
    Arm,
    Arrive,
    Commit,
    Dealloc,
    Fill,
    Init,
    Item,
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


class Runner:
    """Runs the threads of a program round and round until none can go on."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.run = Run(program)
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
            for index in range(len(self.program.threads)):
                while self.can_go(index):
                    self.step(index)
                    moved = True
        for index, thread in enumerate(self.program.threads):
            if self.at[index] < len(thread.steps):
                self.run.stuck.append((thread, thread.steps[self.at[index]]))
            self.run.exits[thread.rank] = self.run.exits.get(thread.rank, 0) | self.past[index]
        return self.run

    def current(self, index: int) -> Step | None:
        steps = self.program.threads[index].steps
        return steps[self.at[index]] if self.at[index] < len(steps) else None

    def can_go(self, index: int) -> bool:
        step = self.current(index)
        if isinstance(step, Wait):
            slot = self.run.slots[step.barrier, self.program.threads[index].rank, step.slot]
            return len(slot.completions) % 2 != step.phase
        if isinstance(step, Sync | Alloc):
            return self.meeting(step) is not None
        return step is not None

    def meeting(self, step: Sync | Alloc) -> list[int] | None:
        """Threads that stand at `step`, once all that it joins do."""
        here = []
        for index, thread in enumerate(self.program.threads):
            if thread.rank not in step.ranks:
                continue
            if self.current(index) == step:
                here.append(index)
            elif isinstance(step, Sync):
                return None
        ranks = {self.program.threads[index].rank for index in here}
        return here if ranks == set(step.ranks) else None

    def step(self, index: int) -> None:
        """Take the current step of thread `index`, which can go."""
        step, thread = self.current(index), self.program.threads[index]
        if isinstance(step, Sync | Alloc):
            self.meet(step)
            return
        if isinstance(step, Wait):
            self.wait(index, thread, step)
        elif isinstance(step, Load):
            self.load(index, thread, step)
        elif isinstance(step, Mma):
            self.mma(index, thread, step)
        elif isinstance(step, Commit):
            self.commit(index, thread, step)
        elif isinstance(step, Retire):
            self.retire(index, step)
        elif step is not None:
            self.plain(index, thread, step)
        self.at[index] += 1

    def event(self, index: int, what: str, *tags: Tag, cause: int = 0) -> int:
        """An event of thread `index`, after all that the thread did before."""
        who = self.program.threads[index].who
        number = self.run.history.add(who, what, tags, self.past[index], cause)
        self.past[index] = self.run.history.past(number)
        return number

    def meet(self, step: Sync | Alloc) -> None:
        here = self.meeting(step) or []
        causes = [self.past[index] for index in here]
        if isinstance(step, Alloc):
            self.allocate(here, step)
            return
        what = f"barrier of all threads, {step.where}"
        ranks = ", ".join(str(rank) for rank in step.ranks)
        who = f"CTA {ranks}" if len(step.ranks) == 1 else f"CTAs {ranks}"
        number = self.run.history.add(who, what, (), *causes)
        for index in here:
            self.past[index] = self.run.history.past(number)
            self.at[index] += 1

    def allocate(self, here: list[int], step: Alloc) -> None:
        """Allocations of a pair return together, but order nothing else between its CTAs."""
        starts = [self.past[index] for index in here]
        who = " and ".join(self.program.threads[index].who for index in here)
        number = self.run.history.add(who, "tcgen05.alloc", (), *starts)
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
            what = "reads the address of tensor memory"
            self.run.retrieves.append((rank, self.event(index, what)))
        elif isinstance(step, Arm):
            key = (step.barrier, step.rank, step.slot)
            what = f"arms {_name(key)} with {step.tx_bytes:_} bytes"
            self.signal(key, self.event(index, what, key), 1, step.tx_bytes)
        elif isinstance(step, Arrive):
            key = (step.barrier, step.rank, step.slot)
            each = f"{step.count} threads arrive" if step.count > 1 else "arrives"
            self.signal(key, self.event(index, f"{each} on {_name(key)}", key), step.count, 0)
        elif isinstance(step, Fill):
            what = f"copies {step.operand.upper()} {_item(step.item)} into stage {step.stage}"
            event = self.event(index, what, (step.operand.value, rank, step.stage))
            name, part = step.operand.value, step.slice
            write = Write(rank, name, step.stage, part, step.item, event, event)
            self.run.writes.append(write)
        elif isinstance(step, Read):
            what = f"reads accumulator slot {step.acc_slot} (tile {step.tile})"
            event = self.event(index, what, ("acc", rank, step.acc_slot))
            self.run.drains.append(Drain(rank, index, step, event))

    def wait(self, index: int, thread: Thread, step: Wait) -> None:
        key = (step.barrier, thread.rank, step.slot)
        done = self.run.slots[key].completions
        start = self.past[index]
        cause = self.run.history.past(done[-1]) if done else 0
        what = f"passes its wait for {_name(key)}, phase {step.phase}"
        event = self.event(index, what, key, cause=cause)
        self.run.waited.append(Waited(key, event, start, len(done)))

    def load(self, index: int, thread: Thread, step: Load) -> None:
        tags = tuple((step.operand.value, part.rank, step.stage) for part in step.parts)
        what = f"loads {step.operand.upper()} {_item(step.item)} into stage {step.stage}"
        issued = self.event(index, what, *tags)
        for part in step.parts:
            self.land(thread, step, part, issued)

    def land(self, thread: Thread, step: Load, part: Part, issued: int) -> None:
        key = (step.barrier, part.signal, step.slot)
        tags: tuple[Tag, ...] = ((step.operand.value, part.rank, step.stage), key)
        where = "" if part.rank == thread.rank else f" in CTA {part.rank}"
        name = f"{step.operand.upper()} {_item(step.item)}"
        what = f"{name} lands{where}: {part.bytes:_} bytes on {_name(key)}"
        past = self.run.history.past(issued)
        landed = self.run.history.add(f"CTA {thread.rank} TMA", what, tags, past)
        self.run.writes.append(
            Write(part.rank, step.operand.value, step.stage, part.slice, step.item, issued, landed)
        )
        self.run.touched.append((part.rank, landed))
        self.signal(key, landed, 0, -part.bytes)

    def mma(self, index: int, thread: Thread, step: Mma) -> None:
        tags: list[Tag] = []
        for rank in step.ranks:
            tags += [("a", rank, step.stage), ("b", rank, step.stage), ("acc", rank, step.acc_slot)]
        adds = "overwrites" if step.first else "adds to"
        what = f"multiplies stage {step.stage} {_item(step.item)}, {adds} slot {step.acc_slot}"
        issued = self.event(index, what, *tags)
        done = self.multiplied[index]
        name = f"CTA {thread.rank} tensor core"
        finished = f"has multiplied stage {step.stage} {_item(step.item)}"
        past = self.run.history.past(issued)
        completed = self.run.history.add(name, finished, tuple(tags), past, done)
        self.multiplied[index] = self.run.history.past(completed)
        self.completed[index].append(completed)
        self.run.multiplies.append(Multiply(step, issued, completed))
        self.run.touched += [(rank, completed) for rank in step.ranks]

    def retire(self, index: int, step: Retire) -> None:
        done = self.completed[index][: len(self.completed[index]) - step.pending]
        if done:
            left = f" but the last {step.pending}" * (step.pending > 0)
            self.event(index, f"waits for its MMAs{left}", cause=self.run.history.past(done[-1]))

    def commit(self, index: int, thread: Thread, step: Commit) -> None:
        where = f"{step.barrier}[{step.slot}] in CTA {_ranks(step.ranks)}"
        issued = self.event(index, f"commits to {where}")
        past, done = self.run.history.past(issued), self.multiplied[index]
        for rank in step.ranks:
            key = (step.barrier, rank, step.slot)
            what = f"arrives on {_name(key)}"
            event = self.run.history.add(f"CTA {thread.rank} tensor core", what, (key,), past, done)
            self.signal(key, event, 1, 0)

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
            causes = [self.run.history.past(signal) for signal in slot.signals]
            what = f"{_name(key)} completes phase {len(slot.completions) % 2}"
            who = f"CTA {key[1]} barrier"
            slot.completions.append(self.run.history.add(who, what, (key,), *causes))
            slot.pending, slot.signals = slot.count, []


def _name(key: Key) -> str:
    return f"{key[0]}[{key[2]}] of CTA {key[1]}"


def _ranks(ranks: tuple[int, ...]) -> str:
    return " and ".join(str(rank) for rank in ranks)


def _item(item: Item) -> str:
    return f"(tile {item[0]}, k_tile {item[1]})"
