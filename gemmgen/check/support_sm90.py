"""What no template for sm_90a prints yet."""

from __future__ import annotations

from gemmgen.check.gap import Gap
from gemmgen.plan import Plan
from gemmgen.plan.roles import is_specialized
from gemmgen.terms import Arch, LoadKind, MainloopKind, Operand, Role, SchedulerKind


def _shared_line(plan: Plan) -> bool:
    """Whether two CTAs share an operand, and nothing else is multicast."""
    place = (plan.geometry.cluster_m, plan.geometry.cluster_n)
    shared = {(2, 1): (Operand.B,), (1, 2): (Operand.A,)}
    return shared.get(place) == tuple(plan.spec.load.multicast)


GAPS_SM90: tuple[Gap, ...] = (
    Gap(
        "P293",
        "load.kind",
        "cooperative loads but of single CTAs with a serial mainloop",
        lambda plan: (
            plan.spec.load.kind is LoadKind.COOPERATIVE
            and plan.spec.mainloop.kind is not MainloopKind.SERIAL
        ),
        'write `load.kind = "tma"`, or `mainloop.kind = "serial"`',
        Arch.SM90A,
    ),
    Gap(
        "P293",
        "mainloop.kind",
        "a persistent kernel, a cluster or TMA stores without warp specialisation",
        lambda plan: (
            not is_specialized(plan.spec)
            and (plan.persistent or plan.geometry.cluster_size > 1 or plan.output is not None)
        ),
        'write `mainloop.kind = "warp_specialized"`',
        Arch.SM90A,
    ),
    Gap(
        "P294",
        "scheduler.kind",
        "a single tile",
        lambda plan: plan.spec.scheduler.kind is SchedulerKind.SINGLE,
        'write `kind = "grid"`',
        Arch.SM90A,
    ),
    Gap(
        "P295",
        "epilogue.register_buffers",
        "a second register buffer beside an accumulator in registers",
        lambda plan: plan.spec.epilogue.register_buffers > 1,
        "write `register_buffers = 1`",
        Arch.SM90A,
    ),
    Gap(
        "P295",
        "epilogue.chunks",
        "a staged chunk wider than one span of its swizzle",
        lambda plan: plan.output is not None and plan.output.boxes > 1,
        "take chunks of at most 64 columns",
        Arch.SM90A,
    ),
    Gap(
        "P296",
        "tile.n",
        "a tile of more than one instruction along N",
        lambda plan: plan.geometry.n_steps > 1,
        "take tile.n = mma.n",
        Arch.SM90A,
    ),
    Gap(
        "P296",
        "roles.mma.warps",
        "several consumers without warp specialisation",
        lambda plan: plan.geometry.consumers > 1 and not is_specialized(plan.spec),
        'name four warps, or write `mainloop.kind = "warp_specialized"`',
        Arch.SM90A,
    ),
    Gap(
        "P298",
        "cluster",
        "a cluster but of two CTAs that share the operand that both read",
        lambda plan: plan.geometry.cluster_size > 1 and not _shared_line(plan),
        'take cluster (2, 1) with `multicast = ["b"]`, or (1, 2) with `["a"]`',
        Arch.SM90A,
    ),
    Gap(
        "P299",
        "roles.mma.warps",
        "consumers anywhere but after the producer's warpgroup, or a CTA with other warps",
        lambda plan: (
            plan.role(Role.MMA).warps[:1] != ((4,) if is_specialized(plan.spec) else (0,))
            or plan.threads != 32 * (plan.role(Role.MMA).warps[-1] + 1)
        ),
        "let mma begin at warp 4, or at 0 without warp specialisation, and be last",
        Arch.SM90A,
    ),
)
