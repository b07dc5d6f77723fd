"""What no template prints yet: one table, which shrinks as templates come."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.check.finding import fault
from gemmgen.check.gap import Gap
from gemmgen.check.support_sm90 import GAPS_SM90
from gemmgen.plan import Plan
from gemmgen.plan.barriers import Purpose
from gemmgen.terms import (
    Arch,
    Dtype,
    Finding,
    KExtent,
    LoadKind,
    MainloopKind,
    Major,
    Role,
    SchedulerKind,
)


def _dtype_gap(matrix: str) -> Gap:
    return Gap(
        "P291",
        f"problem.{matrix}.dtype",
        f"{matrix.upper()} in anything but f16",
        lambda plan: getattr(plan.spec.problem, matrix).dtype is not Dtype.F16,
        'write `dtype = "f16"`',
    )


def _major_gap(matrix: str, major: Major) -> Gap:
    return Gap(
        "P292",
        f"problem.{matrix}.major",
        f"{matrix.upper()} in anything but {major.value.upper()}-major",
        lambda plan: getattr(plan.spec.problem, matrix).major is not major,
        f'write `major = "{major.value}"`',
    )


GAPS: tuple[Gap, ...] = (
    _dtype_gap("a"),
    _dtype_gap("b"),
    _dtype_gap("d"),
    Gap(
        "P291",
        "problem.acc_dtype",
        "accumulation in anything but f32",
        lambda plan: plan.spec.problem.acc_dtype is not Dtype.F32,
        'write `acc_dtype = "f32"`',
    ),
    _major_gap("a", Major.K),
    _major_gap("b", Major.K),
    _major_gap("d", Major.N),
    Gap(
        "P293",
        "problem.k_extent",
        "one K step but of one MMA, or of plain loads, whose commit the epilogue waits for",
        lambda plan: (
            plan.spec.problem.k_extent is KExtent.ONE_STEP
            and (
                (plan.geometry.k_blocks > 1 and plan.spec.load.kind is LoadKind.TMA)
                or all(barrier.purpose is not Purpose.ACC_FULL for barrier in plan.barriers)
            )
        ),
        'write `k_extent = "any"`',
        Arch.SM100A,
    ),
    Gap(
        "P293",
        "mainloop.kind",
        "a ping-pong mainloop",
        lambda plan: plan.spec.mainloop.kind is MainloopKind.PINGPONG,
        'write `kind = "warp_specialized"`',
        Arch.SM100A,
    ),
    Gap(
        "P293",
        "cluster",
        "a cluster whose CTAs load and multiply in one sequence",
        lambda plan: (
            plan.geometry.cluster_size > 1 and plan.spec.mainloop.kind is MainloopKind.SERIAL
        ),
        'write `mainloop.kind = "warp_specialized"`',
        Arch.SM100A,
    ),
    Gap(
        "P293",
        "cluster",
        "a cluster whose CTAs load ahead in one sequence: it takes a barrier a stage",
        lambda plan: (
            plan.geometry.cluster_size > 1 and plan.spec.mainloop.kind is MainloopKind.PREFETCH
        ),
        'write `mainloop.kind = "warp_specialized"`',
        Arch.SM100A,
    ),
    Gap(
        "P294",
        "scheduler.kind",
        "cluster launch control",
        lambda plan: plan.spec.scheduler.kind is SchedulerKind.CLC,
        'write `kind = "persistent"`',
    ),
    Gap(
        "P296",
        "mma.m",
        "an MMA that leaves TMEM lanes unused or splits columns over lane halves",
        lambda plan: plan.geometry.mma_m != 128 * plan.geometry.cta_group,
        "take 128 rows a CTA: mma.m = 128, or 256 with cta_group 2",
        Arch.SM100A,
    ),
    Gap(
        "P296",
        "tile",
        "a tile of more than one MMA along N, or along M for each consumer",
        lambda plan: plan.geometry.m_steps > plan.geometry.consumers or plan.geometry.n_steps > 1,
        "take tile.m x cta_group = mma.m x consumers and tile.n = mma.n",
        Arch.SM100A,
    ),
    Gap(
        "P298",
        "cluster",
        "a cluster that neither multicasts nor pairs its CTAs",
        lambda plan: (
            plan.geometry.cluster_size > 1
            and not plan.geometry.is_pair
            and not plan.spec.load.multicast
        ),
        "leave the table out, or say what is multicast",
        Arch.SM100A,
    ),
    Gap(
        "P299",
        "roles",
        "registers moved between roles",
        lambda plan: any(role.registers is not None for role in plan.roles),
        "remove `registers`",
        Arch.SM100A,
    ),
    Gap(
        "P299",
        "roles.producer.warps",
        "more than one producer warp",
        lambda plan: (
            plan.spec.load.kind is LoadKind.TMA and len(plan.role(Role.PRODUCER).warps) > 1
        ),
        "name one warp",
    ),
    Gap(
        "P299",
        "roles.epilogue.warps",
        "an epilogue of more than four warps a consumer",
        lambda plan: len(plan.role(Role.EPILOGUE).warps) > 4 * plan.geometry.consumers,
        "name four warps a consumer, the first a multiple of 4",
        Arch.SM100A,
    ),
    *GAPS_SM90,
)


# Where these found something, the gap would say "legal" of what is not.
SILENT_AFTER: dict[str, frozenset[str]] = {
    "P293": frozenset({"P211", "P214", "P215"}),
    "P296": frozenset({"P202", "P203", "P212"}),
    "P298": frozenset({"P240", "P241", "P242", "P243"}),
    "P299": frozenset({"P210", "P211", "P230"}),
}


def check_support(plan: Plan, found: frozenset[str] = frozenset()) -> Iterator[Finding]:
    """P290 to P299: legal, but no template prints it yet; `found` has the codes of other rules."""
    if "P201" in found:
        return  # which templates should print it is open
    for gap in GAPS:
        if gap.arch not in (None, plan.spec.arch) or not gap.applies(plan):
            continue
        if not found & SILENT_AFTER.get(gap.code, frozenset()):
            title = f"no template prints this yet: {gap.what}"
            yield fault(gap.code, title, gap.key, help=gap.instead)
