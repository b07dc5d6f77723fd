"""Rules of the declared barriers: the hand-overs that a mainloop needs, and the form of each."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.check.finding import fault
from gemmgen.frozen import frozen
from gemmgen.plan import BarrierPlan, Plan, Purpose
from gemmgen.plan.roles import in_registers, is_specialized
from gemmgen.spec.model import Spec
from gemmgen.terms import (
    ArriveHow,
    ArriveTo,
    Finding,
    KExtent,
    LoadKind,
    MainloopKind,
    Ring,
    Role,
)

WHY = {
    Purpose.AB_FULL: "tells mma that a stage has landed",
    Purpose.AB_EMPTY: "tells the producer that a stage has been read",
    Purpose.ACC_FULL: "tells the epilogue that the accumulator is complete",
    Purpose.ACC_EMPTY: "tells mma that the accumulator slot has been read",
    Purpose.MMA_DONE: "tells the one warp of the mainloop that its MMA has read the stage",
    Purpose.MMA_TURN: "gives the tensor core to the next consumer",
}
PARTIES = {
    Purpose.AB_FULL: (Role.PRODUCER, Role.MMA),
    Purpose.AB_EMPTY: (Role.MMA, Role.PRODUCER),
    Purpose.ACC_FULL: (Role.MMA, Role.EPILOGUE),
    Purpose.ACC_EMPTY: (Role.EPILOGUE, Role.MMA),
    Purpose.MMA_DONE: (Role.MMA, Role.PRODUCER),
    Purpose.MMA_TURN: (Role.MMA, Role.MMA),
}
HOW = {
    Purpose.AB_FULL: ArriveHow.TX,
    Purpose.AB_EMPTY: ArriveHow.COMMIT,
    Purpose.ACC_FULL: ArriveHow.COMMIT,
    Purpose.ACC_EMPTY: ArriveHow.THREAD,
    Purpose.MMA_DONE: ArriveHow.COMMIT,
    Purpose.MMA_TURN: ArriveHow.WARPS,
}
PRE_ARMED = frozenset({Purpose.AB_EMPTY, Purpose.ACC_EMPTY, Purpose.MMA_TURN})
ALSO = {Purpose.ACC_EMPTY: ArriveHow.THREADS}
WHY_HOW = {
    ArriveHow.TX: "the bytes of a TMA load complete it",
    ArriveHow.COMMIT: "only tcgen05.commit knows when the MMAs have finished",
    ArriveHow.THREAD: "threads read the accumulator, so a thread says when they are done",
    ArriveHow.THREADS: "threads read the accumulator, so each says when it is done",
    ArriveHow.WARPS: "each warp waits for its part of a wgmma, so each says when it is done",
}
WHY_TO = {
    ArriveTo.SELF: "only its own CTA waits for it",
    ArriveTo.LEADER: "the leader CTA of the pair waits for both CTAs",
    ArriveTo.PAIR: "both CTAs of the pair wait for the leader's MMAs",
    ArriveTo.SHARERS: "the CTAs that multicast into this stage wait for it too",
}


@frozen
class Form:
    """What a barrier of some purpose looks like in one spec."""

    ring: Ring
    how: ArriveHow
    to: ArriveTo
    pre_armed: bool


def needed(spec: Spec, persistent: bool) -> tuple[tuple[Purpose, ...], ...]:
    """Hand-overs that the mainloop needs: each entry lists alternatives, the usual one first."""
    in_turn = spec.load.kind is not LoadKind.TMA and not is_specialized(spec)
    loads = () if in_turn else ((Purpose.AB_FULL,),)
    if in_registers(spec):
        empty = ((Purpose.AB_EMPTY,),) if is_specialized(spec) else ()
        turns = spec.mainloop.kind is MainloopKind.PINGPONG
        return (*loads, *empty, (Purpose.MMA_TURN,)) if turns else (*loads, *empty)
    if spec.mainloop.kind in (MainloopKind.SERIAL, MainloopKind.PREFETCH):
        once = spec.problem.k_extent is KExtent.ONE_STEP and not persistent
        done = (Purpose.MMA_DONE, Purpose.ACC_FULL) if once else (Purpose.MMA_DONE,)
        return (*loads, done)
    hand_overs = (*loads, (Purpose.AB_EMPTY,), (Purpose.ACC_FULL,))
    return (*hand_overs, (Purpose.ACC_EMPTY,)) if persistent else hand_overs


def form(plan: Plan, purpose: Purpose) -> Form:
    """What a barrier with `purpose` must look like in `plan`."""
    pair = plan.geometry.is_pair
    shared = any(copy.slices > 1 for copy in plan.copies)
    read = ArriveTo.SHARERS if shared else ArriveTo.PAIR if pair else ArriveTo.SELF
    to = {
        Purpose.AB_FULL: ArriveTo.LEADER if pair else ArriveTo.SELF,
        Purpose.AB_EMPTY: read,
        Purpose.ACC_FULL: ArriveTo.PAIR if pair else ArriveTo.SELF,
        Purpose.ACC_EMPTY: ArriveTo.LEADER if pair else ArriveTo.SELF,
        Purpose.MMA_DONE: read,
        Purpose.MMA_TURN: ArriveTo.SELF,
    }[purpose]
    of_acc = purpose in (Purpose.ACC_FULL, Purpose.ACC_EMPTY)
    ring = Ring.SINGLE if purpose is Purpose.MMA_DONE else Ring.ACC if of_acc else Ring.AB
    if of_acc and not plan.persistent and plan.geometry.consumers == 1:
        ring = Ring.SINGLE
    if purpose is Purpose.MMA_TURN:
        ring = Ring.CONSUMER
    how = HOW[purpose]
    if how is ArriveHow.COMMIT and in_registers(plan.spec):
        how = ArriveHow.WARPS
    if how is ArriveHow.TX and plan.spec.load.kind is LoadKind.COOPERATIVE:
        how = ArriveHow.THREADS
    return Form(ring, how, to, purpose in PRE_ARMED)


def check_barriers(plan: Plan) -> Iterator[Finding]:
    """P250 to P258: every hand-over has one barrier, in the form that it needs."""
    whole: list[tuple[int, BarrierPlan]] = []
    halves: list[BarrierPlan] = []
    for index, barrier in enumerate(plan.barriers):
        yield from _parties(index, barrier)
        if barrier.arrives and barrier.waits:
            whole.append((index, barrier))
        else:
            halves.append(barrier)
    yield from _missing(plan, halves)
    yield from _surplus(plan, whole)
    for index, barrier in whole:
        if barrier.purpose is not None:
            yield from _form(plan, index, barrier, form(plan, barrier.purpose))


def _parties(index: int, barrier: BarrierPlan) -> Iterator[Finding]:
    name, key = barrier.name, f"barriers[{index}]"
    if not barrier.arrives:
        yield fault(
            "P250",
            f"nobody arrives on `{name}`",
            f"{key}.arrive",
            help="every wait on it would hang: say who arrives, or remove the barrier",
        )
    if not barrier.waits:
        yield fault(
            "P251",
            f"nobody waits for `{name}`",
            f"{key}.wait",
            help="say which role waits for it, or remove the barrier",
        )
    if barrier.arrives and barrier.waits and barrier.purpose is None:
        by = " and ".join(sorted({arrive.by.value for arrive in barrier.arrives}))
        to = " and ".join(sorted(wait.role.value for wait in barrier.waits))
        known = "; ".join(f"{a} to {b}" for a, b in dict.fromkeys(PARTIES.values()))
        yield fault(
            "P252",
            f"`{name}` hands over from {by} to {to}, which no kernel needs",
            f"{key}.wait",
            help=f"hand-overs are {known}",
        )


def _may_be(barrier: BarrierPlan, purpose: Purpose) -> bool:
    """Whether `barrier`, which lacks arrivals or waits, could be the one for `purpose`."""
    by, to = PARTIES[purpose]
    arrives, waits = {a.by for a in barrier.arrives}, {w.role for w in barrier.waits}
    return arrives <= {by} and waits <= {to}


def _missing(plan: Plan, halves: list[BarrierPlan]) -> Iterator[Finding]:
    have = {barrier.purpose for barrier in plan.barriers}
    have |= {purpose for purpose in Purpose for half in halves if _may_be(half, purpose)}
    for options in needed(plan.spec, plan.persistent):
        if have & set(options):
            continue
        purpose = options[0]
        by, to = PARTIES[purpose]
        shape = form(plan, purpose)
        yield fault(
            "P253",
            f"no barrier {WHY[purpose]}",
            "barriers",
            f"a {plan.spec.mainloop.kind} mainloop"
            f"{' of a persistent kernel' * plan.persistent} needs {purpose}",
            help=f'add one with ring = "{shape.ring}", arrive by {by} ("{shape.how}", to'
            f' "{shape.to}"), wait by {to}',
        )


def _surplus(plan: Plan, whole: list[tuple[int, BarrierPlan]]) -> Iterator[Finding]:
    wanted = {purpose for options in needed(plan.spec, plan.persistent) for purpose in options}
    seen: dict[Purpose, str] = {}
    for index, barrier in whole:
        purpose, key = barrier.purpose, f"barriers[{index}]"
        if purpose is None:
            continue
        if purpose in seen:
            title = f"`{barrier.name}` and `{seen[purpose]}` hand over the same thing"
            yield fault("P254", title, key, help="remove one of them")
        elif purpose not in wanted:
            yield fault(
                "P254",
                f"`{barrier.name}` has no place in a {plan.spec.mainloop.kind} mainloop",
                key,
                f"it {WHY[purpose]}",
                help="remove it"
                + (', or write `scheduler.kind = "persistent"`' * (purpose is Purpose.ACC_EMPTY)),
            )
        seen.setdefault(purpose, barrier.name)


def _form(plan: Plan, index: int, barrier: BarrierPlan, wanted: Form) -> Iterator[Finding]:
    name, key = barrier.name, f"barriers[{index}]"
    if barrier.ring is not wanted.ring and barrier.purpose is not None:
        yield fault(
            "P255",
            f"`{name}` has a slot for {_slot(barrier.ring)}, not for {_slot(wanted.ring)}",
            f"{key}.ring",
            f"it {WHY[barrier.purpose]}",
            help=f'write `ring = "{wanted.ring}"`',
        )
    if barrier.pre_armed is not wanted.pre_armed:
        starts = "starts free" if wanted.pre_armed else "starts with nothing in it"
        effect = (
            "the first wait would never return"
            if wanted.pre_armed
            else "the first wait would return before anything is there"
        )
        yield fault(
            "P256",
            f"`{name}` must {'' if wanted.pre_armed else 'not '}be pre-armed",
            f"{key}.pre_armed",
            help=f"what it hands over {starts}: {effect}",
        )
    if len(barrier.arrives) > 1:
        yield fault(
            "P257",
            f"`{name}` has {len(barrier.arrives)} kinds of arrival",
            f"{key}.arrive",
            help=f'it needs one: by {barrier.arrives[0].by}, how "{wanted.how}", to "{wanted.to}"',
        )
        return
    arrive = barrier.arrives[0]
    if arrive.how not in (wanted.how, ALSO.get(barrier.purpose or Purpose.AB_FULL, wanted.how)):
        yield fault(
            "P257",
            f"`{name}` cannot be completed by {arrive.how}",
            f"{key}.arrive[0].how",
            help=f'write `how = "{wanted.how}"`: {_why_how(barrier, wanted)}',
        )
    if arrive.to is not wanted.to:
        yield fault(
            "P258",
            f'arrivals on `{name}` go to "{arrive.to}", and must go to "{wanted.to}"',
            f"{key}.arrive[0].to",
            help=f'write `to = "{wanted.to}"`: {WHY_TO[wanted.to]}',
        )


def _why_how(barrier: BarrierPlan, wanted: Form) -> str:
    if barrier.purpose is Purpose.AB_FULL and wanted.how is ArriveHow.THREADS:
        return "threads copy the stage, so each says when its part is there"
    return WHY_HOW[wanted.how]


def _slot(ring: Ring) -> str:
    return {
        Ring.AB: "each A/B stage",
        Ring.ACC: "each accumulator slot",
        Ring.CONSUMER: "each consumer",
        Ring.SINGLE: "one thing at a time",
    }[ring]
