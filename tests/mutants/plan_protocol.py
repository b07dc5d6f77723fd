"""Faults of the planned protocol: counts, bytes, phases, masks, and who takes part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gemmgen.plan import BarrierPlan, Flip, Plan, Purpose, WaitPlan
from mutants.edit import where
from mutants.model import Kind
from mutants.plan_edit import (
    NONE,
    changed_mask,
    each_barrier,
    each_copy,
    each_mask,
    each_wait,
    kind,
    only,
    plus,
    spec_barriers,
    whole,
)
from mutants.text_setup import in_cluster, is_pair


def _arrivals(more: int) -> Any:
    def edit(plan: Plan, barrier: BarrierPlan) -> BarrierPlan:
        total = plus(barrier.arrivals, more)
        return replace(barrier, arrivals=total, arrivals_code=str(total.value))

    return each_barrier(edit)


def _tx(change: Any) -> Any:
    def edit(plan: Plan, barrier: BarrierPlan) -> BarrierPlan | None:
        if barrier.tx_bytes is None:
            return None
        return replace(
            barrier, tx_bytes=replace(barrier.tx_bytes, value=change(plan, barrier.tx_bytes.value))
        )

    return each_barrier(edit)


def _group(plan: Plan) -> int:
    return plan.geometry.cta_group


def _of(operand: str) -> Any:
    return _tx(lambda plan, total: getattr(plan, operand).stage_bytes.value * _group(plan))


def _first_phase(plan: Plan, wait: WaitPlan) -> WaitPlan:
    return replace(wait, first_phase=1 - wait.first_phase)


def _flips(new: Flip) -> Any:
    return each_wait(lambda plan, wait: replace(wait, flips=new))


def _to(new: str) -> Any:
    def edit(plan: Plan, barrier: dict[str, Any]) -> dict[str, Any] | None:
        if any(arrive["to"] == new for arrive in barrier["arrive"]):
            return None
        return barrier | {"arrive": [arrive | {"to": new} for arrive in barrier["arrive"]]}

    return where(in_cluster, spec_barriers(edit))


def _how(new: str) -> Any:
    def edit(plan: Plan, barrier: dict[str, Any]) -> dict[str, Any] | None:
        if any(arrive["how"] == new for arrive in barrier["arrive"]):
            return None
        return barrier | {"arrive": [arrive | {"how": new} for arrive in barrier["arrive"]]}

    return spec_barriers(edit)


def _depth(more: int) -> Any:
    def edit(plan: Plan, barrier: BarrierPlan) -> BarrierPlan | None:
        return replace(barrier, depth=barrier.depth + more) if barrier.depth > 1 else None

    return each_barrier(edit)


COUNTS: tuple[Kind, ...] = (
    kind("arrivals_above", "the phase waits for an arrival that never comes", _arrivals(1)),
    kind("arrivals_below", "the phase completes one arrival early", _arrivals(-1)),
    kind(
        "tx_of_one_cta",
        "the phase completes before the peer's operands have landed",
        where(is_pair, _tx(lambda plan, n: n // 2)),
    ),
    kind("tx_of_a_only", "the phase completes before B has landed", _of("a")),
    kind("tx_of_b_only", "the phase completes before A has landed", _of("b")),
    kind(
        "tx_times_cluster",
        "the phase waits for bytes that others count",
        where(in_cluster, _tx(lambda plan, n: n * plan.geometry.cluster_size)),
    ),
    kind(
        "tx_of_a_slice",
        "the phase completes when one slice has landed",
        where(in_cluster, _tx(lambda plan, n: sum(c.issued_bytes for c in plan.copies))),
    ),
    kind(
        "tx_off_by_one_row",
        "the phase waits for bytes that never come",
        _tx(lambda plan, n: n + 2 * plan.geometry.tile_k),
    ),
)

PHASES: tuple[Kind, ...] = (
    kind(
        "first_phase_flipped",
        "the first wait never passes, or passes on a fresh barrier",
        each_wait(_first_phase),
    ),
    kind(
        "pre_armed_flipped",
        "the first wait never passes, or passes on a fresh barrier",
        spec_barriers(lambda plan, b: b | {"pre_armed": not b["pre_armed"]}),
    ),
    kind(
        "phase_never_flips",
        "after a lap each wait takes the lap before for its own",
        where(lambda rung: rung.name != "v0_single_tile", _flips(Flip.NEVER)),
    ),
    kind(
        "phase_flips_each_use",
        "the phase of a ring moves on every slot",
        each_wait(
            lambda plan, w: replace(w, flips=Flip.EACH_USE) if w.flips is Flip.ON_WRAP else None
        ),
    ),
    kind(
        "phase_reset_each_tile",
        "phases start again at each tile, though the barriers do not",
        each_wait(lambda plan, w: replace(w, carried=False) if w.carried else None),
    ),
)

REACH: tuple[Kind, ...] = (
    kind(
        "mask_without_peer",
        "one CTA's producer never gets its stage back",
        each_mask(lambda plan, rank, mask: mask & (1 << rank)),
    ),
    kind(
        "mask_without_self",
        "the own producer never gets its stage back",
        each_mask(lambda plan, rank, mask: mask & ~(1 << rank)),
    ),
    kind(
        "mask_of_all",
        "CTAs that share nothing get an arrival too many",
        each_mask(lambda plan, rank, mask: (1 << plan.geometry.cluster_size) - 1),
    ),
    kind(
        "mask_of_rank_0",
        "every CTA names the CTAs of the first",
        each_mask(lambda plan, rank, mask: 0b1),
    ),
    kind(
        "copy_mask_without_peer",
        "a slice reaches its own CTA only",
        each_copy(
            lambda plan, c: replace(
                c, mask=changed_mask(plan, c.mask, lambda p, rank, mask: 1 << rank)
            )
        ),
    ),
    kind(
        "copy_mask_without_self",
        "a slice reaches the others only",
        each_copy(
            lambda plan, c: replace(
                c, mask=changed_mask(plan, c.mask, lambda p, rank, mask: mask & ~(1 << rank))
            )
        ),
    ),
    kind(
        "copy_mask_across",
        "a slice goes along the other axis",
        where(
            lambda rung: rung.plan.a.mask is not None,
            whole(
                "both",
                lambda plan: replace(
                    plan, a=replace(plan.a, mask=plan.b.mask), b=replace(plan.b, mask=plan.a.mask)
                ),
            ),
        ),
    ),
    kind("arrive_to_self", "the peer is never told", _to("self")),
    kind("arrive_to_leader", "the peer is never told", _to("leader")),
    kind(
        "arrive_to_pair", "a CTA that shares nothing is told, or one that does is not", _to("pair")
    ),
    kind("arrive_to_sharers", "the peer is never told", _to("sharers")),
    kind(
        "arrive_by_thread", "a plain arrive does not wait for what is asynchronous", _how("thread")
    ),
    kind("arrive_by_commit", "a commit waits for MMAs, not for loads or reads", _how("commit")),
    kind("arrive_by_tx", "bytes that nobody loads", _how("tx")),
    kind(
        "on_leader_flipped",
        "the peer's bytes are counted on its own barrier, or another's on the leader",
        where(
            is_pair,
            each_barrier(only(Purpose.AB_FULL, lambda plan, b: replace(b, on_leader=False))),
        ),
    ),
)

PARTIES: tuple[Kind, ...] = (
    kind("barrier_absent", "nothing hands the buffer over", spec_barriers(lambda plan, b: {})),
    kind("arrive_absent", "nobody arrives", spec_barriers(lambda plan, b: b | {"arrive": []})),
    kind("wait_absent", "nobody waits", spec_barriers(lambda plan, b: b | {"wait": []})),
    kind(
        "wait_by_other_role",
        "the wrong role waits",
        spec_barriers(
            lambda plan, b: b | {"wait": ["epilogue" if b["wait"] != ["epilogue"] else "mma"]}
        ),
    ),
    kind(
        "arrive_by_other_role",
        "the wrong role arrives",
        spec_barriers(
            lambda plan, b: (
                b
                | {
                    "arrive": [
                        a | {"by": "epilogue" if a["by"] != "epilogue" else "producer"}
                        for a in b["arrive"]
                    ]
                }
            )
        ),
    ),
    kind(
        "ring_other",
        "slots of one thing are counted on slots of another",
        spec_barriers(lambda plan, b: b | {"ring": "single" if b["ring"] != "single" else "ab"}),
    ),
    kind("ring_short", "two stages share the last slot", _depth(-1)),
    kind("ring_long", "a slot that nobody uses", _depth(1), NONE),
)

KINDS = (
    *COUNTS,
    *PHASES,
    *REACH,
    *PARTIES,
)
