"""The protocol checker: no interleaving of a plan's roles hangs, reads early or overwrites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gemmgen.check.finding import fault as finding
from gemmgen.check.protocol.faults import Fault
from gemmgen.check.protocol.prove import prove
from gemmgen.check.protocol.record import Run
from gemmgen.check.protocol.run import Runner
from gemmgen.check.protocol.timeline import first_stuck_barrier, stuck_table, timeline
from gemmgen.plan import BarrierPlan, Plan
from gemmgen.plan.program import make_program
from gemmgen.plan.steps import Arm, Arrive, Commit, Program, Wait
from gemmgen.terms import Finding, MainloopKind

# Of two faults that are about as near, one of the data tells more than one of the counting.
DATA = frozenset({"P275", "P276", "P277", "P278"})
NEAR = 8


def sizes(plan: Plan) -> tuple[tuple[int, int], ...]:
    """Pairs of k_tiles and tiles that wrap every ring at least twice and reset no phase by luck.

    The last persistent one makes neither k_tiles nor tiles a multiple of its ring.
    """
    stages, slots = plan.spec.pipeline.ab_stages, plan.spec.pipeline.acc_stages * _turns(plan)
    if not plan.persistent:
        return ((1, 1), (stages, 1), (2 * stages + 1, 1))
    return ((1, 2 * stages + 1), (stages, 2 * slots + 1), (2 * stages + 1, 2 * slots + 1))


def _turns(plan: Plan) -> int:
    """Consumers that take tiles in turn."""
    in_turn = plan.spec.mainloop.kind is MainloopKind.PINGPONG
    return plan.geometry.consumers if in_turn else 1


def check_program(program: Program) -> tuple[Run, list[Fault]]:
    """Run `program` and prove it: the run, and its faults, the nearest first."""
    run = Runner(program).go()
    causes = [(run.history.events[fault.event].past.bit_count(), fault) for fault in prove(run)]
    nearest = min((count for count, _ in causes), default=0) + NEAR
    causes.sort(key=lambda pair: (pair[0] > nearest, pair[1].code not in DATA, pair[0]))
    return run, [fault for _, fault in causes]


def check_protocol(plan: Plan) -> Iterator[Finding]:
    """P270 to P280: the first fault of the smallest size that has one, with its timeline."""
    mismatches = list(_declared(plan))
    yield from mismatches
    for k_tiles, tiles in sizes(plan):
        run, faults = check_program(make_program(plan, k_tiles, tiles))
        if faults:
            yield _finding(plan, run, faults[0])
            return
        if run.stuck:
            yield _deadlock(plan, run)
            return


def _declared(plan: Plan) -> Iterator[Finding]:
    """Counts and bytes of each barrier against the arrivals and copies that are planned."""
    once = make_program(plan, 1, _turns(plan))
    for index, barrier in enumerate(plan.barriers):
        yield from _bytes(plan, index, barrier)
        yield from _arrivals(once, index, barrier)


def _bytes(plan: Plan, index: int, barrier: BarrierPlan) -> Iterator[Finding]:
    if barrier.tx_bytes is None:
        return
    ctas = plan.geometry.cta_group if barrier.on_leader else 1
    parts = [copy.issued_bytes * copy.slices for copy in plan.copies]
    landing = sum(parts) * ctas
    if landing == barrier.tx_bytes.value:
        return
    names = [f"{copy.name} {part:_}" for copy, part in zip(plan.copies, parts, strict=True)]
    text = " + ".join(names)
    yield finding(
        "P270",
        f"`{barrier.name}` expects {barrier.tx_bytes.value:_} bytes, and {landing:_} land",
        f"barriers[{index}]",
        f"{ctas} x ({text}) = {landing:_}" if ctas > 1 else f"{text} = {landing:_}",
        help="expect what the loads of one stage bring",
    )


def _arrivals(program: Program, index: int, barrier: BarrierPlan) -> Iterator[Finding]:
    """Arrivals of one use of each slot, counted in a program of one k_tile and one tile each."""
    waiting: set[tuple[int, int]] = set()
    arriving: dict[tuple[int, int], list[str]] = defaultdict(list)
    for thread in program.threads:
        for step in thread.steps:
            if isinstance(step, Wait) and step.barrier == barrier.name:
                waiting.add((thread.rank, step.slot))
            elif isinstance(step, Arm | Arrive | Commit) and step.barrier == barrier.name:
                times = step.count if isinstance(step, Arrive) else 1
                for rank in step.ranks if isinstance(step, Commit) else (step.rank,):
                    arriving[rank, step.slot] += [thread.who] * times
    used = {0, *(slot for _, slot in arriving)}
    for rank, slot in sorted(place for place in waiting if place[1] in used):
        by = arriving[rank, slot]
        if len(by) == barrier.arrivals.value:
            continue
        came = ", ".join(dict.fromkeys(by)) or "nobody"
        yield finding(
            "P271",
            f"`{barrier.name}` of CTA {rank} counts {barrier.arrivals.value}, and {len(by)} arrive",
            f"barriers[{index}]",
            f"arriving in each phase: {came}",
            help="count each arrival once, and name every waiting CTA in the mask of a commit",
        )
        return


def _key(plan: Plan, name_or_purpose: str) -> str:
    for index, barrier in enumerate(plan.barriers):
        purpose = barrier.purpose.value if barrier.purpose else ""
        if name_or_purpose in (barrier.name, purpose):
            return f"barriers[{index}]"
    return "barriers"


def _size(run: Run) -> str:
    return f"with k_tiles = {run.program.k_tiles} and {run.program.tiles} tile(s) a cluster"


def _finding(plan: Plan, run: Run, fault: Fault) -> Finding:
    source = "\n".join((_size(run) + ":", *timeline(run, fault)))
    help_ = "compare who arrives, where, and on which phase each wait starts (gemmgen show)"
    return finding(fault.code, fault.title, _key(plan, fault.purpose), source, help=help_)


def _deadlock(plan: Plan, run: Run) -> Finding:
    source = "\n".join((_size(run) + ":", *stuck_table(run)))
    help_ = "compare who arrives, where, and on which phase each wait starts (gemmgen show)"
    key = _key(plan, first_stuck_barrier(run))
    return finding("P280", "the roles wait for each other for ever", key, source, help=help_)
