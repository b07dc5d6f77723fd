"""Plan -> the words for barriers: the map, their initialisation, their masks."""

from __future__ import annotations

from typing import Any

from gemmgen.frozen import frozen
from gemmgen.plan import BarrierPlan, Plan, Purpose, WaitPlan
from gemmgen.terms import ArriveHow, ArriveTo, LoadKind, MainloopKind, Ring


@frozen
class BarrierWords:
    """A barrier as templates speak of it.

    Attributes:
        name: variable and field name.
        arrivals_code: count to initialise it with.
        who: what arrives, for the comment of its init.
        commit_arguments: what follows the barrier in a commit.
        commit_note: what the commit does, for a comment.
        ctas_code: CTAs that it hears from.
    """

    name: str
    arrivals_code: str
    who: str
    commit_arguments: str
    commit_note: str
    ctas_code: str


@frozen
class InitRing:
    """Barriers that are initialised in one loop over `index`, or one by one where it is empty."""

    index: str
    depth_code: str
    barriers: tuple[BarrierWords, ...]


def barrier_words(plan: Plan) -> dict[str, Any]:
    """Names about barriers that the partials may use; one of a purpose only where there is one."""
    named = {name: plan.barrier(purpose) for purpose, name in _PURPOSE_NAMES.items()}
    consumers = plan.geometry.consumers
    return {
        "barrier_map": _barrier_map(plan),
        "barrier_notes": _barrier_notes(plan),
        "init_rings": _init_rings(plan),
        "init_note": _init_note(plan),
        "masks": _masks(plan),
        "place": _place(plan),
        "readers": "This consumer's warps" if consumers > 1 else "All epilogue warps",
        **{name: _words(plan, barrier) for name, barrier in named.items() if barrier is not None},
    }


_PURPOSE_NAMES = {
    Purpose.AB_FULL: "full",
    Purpose.AB_EMPTY: "empty",
    Purpose.ACC_FULL: "acc_full",
    Purpose.ACC_EMPTY: "acc_empty",
    Purpose.MMA_DONE: "mma_done",
    Purpose.MMA_TURN: "turn",
}


def _init_note(plan: Plan) -> str:
    readers = "TMA and the tensor core see"
    if plan.spec.load.kind is LoadKind.COOPERATIVE:
        readers = "the tensor core sees"
    return f"{readers} the counts too"


def _slots_text(barrier: BarrierPlan) -> str:
    return f"{barrier.name}[{barrier.depth}]" if barrier.depth > 1 else barrier.name


def _first_phase(barrier: BarrierPlan, wait: WaitPlan) -> str:
    by_consumer = barrier.ring is Ring.CONSUMER and barrier.pre_armed
    return "1 - consumer" if by_consumer else str(wait.first_phase)


def _barrier_map(plan: Plan) -> list[str]:
    names = [_slots_text(barrier) for barrier in plan.barriers]
    whos = [f"{barrier.who} ({barrier.arrivals.value})" for barrier in plan.barriers]
    waits = [
        ", ".join(f"{wait.role.value}, {_first_phase(barrier, wait)}" for wait in barrier.waits)
        + (": pre-armed" if barrier.pre_armed else "")
        for barrier in plan.barriers
    ]
    left, middle = max([12, *map(len, names)]), max([42, *map(len, whos)])
    return [
        f"{name:{left}}  {who:{middle}} -> {wait}"
        for name, who, wait in zip(names, whos, waits, strict=True)
    ]


def _barrier_notes(plan: Plan) -> list[str]:
    notes = []
    if not plan.barriers:
        notes.append(
            "None: all threads load and multiply in turn, and meet at the barrier of the CTA."
        )
    named, released = plan.epilogue.named_barrier, plan.barrier(Purpose.ACC_EMPTY)
    by_one = released is not None and released.arrives[0].how is ArriveHow.THREAD
    if named is not None and plan.output is not None:
        notes.append(
            f"{named.name}: the warps of an accumulator meet before and after they fill D."
        )
    if named is not None and released is not None and by_one:
        warps = "a consumer's epilogue warps" if named.count > 1 else "the epilogue warps of a CTA"
        notes.append(f"{named.name} gathers {warps} before its one arrive on {released.name}.")
    if named is not None and named.count > 1:
        notes.append(f"Each consumer has its own: {named.name} + consumer.")
    if plan.persistent:
        notes.append("Phases run on across tiles: a barrier knows laps of its ring, not tiles.")
    return notes


def _init_rings(plan: Plan) -> list[InitRing]:
    """Barriers grouped by ring, in spec order; barriers of one slot are initialised one by one."""
    serial = plan.spec.mainloop.kind is MainloopKind.SERIAL
    one_each = plan.geometry.consumers > 1 and plan.spec.pipeline.acc_stages == 1
    slot = "consumer" if one_each else "slot"
    single = plan.tmem is not None and len(plan.tmem.slots) == 1
    index = {Ring.AB: "" if serial else "stage", Ring.ACC: "" if single else slot, Ring.SINGLE: ""}
    index[Ring.CONSUMER] = "consumer"
    rings: dict[Ring, list[BarrierPlan]] = {}
    for barrier in plan.barriers:
        rings.setdefault(barrier.ring, []).append(barrier)
    return [
        InitRing(
            index[ring],
            barriers[0].depth_code,
            tuple(_words(plan, barrier) for barrier in barriers),
        )
        for ring, barriers in rings.items()
    ]


def _words(plan: Plan, barrier: BarrierPlan) -> BarrierWords:
    how = {arrive.how for arrive in barrier.arrives}
    if ArriveHow.TX in how:
        who = "the expect_tx of a load"
    elif ArriveHow.THREAD in how:
        who = "one arrive a CTA" if barrier.arrivals.value > 1 else "one arrive"
    elif ArriveHow.THREADS in how:
        who = "every thread"
        if barrier.purpose is Purpose.AB_FULL:
            who = "every producer thread"
    elif ArriveHow.WARPS in how:
        who = "each mma warp"
    else:
        who = "a commit" if barrier.arrivals.value == 1 else "commits"
    arguments, note = "", "Arrives once these MMAs have read the stage."
    if barrier.mask is not None:
        group = ", tcgen05.CtaGroup.TWO" if plan.geometry.is_pair else ""
        mask = barrier.mask.name if several_pairs(plan) else barrier.mask.code
        arguments = f", {mask}{group}"
        note = f"Arrives, once these MMAs have read the stage, at {_REACH[barrier.arrives[0].to]}."
    ctas = "CLUSTER_N" if plan.geometry.cluster_m == 1 else "CLUSTER_M"
    return BarrierWords(barrier.name, barrier.arrivals_code, who, arguments, note, ctas)


_REACH = {
    ArriveTo.SELF: "this CTA",
    ArriveTo.LEADER: "the leader",
    ArriveTo.PAIR: "both CTAs",
    ArriveTo.SHARERS: "all that multicast into it",
}


def _masks(plan: Plan) -> list[Any]:
    """Masks that the kernel computes from its place in the cluster, in an order that it can."""
    masks = [copy.mask for copy in plan.copies if copy.mask is not None]
    if several_pairs(plan):
        masks += [barrier.mask for barrier in plan.barriers if barrier.mask is not None]
    return list({mask.name: mask for mask in masks}.values())


def _place(plan: Plan) -> str:
    """What a CTA of several pairs reads of its place in the cluster, besides its rank."""
    if any(copy.mask is not None for copy in plan.copies):
        return "cta_m, cta_n, _"
    if plan.persistent:
        return "cta_m, cta_n, _" if plan.geometry.cluster_n > 1 else ""
    return "cta_m, _, _"


def several_pairs(plan: Plan) -> bool:
    return plan.geometry.is_pair and plan.geometry.cluster_size > 2
