"""The barrier protocol: what each barrier is for, and every count, byte, mask and phase of it."""

from __future__ import annotations

from enum import StrEnum

from gemmgen.frozen import frozen
from gemmgen.plan.copies import Copy
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.masks import MaskRule, arrive_mask
from gemmgen.plan.memory import SmemMap, ring_code, ring_depth
from gemmgen.plan.roles import declared, is_persistent
from gemmgen.plan.values import Sum, grouped
from gemmgen.spec.model import Arrive, Barrier, Spec
from gemmgen.terms import ArriveHow, ArriveTo, KExtent, MainloopKind, Ring, Role


class Purpose(StrEnum):
    """What a barrier hands over, told by who arrives and who waits, never by its name."""

    AB_FULL = "ab_full"
    AB_EMPTY = "ab_empty"
    ACC_FULL = "acc_full"
    ACC_EMPTY = "acc_empty"
    MMA_DONE = "mma_done"
    MMA_TURN = "mma_turn"


class Unit(StrEnum):
    """What one completed phase of a barrier stands for."""

    K_TILE = "k_tile"
    TILE = "tile"


class Flip(StrEnum):
    """When the phase that a waiter names changes."""

    NEVER = "never"
    EACH_USE = "each_use"
    ON_WRAP = "on_wrap"


@frozen
class ArrivePlan:
    """One kind of arrival.

    Attributes:
        by: role that causes it.
        how: what makes it.
        to: whose copy of the barrier it reaches.
        count: arrivals that one copy of the barrier receives a phase, with the arithmetic.
        mask: CTAs that a commit names; None for its own CTA.
    """

    by: Role
    how: ArriveHow
    to: ArriveTo
    count: Sum
    mask: MaskRule | None


@frozen
class WaitPlan:
    """How one role waits.

    Attributes:
        role: who waits.
        first_phase: phase that its first wait names: 1 passes at once on a fresh barrier.
        flips: when the phase changes.
        carried: phase and slot go on across output tiles.
        leader_only: only the leader CTA of a pair waits.
        text: the rule in words.
    """

    role: Role
    first_phase: int
    flips: Flip
    carried: bool
    leader_only: bool
    text: str


@frozen
class BarrierPlan:
    """One declared barrier.

    Attributes:
        name: as in the spec.
        purpose: what it hands over; None when arrivals and waits fit no hand-over.
        unit: what a completed phase stands for.
        ring: what it has a slot for.
        depth, depth_code: slots, and the constant that holds them.
        arrivals, arrivals_code: count that it is initialised with, and the expression to print.
        tx_bytes, tx_code: bytes of a phase (None without a copy), and the constant that holds them.
        arrives: kinds of arrival.
        waits: one a waiting role.
        pre_armed: the first lap of waits passes at once.
        on_leader: arrivals and waits use the leader CTA's copy only.
        offset: bytes from the start of dynamic shared memory.
        who: one line on who arrives, for the barrier map and the init.
    """

    name: str
    purpose: Purpose | None
    unit: Unit
    ring: Ring
    depth: int
    depth_code: str
    arrivals: Sum
    arrivals_code: str
    tx_bytes: Sum | None
    tx_code: str
    arrives: tuple[ArrivePlan, ...]
    waits: tuple[WaitPlan, ...]
    pre_armed: bool
    on_leader: bool
    offset: int
    who: str

    def wait_of(self, role: Role) -> WaitPlan:
        """How `role` waits.

        Raises:
            KeyError: when it does not.
        """
        for wait in self.waits:
            if wait.role is role:
                return wait
        raise KeyError(role)

    @property
    def mask(self) -> MaskRule | None:
        """The mask of its commit, if it has one."""
        return next((arrive.mask for arrive in self.arrives if arrive.mask), None)


def purpose_of(barrier: Barrier) -> Purpose | None:
    """What `barrier` hands over.

    A producer's arrival that mma waits for fills a stage; mma's arrival frees it for the producer,
    or, where the barrier has a single slot, says that all MMAs so far are done; mma and epilogue
    hand an accumulator over; mma hands the tensor core from one consumer to the next.
    """
    by = {arrive.by for arrive in barrier.arrive}
    to = set(barrier.wait)
    hand_over = {
        (Role.PRODUCER, Role.MMA): Purpose.AB_FULL,
        (Role.MMA, Role.PRODUCER): Purpose.AB_EMPTY,
        (Role.MMA, Role.EPILOGUE): Purpose.ACC_FULL,
        (Role.EPILOGUE, Role.MMA): Purpose.ACC_EMPTY,
        (Role.MMA, Role.MMA): Purpose.MMA_TURN,
    }
    if len(by) != 1 or len(to) != 1:
        return None
    purpose = hand_over.get((by.pop(), to.pop()))
    if purpose is Purpose.AB_EMPTY and barrier.ring is Ring.SINGLE:
        return Purpose.MMA_DONE
    return purpose


def _count(barrier: Barrier, arrive: Arrive, spec: Spec, g: Geometry) -> Sum:
    """Arrivals a phase: every consumer frees a stage that all read, and fills a slot of its own."""
    if arrive.how is ArriveHow.COMMIT:
        issuers = 1 if barrier.ring is Ring.ACC else g.consumers
        if arrive.to is ArriveTo.SHARERS and spec.load.multicast:
            return _sharers(spec, g, issuers)
        return Sum(issuers, "CONSUMERS" if issuers > 1 else "1")
    if arrive.how is ArriveHow.WARPS:
        return _warps_arriving(barrier, arrive, spec, g)
    ctas = g.cta_group if arrive.to is ArriveTo.LEADER and g.is_pair else 1
    if arrive.how is ArriveHow.THREADS:
        readers = 1 if arrive.by is Role.PRODUCER else g.consumers  # who shares a stage, a slot
        threads = -(-32 * len(_warps(spec, arrive.by)) // readers)
        whose = "each CTA of the pair" if ctas > 1 else f"{threads // 32} {arrive.by.value} warps"
        text = f"{threads} threads of" if ctas > 1 else "the threads of"
        return Sum(ctas * threads, f"{text} {whose}")
    if arrive.how is ArriveHow.THREAD and ctas > 1:
        return Sum(ctas, "1 from each CTA of the pair")
    return Sum(1, "1")


def _warps_arriving(barrier: Barrier, arrive: Arrive, spec: Spec, g: Geometry) -> Sum:
    """One arrival from each warp of a consumer, of all consumers that read a stage, of all CTAs."""
    each = -(-len(_warps(spec, arrive.by)) // g.consumers)
    if barrier.ring is Ring.CONSUMER:
        return Sum(each, f"{each} warps of the other consumer")
    readers = 1 if spec.mainloop.kind is MainloopKind.PINGPONG else g.consumers
    ctas = _sharers(spec, g, 1) if arrive.to is ArriveTo.SHARERS else Sum(1, "1")
    factors = [str(each), "CONSUMERS" * (readers > 1)]
    if ctas.value > 1:
        factors.append(f"({ctas.text})" if " " in ctas.text else ctas.text)
    code = " * ".join(factor for factor in factors if factor)
    text = f"{each} warps" if code == str(each) else code
    return Sum(each * readers * ctas.value, text)


def _warps(spec: Spec, role: Role) -> tuple[int, ...]:
    return next((table.warps for name, table in declared(spec) if name is role), ())


def _sharers(spec: Spec, g: Geometry, issuers: int) -> Sum:
    """CTA groups whose loads reach this CTA: its row, its column, itself once."""
    down = g.cluster_m // g.cta_group
    operands = {operand.value for operand in spec.load.multicast}
    row = g.cluster_n if "a" in operands else 1
    column = down if "b" in operands else 1
    code = {
        (True, True): "CLUSTER_M + CLUSTER_N - 1",
        (True, False): "CLUSTER_N",
        (False, True): "CLUSTER_M",
        (False, False): "1",
    }[("a" in operands, "b" in operands)]
    if g.is_pair:
        code = code.replace("CLUSTER_M", "CLUSTER_M // 2")
    if issuers > 1:
        code = f"CONSUMERS * ({code})"
    return Sum((row + column - 1) * issuers, code)


def _arrivals_code(barrier: Barrier, arrivals: Sum) -> str:
    if arrivals.value == 1 or arrivals.text.isidentifier():
        return arrivals.text if arrivals.value > 1 else "1"
    return f"{barrier.name.upper()}_ARRIVALS"


def _arrives(barrier: Barrier, spec: Spec, g: Geometry) -> tuple[ArrivePlan, ...]:
    shared = tuple(spec.load.multicast)
    return tuple(
        ArrivePlan(
            by=arrive.by,
            how=arrive.how,
            to=arrive.to,
            count=_count(barrier, arrive, spec, g),
            mask=arrive_mask(g, arrive.to, shared) if arrive.how is ArriveHow.COMMIT else None,
        )
        for arrive in barrier.arrive
    )


def _wait(barrier: Barrier, role: Role, unit: Unit, spec: Spec, g: Geometry) -> WaitPlan:
    of_consumer = barrier.ring in (Ring.ACC, Ring.CONSUMER)
    walked = ring_depth(spec, barrier.ring) // (g.consumers if of_consumer else 1)
    persistent = is_persistent(spec)
    once = not persistent and (unit is Unit.TILE or spec.problem.k_extent is KExtent.ONE_STEP)
    flips = Flip.NEVER if once else Flip.ON_WRAP if walked > 1 else Flip.EACH_USE
    first = int(barrier.pre_armed)
    rule = {
        Flip.NEVER: "used once",
        Flip.EACH_USE: f"flips every {unit.value}",
        Flip.ON_WRAP: "flips when the slot index wraps",
    }[flips]
    begins = "phase 1, which passes on a fresh barrier" if first else "phase 0"
    if barrier.ring is Ring.CONSUMER and first:
        begins = "phase 1, which passes on a fresh barrier, of the first consumer; 0 of the others"
    carried = persistent and flips is not Flip.NEVER
    text = f"{begins}; {rule}" + ("; carried across tiles" if carried else "")
    return WaitPlan(role, first, flips, carried, role is Role.MMA and g.is_pair, text)


def _total(arrives: tuple[ArrivePlan, ...]) -> Sum:
    return Sum(
        sum(arrive.count.value for arrive in arrives),
        " + ".join(arrive.count.text for arrive in arrives) or "0",
    )


def _tx(barrier: Barrier, copies: tuple[Copy, ...], g: Geometry) -> tuple[Sum | None, str]:
    tx = [arrive for arrive in barrier.arrive if arrive.how is ArriveHow.TX]
    if not tx:
        return None, ""
    stage = sum(copy.stage_bytes.value for copy in copies)
    text = " + ".join(f"{copy.name} {grouped(copy.stage_bytes.value)}" for copy in copies)
    if g.is_pair and any(arrive.to is ArriveTo.LEADER for arrive in tx):
        return Sum(stage * 2, f"2 CTAs x ({text})"), "AB_BYTES"
    return Sum(stage, text), "AB_BYTES"


def _who(barrier: Barrier, arrives: tuple[ArrivePlan, ...], g: Geometry) -> str:
    words = {
        ArriveHow.TX: "{by}: expect_tx, TMA bytes",
        ArriveHow.COMMIT: "{by}: tcgen05.commit",
        ArriveHow.THREAD: "{by}: one thread",
        ArriveHow.THREADS: "{by}: every thread",
        ArriveHow.WARPS: "{by}: each warp",
    }
    reach = {
        ArriveTo.SELF: "",
        ArriveTo.LEADER: ", on the leader" if g.is_pair else "",
        ArriveTo.PAIR: " to both CTAs" if g.is_pair else "",
        ArriveTo.SHARERS: " to its row and column",
    }
    if g.cluster_size == 2:
        reach[ArriveTo.SHARERS] = ", at both CTAs"
    if barrier.ring is Ring.CONSUMER:
        reach[ArriveTo.SELF] = " of the other consumer"
    parts = [words[a.how].format(by=a.by.value) + reach[a.to] for a in arrives]
    return "; ".join(parts)


def plan_barriers(
    spec: Spec, g: Geometry, copies: tuple[Copy, ...], smem: SmemMap
) -> tuple[BarrierPlan, ...]:
    """Every declared barrier, in spec order."""
    plans: list[BarrierPlan] = []
    for barrier in spec.barriers:
        purpose = purpose_of(barrier)
        of_acc = purpose in (Purpose.ACC_FULL, Purpose.ACC_EMPTY)
        of_tile = of_acc or barrier.ring in (Ring.ACC, Ring.CONSUMER)
        unit = Unit.TILE if of_tile else Unit.K_TILE
        arrives = _arrives(barrier, spec, g)
        arrivals = _total(arrives)
        tx_bytes, tx_code = _tx(barrier, copies, g)
        plans.append(
            BarrierPlan(
                name=barrier.name,
                purpose=purpose,
                unit=unit,
                ring=barrier.ring,
                depth=ring_depth(spec, barrier.ring),
                depth_code=ring_code(spec, barrier.ring),
                arrivals=arrivals,
                arrivals_code=_arrivals_code(barrier, arrivals),
                tx_bytes=tx_bytes,
                tx_code=tx_code,
                arrives=arrives,
                waits=tuple(_wait(barrier, role, unit, spec, g) for role in barrier.wait),
                pre_armed=barrier.pre_armed,
                on_leader=g.is_pair and any(a.to is ArriveTo.LEADER for a in barrier.arrive),
                offset=smem.field(barrier.name).offset,
                who=_who(barrier, arrives, g),
            )
        )
    return tuple(plans)
