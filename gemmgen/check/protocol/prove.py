"""From one run to all interleavings.

Every role is straight-line and every barrier counts, so as long as each wait returns on one phase
only and each arrival counts in one phase only, all interleavings consist of the same events with
the same causes. Both are conditions on causes, and so is every hazard: "no load lands in a stage
that is still read" holds in all interleavings exactly if the read is among the causes of the load.
Where a condition fails, the events that cause the later one, then the later one itself, are an
interleaving in which it goes wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gemmgen.check.protocol.faults import Fault
from gemmgen.check.protocol.record import Key, Multiply, Run, Write
from gemmgen.terms import Operand


def prove(run: Run) -> Iterator[Fault]:
    """Every hazard of every interleaving of the program that `run` ran."""
    yield from _counts(run)
    yield from _phases(run)
    yield from _waits(run)
    yield from _stages(run)
    yield from _accumulators(run)
    yield from _unread(run)
    yield from _unread_registers(run)
    yield from _lifetimes(run)
    yield from _tensor_memory(run)
    if not run.stuck:
        yield from _left_over(run)


def _after_all(run: Run, event: int, causes: list[int]) -> bool:
    """Whether every cause happens before `event`; any event is after none at all."""
    wanted = 0
    for cause in causes:
        wanted |= 1 << cause
    return not wanted & ~run.history.events[event].past


def _name(key: Key) -> str:
    return f"{key[0]}[{key[2]}]"


def _counts(run: Run) -> Iterator[Fault]:
    """No phase gets more arrivals than its count."""
    for key, slot in run.slots.items():
        if slot.over is not None:
            title = f"`{key[0]}` gets more arrivals in a phase than its count of {slot.count}"
            why = "the count of an mbarrier below zero is undefined"
            yield Fault("P271", title, slot.over, None, key, key[0], why)


def _phases(run: Run) -> Iterator[Fault]:
    """Each arrival counts in one phase only: the one before has completed by then."""
    for key, slot in run.slots.items():
        for event, phase in slot.phases:
            if phase < 2:
                continue
            before = slot.completions[phase - 2]
            if not run.history.after(event, before):
                title = f"an arrival or bytes on `{key[0]}` may count in the phase before their own"
                why = f"it is meant for use {phase} of {_name(key)}; use {phase - 1} may go on"
                yield Fault("P274", title, event, before, key, key[0], why)


def _waits(run: Run) -> Iterator[Fault]:
    """Each wait returns on one phase only: a wait knows a phase only by its parity."""
    for waited in run.waited:
        slot, key = run.slots[waited.key], waited.key
        if waited.phase >= 2 and not waited.start >> slot.completions[waited.phase - 2] & 1:
            title = f"a wait for `{key[0]}` may take the phase before last for the one it wants"
            why = f"use {waited.phase - 1} of {_name(key)} may be going on when the wait begins"
            earlier = slot.completions[waited.phase - 2]
            yield Fault("P273", title, waited.event, earlier, key, key[0], why)
        if len(slot.completions) > waited.phase:
            later = slot.completions[waited.phase]
            if not run.history.after(later, waited.event):
                title = f"`{key[0]}` may complete a second phase before a wait has seen the first"
                why = "the wait then finds the parity of the phase before and hangs"
                yield Fault("P273", title, later, waited.event, key, key[0], why)


def _stages(run: Run) -> Iterator[Fault]:
    """Every MMA reads what was loaded for it, and nothing is loaded over what is still read."""
    writes: dict[tuple[int, str, int, int], list[Write]] = defaultdict(list)
    reads: dict[tuple[int, int], list[Multiply]] = defaultdict(list)
    for write in run.writes:
        writes[write.rank, write.operand, write.stage, write.slice].append(write)
    for multiply in run.multiplies:
        for rank in multiply.step.ranks:
            reads[rank, multiply.step.stage].append(multiply)
    for rank in sorted({thread.rank for thread in run.program.threads}):
        for index, operand in enumerate(Operand):
            for stage in sorted({key[1] for key in reads if key[0] == rank}):
                for part in range(run.program.slices[index]):
                    key = (rank, operand.value, stage, part)
                    yield from _buffer(run, writes[key], reads[rank, stage], operand, rank, stage)


def _buffer(
    run: Run, writes: list[Write], reads: list[Multiply], operand: Operand, rank: int, stage: int
) -> Iterator[Fault]:
    """One part of one stage in one CTA: its loads and the MMAs that read it."""
    tag = (operand.value, rank, stage)
    loads = {write.item: write for write in writes}
    for read in reads:
        write = loads.get(read.step.item)
        if write is None:
            title = f"an MMA reads a stage of {operand.upper()} that nobody loads"
            yield Fault("P275", title, read.issued, None, tag, "ab_full", "no load brings it")
            continue
        if not run.history.after(read.issued, write.landed):
            title = f"an MMA may read a stage of {operand.upper()} before its load has landed"
            why = "nothing makes the MMA wait for these bytes"
            yield Fault("P275", title, read.issued, write.landed, tag, "ab_full", why)
    for write in writes:
        earlier = [read for read in reads if read.step.item < write.item]
        if _after_all(run, write.issued, [read.completed for read in earlier]):
            continue
        for read in earlier:
            if not run.history.after(write.issued, read.completed):
                title = f"a load may overwrite a stage of {operand.upper()} that an MMA still reads"
                why = "nothing makes the load wait for this MMA"
                yield Fault("P276", title, write.issued, read.completed, tag, "ab_empty", why)


def _unread(run: Run) -> Iterator[Fault]:
    """Every thread that reads accumulators reads each one of its CTA."""
    if run.stuck:
        return
    read = {(drain.thread, drain.step.tile) for drain in run.drains}
    for multiply in run.multiplies:
        step = multiply.step
        for index in run.program.readers:
            thread = run.program.threads[index]
            if thread.rank in step.ranks and (index, step.item[0]) not in read:
                tag = ("acc", thread.rank, step.acc_slot)
                title = f"{thread.who} does not read an accumulator"
                yield Fault(
                    "P278", title, multiply.completed, None, tag, "acc_full", "no read of it"
                )


def _unread_registers(run: Run) -> Iterator[Fault]:
    """Each accumulator in registers is read by the thread that has it."""
    if run.stuck or run.program.readers:
        return
    read = {(drain.rank, drain.step.acc_slot, drain.step.tile) for drain in run.drains}
    for multiply in run.multiplies:
        step = multiply.step
        for rank in step.ranks:
            if (rank, step.acc_slot, step.item[0]) not in read:
                tag = ("acc", rank, step.acc_slot)
                title = f"CTA {rank} does not read an accumulator"
                yield Fault("P278", title, multiply.completed, None, tag, "", "no read of it")


def _accumulators(run: Run) -> Iterator[Fault]:
    """Every read sees a whole tile, and no tile is begun over one that is still read."""
    for drain in run.drains:
        tag = ("acc", drain.rank, drain.step.acc_slot)
        for multiply in run.multiplies:
            step = multiply.step
            if drain.rank not in step.ranks or step.acc_slot != drain.step.acc_slot:
                continue
            tile = step.item[0]
            if tile == drain.step.tile and not run.history.after(drain.event, multiply.completed):
                title = "the epilogue may read an accumulator before its MMAs are complete"
                why = "nothing makes the epilogue wait for this MMA"
                yield Fault("P277", title, drain.event, multiply.completed, tag, "acc_full", why)
            if tile > drain.step.tile and not run.history.after(multiply.issued, drain.event):
                title = "an MMA may overwrite an accumulator that the epilogue has not read"
                why = "nothing makes the MMA wait for this read"
                yield Fault("P278", title, multiply.issued, drain.event, tag, "acc_empty", why)
            if tile < drain.step.tile and not run.history.after(drain.event, multiply.completed):
                title = "the epilogue may read an accumulator of an earlier tile"
                why = "nothing makes the epilogue wait for this MMA"
                yield Fault("P277", title, drain.event, multiply.completed, tag, "acc_full", why)


def _lifetimes(run: Run) -> Iterator[Fault]:
    """Barriers exist while they are used, and no CTA exits before the last signal."""
    for rank, event in run.touched:
        init = run.inits.get(rank)
        tag = ("cta", rank, 0)
        if init is not None and not run.history.after(event, init):
            title = f"CTA {rank} may be signalled before it has initialised its barriers"
            yield Fault("P279", title, event, init, tag, "", "a barrier must come between")
        if not run.stuck and not run.exits[rank] >> event & 1:
            title = f"CTA {rank} may exit before the last signal into it"
            why = f"nothing makes CTA {rank} wait for it before it exits"
            yield Fault("P279", title, event, None, tag, "", why)
    for waited in run.waited:
        init = run.inits.get(waited.key[1])
        if init is not None and not waited.start >> init & 1:
            title = f"`{waited.key[0]}` may be waited for before it is initialised"
            yield Fault("P279", title, waited.event, init, waited.key, "", "no barrier between")


def _tensor_memory(run: Run) -> Iterator[Fault]:
    """Tensor memory is allocated while it is used, and its address is read after it is written."""
    for multiply in run.multiplies if run.allocs else ():  # else accumulators are in registers
        for rank in multiply.step.ranks:
            tag = ("acc", rank, multiply.step.acc_slot)
            if not run.history.after(multiply.issued, run.allocs[rank]):
                title = f"an MMA may write tensor memory of CTA {rank} before it is allocated"
                alloc = run.allocs[rank]
                yield Fault("P279", title, multiply.issued, alloc, tag, "", "no barrier between")
    for rank, event in run.retrieves:
        if not run.history.after(event, run.allocs[rank]):
            title = f"the address of tensor memory of CTA {rank} may be read before it is written"
            tag = ("cta", rank, 0)
            yield Fault("P279", title, event, run.allocs[rank], tag, "", "no barrier between")
    for event, start, ranks in run.alloc_starts:
        for rank in ranks:
            if rank in run.inits and not start >> run.inits[rank] & 1:
                title = f"tensor memory of a pair may be allocated before CTA {rank} runs"
                tag = ("cta", rank, 0)
                why = "a cluster barrier must come between"
                yield Fault("P279", title, event, run.inits[rank], tag, "", why)
    for rank, freed in run.deallocs.items():
        used = [m.completed for m in run.multiplies if rank in m.step.ranks]
        used += [drain.event for drain in run.drains if drain.rank == rank]
        for event in used:
            if not run.history.after(freed, event):
                title = f"CTA {rank} may free tensor memory that is still used"
                yield Fault("P279", title, freed, event, ("acc", rank, 0), "", "no barrier between")


def _left_over(run: Run) -> Iterator[Fault]:
    """No barrier ends in the middle of a phase."""
    for key, slot in run.slots.items():
        if slot.signals:
            missing = []
            if slot.pending:
                missing.append(f"{slot.pending} of {slot.count} arrivals")
            if slot.tx_bytes:
                missing.append(f"{slot.tx_bytes:_} bytes")
            title = f"`{key[0]}` is left in the middle of a phase"
            why = f"{_name(key)} of CTA {key[1]} still lacks {' and '.join(missing)}"
            yield Fault("P272", title, slot.signals[-1], None, key, key[0], why)
