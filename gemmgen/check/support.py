"""What no template prints yet: one table, which shrinks as templates come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gemmgen.check.finding import fault
from gemmgen.plan import Plan
from gemmgen.terms import (
    Arch,
    Dtype,
    EpilogueKind,
    Finding,
    LoadKind,
    MainloopKind,
    Major,
    Role,
    SchedulerKind,
    Swizzle,
)


@dataclass(frozen=True)
class Gap:
    """A legal spec that no template prints.

    Attributes:
        code: of its finding.
        key: key path that asks for it.
        what: in a few words.
        applies: whether a plan asks for it.
        instead: what there is.
    """

    code: str
    key: str
    what: str
    applies: Callable[[Plan], bool]
    instead: str


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
    Gap(
        "P290",
        "arch",
        "kernels for sm_90a",
        lambda plan: plan.spec.arch is Arch.SM90A,
        'write `arch = "sm_100a"`',
    ),
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
        "load.kind",
        "cooperative loads",
        lambda plan: plan.spec.load.kind is not LoadKind.TMA,
        'write `kind = "tma"`',
    ),
    Gap(
        "P293",
        "mainloop.kind",
        "a ping-pong mainloop",
        lambda plan: plan.spec.mainloop.kind is MainloopKind.PINGPONG,
        'write `kind = "warp_specialized"`',
    ),
    Gap(
        "P293",
        "mainloop.kind",
        "a persistent kernel without warp specialization",
        lambda plan: plan.persistent and plan.one_warp_mainloop,
        'write `kind = "warp_specialized"`',
    ),
    Gap(
        "P293",
        "scheduler.kind",
        "a persistent kernel of single CTAs",
        lambda plan: plan.persistent and not plan.geometry.is_pair,
        'write `kind = "grid"`, or `cta_group = 2`',
    ),
    Gap(
        "P294",
        "scheduler.kind",
        "cluster launch control",
        lambda plan: plan.spec.scheduler.kind is SchedulerKind.CLC,
        'write `kind = "persistent"`',
    ),
    Gap(
        "P294",
        "scheduler.kind",
        "a kernel for a single tile",
        lambda plan: plan.spec.scheduler.kind is SchedulerKind.SINGLE,
        'write `kind = "grid"`',
    ),
    Gap(
        "P294",
        "scheduler.group_m",
        "walking tiles in groups",
        lambda plan: plan.spec.scheduler.group_m is not None,
        "remove `group_m`",
    ),
    Gap(
        "P295",
        "epilogue.kind",
        "an epilogue with TMA stores",
        lambda plan: plan.spec.epilogue.kind is EpilogueKind.TMA_STORE,
        'write `kind = "direct"`',
    ),
    Gap(
        "P296",
        "mma.m",
        "an MMA that leaves TMEM lanes unused or splits columns over lane halves",
        lambda plan: plan.geometry.mma_m != 128 * plan.geometry.cta_group,
        "take 128 rows a CTA: mma.m = 128, or 256 with cta_group 2",
    ),
    Gap(
        "P296",
        "tile",
        "a tile of more than one MMA along M or N",
        lambda plan: plan.geometry.m_steps > 1 or plan.geometry.n_steps > 1,
        "take tile.m x cta_group = mma.m and tile.n = mma.n",
    ),
    Gap(
        "P297",
        "smem.swizzle",
        "a stage wider than one span of its swizzle, or swizzles between none and 128b",
        lambda plan: (
            plan.spec.smem.swizzle not in (Swizzle.NONE, Swizzle.B128)
            or (plan.spec.smem.swizzle is Swizzle.B128 and plan.geometry.tile_k * 2 > 128)
        ),
        'write `swizzle = "128b"` with tile.k = 64',
    ),
    Gap(
        "P297",
        "smem.swizzle",
        "a swizzle without a ring of stages",
        lambda plan: (
            plan.spec.mainloop.kind is MainloopKind.SERIAL
            and plan.spec.smem.swizzle is not Swizzle.NONE
        ),
        'write `swizzle = "none"`, or `mainloop.kind = "prefetch"`',
    ),
    Gap(
        "P298",
        "load.multicast",
        "multicast of one operand only",
        lambda plan: len([copy for copy in plan.copies if copy.slices > 1]) == 1,
        'write `multicast = ["a", "b"]` with a cluster of at least 2 x 2',
    ),
    Gap(
        "P298",
        "load.multicast",
        "multicast to CTA pairs",
        lambda plan: plan.geometry.is_pair and bool(plan.spec.load.multicast),
        "write `multicast = []`",
    ),
    Gap(
        "P298",
        "cluster",
        "a cluster that neither multicasts nor pairs its CTAs, or that has several pairs",
        lambda plan: (
            plan.geometry.cluster_size != plan.geometry.cta_group
            and (plan.geometry.is_pair or not plan.spec.load.multicast)
        ),
        "leave the table out, or take a cluster of 2 x 1 for a pair",
    ),
    Gap(
        "P299",
        "roles",
        "registers moved between roles",
        lambda plan: any(role.registers is not None for role in plan.roles),
        "remove `registers`",
    ),
    Gap(
        "P299",
        "roles.producer.warps",
        "more than one producer warp or mma warp",
        lambda plan: any(len(plan.role(role).warps) > 1 for role in (Role.PRODUCER, Role.MMA)),
        "name one warp",
    ),
    Gap(
        "P299",
        "roles.epilogue.warps",
        "an epilogue of more than four warps",
        lambda plan: len(plan.role(Role.EPILOGUE).warps) > 4,
        "name four warps, the first a multiple of 4",
    ),
)


# Where these found something, the gap would say "legal" of what is not.
SILENT_AFTER: dict[str, frozenset[str]] = {
    "P296": frozenset({"P202", "P203"}),
    "P297": frozenset({"P204", "P205"}),
    "P298": frozenset({"P240", "P241", "P242", "P243"}),
}


def check_support(plan: Plan, found: frozenset[str] = frozenset()) -> Iterator[Finding]:
    """P290 to P299: legal, but no template prints it yet; `found` has the codes of other rules."""
    for gap in GAPS:
        if gap.applies(plan) and not found & SILENT_AFTER.get(gap.code, frozenset()):
            title = f"no template prints this yet: {gap.what}"
            yield fault(gap.code, title, gap.key, help=gap.instead)
