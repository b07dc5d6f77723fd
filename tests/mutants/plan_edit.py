"""Edits of a plan: of its numbers, or of the spec that it is made from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gemmgen.plan import BarrierPlan, Copy, MaskRule, Plan, Purpose, Sum, WaitPlan, make_plan
from gemmgen.spec import Spec
from mutants.model import Expect, Kind, Layer, Make, Variant
from mutants.subjects import Rung

PLAN, RUN, NONE = Expect.PLAN, Expect.RUN, Expect.NONE

BarrierEdit = Callable[[Plan, BarrierPlan], BarrierPlan | None]


def kind(name: str, why: str, make: Make, expect: Expect = PLAN) -> Kind:
    """A kind of fault in the plan."""
    return Kind(f"plan_{name}", Layer.PLAN, why, expect, make)


def each_barrier(edit: BarrierEdit) -> Make:
    """One variant for each barrier that `edit` changes."""

    def make(rung: Rung) -> Iterator[Variant]:
        for index, barrier in enumerate(rung.plan.barriers):
            changed = edit(rung.plan, barrier)
            if changed is not None and changed != barrier:
                barriers = (
                    *rung.plan.barriers[:index],
                    changed,
                    *rung.plan.barriers[index + 1 :],
                )
                yield Variant(barrier.name, replace(rung.plan, barriers=barriers))

    return make


def each_wait(edit: Callable[[Plan, WaitPlan], WaitPlan | None]) -> Make:
    """One variant for each barrier whose waits `edit` changes."""

    def change(plan: Plan, barrier: BarrierPlan) -> BarrierPlan | None:
        waits = tuple(edit(plan, wait) or wait for wait in barrier.waits)
        return replace(barrier, waits=waits)

    return each_barrier(change)


def each_mask(edit: Callable[[Plan, int, int], int]) -> Make:
    """One variant for each commit mask, changed rank by rank: ``edit(plan, rank, mask)``."""

    def change(plan: Plan, barrier: BarrierPlan) -> BarrierPlan | None:
        if barrier.mask is None:
            return None
        arrives = tuple(
            replace(arrive, mask=changed_mask(plan, arrive.mask, edit))
            for arrive in barrier.arrives
        )
        return replace(barrier, arrives=arrives)

    return each_barrier(change)


def changed_mask(
    plan: Plan, mask: MaskRule | None, edit: Callable[[Plan, int, int], int]
) -> MaskRule | None:
    """`mask` with `edit` applied at each rank."""
    if mask is None:
        return None
    by_rank = tuple(edit(plan, rank, bits) for rank, bits in enumerate(mask.by_rank))
    return replace(mask, by_rank=by_rank)


def each_copy(edit: Callable[[Plan, Copy], Copy | None]) -> Make:
    """One variant for each operand whose load `edit` changes."""

    def make(rung: Rung) -> Iterator[Variant]:
        for field in ("a", "b"):
            copy: Copy = getattr(rung.plan, field)
            changed = edit(rung.plan, copy)
            if changed is not None and changed != copy:
                a, b = (changed, rung.plan.b) if field == "a" else (rung.plan.a, changed)
                yield Variant(field, replace(rung.plan, a=a, b=b))

    return make


def whole(site: str, edit: Callable[[Plan], Plan | None]) -> Make:
    """One variant, or none."""

    def make(rung: Rung) -> Iterator[Variant]:
        changed = edit(rung.plan)
        if changed is not None and changed != rung.plan:
            yield Variant(site, changed)

    return make


def constant(name: str, edit: Callable[[Plan, int], int]) -> Make:
    """The module constant `name` with another value, printed as a literal."""

    def make(rung: Rung) -> Iterator[Variant]:
        out = []
        for line in rung.plan.constants:
            constants = tuple(
                replace(c, value=(v := edit(rung.plan, c.value)), code=str(v))
                if c.name == name
                else c
                for c in line.constants
            )
            out.append(replace(line, constants=constants))
        changed = replace(rung.plan, constants=tuple(out))
        if changed != rung.plan:
            yield Variant(name, changed)

    return make


def from_spec(edit: Callable[[Spec, Plan], Iterator[tuple[str, Spec]]]) -> Make:
    """Plans of specs that `edit` gives, each with its site."""

    def make(rung: Rung) -> Iterator[Variant]:
        for site, spec in edit(rung.plan.spec, rung.plan):
            yield Variant(site, make_plan(spec))

    return make


def spec_barriers(edit: Callable[[Plan, dict[str, Any]], dict[str, Any] | None]) -> Make:
    """Plans of specs in which `edit` changes one declared barrier, or leaves it out.

    `edit` takes and gives a dictionary with the keys of the spec; an empty one leaves the barrier
    out, None leaves it as it is.
    """

    def specs(spec: Spec, plan: Plan) -> Iterator[tuple[str, Spec]]:
        data = spec.model_dump(by_alias=True, mode="json", exclude_none=True)
        for index, barrier in enumerate(data["barriers"]):
            changed = edit(plan, barrier)
            if changed is None:
                continue
            rest = [*data["barriers"][:index], *([changed] if changed else [])]
            barriers = [*rest, *data["barriers"][index + 1 :]]
            yield barrier["name"], Spec.model_validate(data | {"barriers": barriers})

    return from_spec(specs)


def spec_table(table: str, **values: Any) -> Make:
    """Plans of specs with other values in one table."""

    def specs(spec: Spec, plan: Plan) -> Iterator[tuple[str, Spec]]:
        data = spec.model_dump(by_alias=True, mode="json", exclude_none=True)
        if table in data and data[table] != data[table] | values:
            yield table, Spec.model_validate(data | {table: data[table] | values})

    return from_spec(specs)


def plus(total: Sum, more: int) -> Sum:
    """A derived number off by `more`."""
    return dataclasses.replace(total, value=total.value + more)


def only(purpose: Purpose, edit: BarrierEdit) -> BarrierEdit:
    """`edit`, for barriers with `purpose`."""
    return lambda plan, barrier: edit(plan, barrier) if barrier.purpose is purpose else None
