"""A counterexample as people read it: what happened, in order, to the resource that went wrong."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.check.protocol.faults import Fault
from gemmgen.check.protocol.record import Key, Run
from gemmgen.plan.steps import Step, Sync, Thread, Wait

LINES = 10


def timeline(run: Run, fault: Fault) -> list[str]:
    """The last causes of the fault's event that touch its resource, then the event itself."""
    events = run.history.events
    end = events[fault.event]
    tags = {fault.tag, *end.tags}
    if fault.missing is not None:
        tags |= set(events[fault.missing].tags)
    wanted = {tag for tag in tags if tag[0] != "cta"}
    chosen = [
        event
        for event in events[: end.number]
        if end.after(event.number) and any(tag in wanted for tag in event.tags)
    ]
    shown = [*chosen[-LINES:], end]
    late = [events[fault.missing]] if fault.missing is not None else []
    width = max(len(event.who) for event in (*shown, *late))
    lines = [f"{event.who:{width}}  {event.what}" for event in shown[:-1]]
    lines.append(f"{end.who:{width}}  {end.what}  <- here")
    lines += [f"{event.who:{width}}  {event.what}  <- may come later" for event in late]
    lines.append(f"so: {fault.why}")
    return lines


def stuck_table(run: Run) -> list[str]:
    """Each thread that does not finish, what it waits for and what that lacks."""
    return [
        f"{thread.who:{_width(run)}}  {_standing(run, thread, step)}" for thread, step in run.stuck
    ]


def _width(run: Run) -> int:
    return max(len(thread.who) for thread, _ in run.stuck)


def _standing(run: Run, thread: Thread, step: Step) -> str:
    if isinstance(step, Sync):
        return f"at the barrier of all threads, {step.where}"
    if not isinstance(step, Wait):
        return "waits for its peer"
    key: Key = (step.barrier, thread.rank, step.slot)
    slot = run.slots[key]
    lacks = []
    if slot.pending:
        lacks.append(f"{slot.pending} of {slot.count} arrivals")
    if slot.tx_bytes:
        lacks.append(f"{slot.tx_bytes:_} bytes")
    done = len(slot.completions)
    phases = f"{done} phase{'s' * (done != 1)} complete"
    what = f"waits for {step.barrier}[{step.slot}] phase {step.phase}"
    return f"{what}: {phases}, the next lacks {' and '.join(lacks)}"


def first_stuck_barrier(run: Run) -> str:
    """Name of the barrier to look at first: one that nobody else's progress would complete."""
    names = [step.barrier for _, step in run.stuck if isinstance(step, Wait)]
    return names[0] if names else ""


def steps_taken(run: Run) -> Iterator[str]:
    """Every event, one a line, for a log."""
    width = max((len(event.who) for event in run.history.events), default=0)
    for event in run.history.events:
        yield f"{event.number:5}  {event.who:{width}}  {event.what}"
