"""Plans and programs with one thing wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gemmgen.plan import BarrierPlan, Flip, Plan, Sum
from gemmgen.plan.masks import MaskRule
from gemmgen.plan.steps import (
    Arm,
    Arrive,
    Commit,
    Load,
    Mma,
    Program,
    Read,
    Retire,
    Step,
    Sync,
    Thread,
    Wait,
)

Named = tuple[str, Plan]


def _with_barrier(plan: Plan, index: int, barrier: BarrierPlan) -> Plan:
    barriers = list(plan.barriers)
    barriers[index] = barrier
    return replace(plan, barriers=tuple(barriers))


def _mask(rule: MaskRule, flip: int) -> MaskRule:
    return replace(rule, by_rank=tuple(mask ^ flip for mask in rule.by_rank))


def plan_mutants(plan: Plan) -> Iterator[Named]:
    """Every plan that differs from `plan` in one derived value of one barrier or load."""
    for index, barrier in enumerate(plan.barriers):
        for what, changed in _barrier_mutants(plan, barrier):
            yield f"{barrier.name}: {what}", _with_barrier(plan, index, changed)
    for name in ("a", "b"):
        copy = getattr(plan, name)
        if copy.mask is None:
            continue
        for rank in range(plan.geometry.cluster_size):
            changed = replace(copy, mask=_mask(copy.mask, 1 << rank))
            yield f"load of {name}: bit {rank} of the mask", replace(plan, **{name: changed})


def _barrier_mutants(plan: Plan, barrier: BarrierPlan) -> Iterator[tuple[str, BarrierPlan]]:
    count = barrier.arrivals.value
    for wrong in {count - 1, count + 1, 2 * count} - {0, count}:
        yield f"{wrong} arrivals", replace(barrier, arrivals=Sum(wrong, str(wrong)))
    if barrier.tx_bytes is not None:
        right = barrier.tx_bytes.value
        a, b = (copy.stage_bytes.value for copy in plan.copies)
        for wrong in {a, b, a + b, 2 * right, right // 2, right + 16} - {right}:
            yield f"{wrong} bytes", replace(barrier, tx_bytes=Sum(wrong, str(wrong)))
    yield "nobody waits", replace(barrier, waits=())
    yield "nobody arrives", replace(barrier, arrives=())
    for wait in barrier.waits:
        flipped = replace(wait, first_phase=1 - wait.first_phase)
        yield "starts on the other phase", replace(barrier, waits=(flipped,))
        for flips in set(Flip) - {wait.flips}:
            yield f"flips {flips}", replace(barrier, waits=(replace(wait, flips=flips),))
        if wait.carried:
            yield "reset for each tile", replace(barrier, waits=(replace(wait, carried=False),))
    if barrier.depth > 1:
        yield "one slot", replace(barrier, depth=1)
    if plan.geometry.is_pair and barrier.tx_bytes is not None:
        yield "the other home", replace(barrier, on_leader=not barrier.on_leader)
    for arrive in barrier.arrives:
        if arrive.mask is not None:
            for rank in range(plan.geometry.cluster_size):
                changed = replace(arrive, mask=_mask(arrive.mask, 1 << rank))
                yield f"bit {rank} of the commit mask", replace(barrier, arrives=(changed,))
            yield "no commit mask", replace(barrier, arrives=(replace(arrive, mask=None),))


def _without(program: Program, drop: type, thread: int, nth: int) -> Program | None:
    """`program` without the `nth` step of type `drop` of one thread; all of them if `nth` is -1."""
    steps = program.threads[thread].steps
    places = [i for i, step in enumerate(steps) if isinstance(step, drop)]
    if not places or nth >= len(places):
        return None
    gone = set(places) if nth < 0 else {places[nth]}
    kept = tuple(step for i, step in enumerate(steps) if i not in gone)
    return _with_thread(program, thread, kept)


def _with_thread(program: Program, index: int, steps: tuple[Step, ...]) -> Program:
    threads = list(program.threads)
    threads[index] = Thread(threads[index].rank, threads[index].name, steps)
    return replace(program, threads=tuple(threads))


def program_mutants(program: Program) -> Iterator[tuple[str, Program]]:
    """Programs with a step of one thread dropped, or a release moved before the reads."""
    for index, thread in enumerate(program.threads):
        for drop in (Wait, Arm, Load, Commit, Arrive, Read, Retire):
            for nth in (-1, 0, 1, 2):
                mutant = _without(program, drop, index, nth)
                if mutant is not None:
                    yield f"{thread.who}: {drop.__name__} {nth} dropped", mutant
        early = list(thread.steps)
        for i in range(1, len(early)):
            if isinstance(early[i], Arrive) and isinstance(early[i - 1], Read):
                early[i - 1], early[i] = early[i], early[i - 1]
        if early != list(thread.steps):
            yield (
                f"{thread.who}: released before it is read",
                _with_thread(program, index, tuple(early)),
            )
        early = list(thread.steps)
        for i in range(1, len(early)):
            if isinstance(early[i], Commit) and isinstance(early[i - 1], Mma):
                early[i - 1], early[i] = early[i], early[i - 1]
        if early != list(thread.steps):
            yield (
                f"{thread.who}: commits before its MMA",
                _with_thread(program, index, tuple(early)),
            )
    for where in ("setup", "teardown", "after the mainloop", "after the allocation"):
        mutant = without_sync(program, where)
        if mutant != program:
            yield f"no barrier: {where}", mutant


def without_sync(program: Program, where: str) -> Program:
    """`program` in which no thread joins the barrier called `where`."""
    threads = tuple(
        Thread(
            thread.rank,
            thread.name,
            tuple(s for s in thread.steps if not (isinstance(s, Sync) and s.where == where)),
        )
        for thread in program.threads
    )
    return replace(program, threads=threads)
