"""Warps, threads and which roles run at the same time."""

from __future__ import annotations

from dataclasses import dataclass

from gemmgen.arch import ArchFacts
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.values import Constant, literal
from gemmgen.spec.model import RoleWarps, Spec
from gemmgen.terms import MainloopKind, Role, SchedulerKind


@dataclass(frozen=True)
class RolePlan:
    """The warps of one role.

    Attributes:
        role: what they do.
        warps: warp ids, as in the spec.
        threads: their number of threads.
        registers: registers a thread that ``setmaxnreg`` asks for, or None.
        leader_only: only the leader CTA of a pair runs it.
        concurrent: roles that run at the same time in the same CTA.
        code: the condition under which a warp has this role, over ``warp_idx`` and the constants;
            empty when every warp has it.
    """

    role: Role
    warps: tuple[int, ...]
    threads: int
    registers: int | None
    leader_only: bool
    concurrent: tuple[Role, ...]
    code: str


def declared(spec: Spec) -> tuple[tuple[Role, RoleWarps], ...]:
    """Roles of `spec` in dataflow order."""
    roles = spec.roles
    return (
        (Role.PRODUCER, roles.producer),
        (Role.MMA, roles.mma),
        (Role.EPILOGUE, roles.epilogue),
    )


def concurrent_pairs(spec: Spec) -> tuple[frozenset[Role], ...]:
    """Pairs of roles that run at the same time.

    A serial or prefetch mainloop is one sequence of loads and MMAs. The epilogue of a kernel that
    computes one
    tile a CTA follows the mainloop; a persistent, warp-specialized kernel overlaps it with the
    next tile.
    """
    pairs: list[frozenset[Role]] = []
    specialized = spec.mainloop.kind in (MainloopKind.WARP_SPECIALIZED, MainloopKind.PINGPONG)
    if specialized:
        pairs.append(frozenset((Role.PRODUCER, Role.MMA)))
    if specialized and is_persistent(spec):
        pairs.append(frozenset((Role.PRODUCER, Role.EPILOGUE)))
        pairs.append(frozenset((Role.MMA, Role.EPILOGUE)))
    return tuple(pairs)


def is_persistent(spec: Spec) -> bool:
    """Whether a CTA walks over several output tiles."""
    return spec.scheduler.kind in (SchedulerKind.PERSISTENT, SchedulerKind.CLC)


def shares_a_warp(spec: Spec) -> bool:
    """Whether producer and mma are one warp."""
    return spec.roles.producer.warps == spec.roles.mma.warps


def thread_count(spec: Spec, arch: ArchFacts) -> int:
    """Threads of a CTA: up to the last warp that has a role, idle warps in between included."""
    last = max((warp for _, role in declared(spec) for warp in role.warps), default=-1)
    return (last + 1) * arch.threads_per_warp


def _condition(spec: Spec, role: Role, warps: tuple[int, ...], threads: int, width: int) -> str:
    if len(warps) * width == threads:
        return ""
    if len(warps) == 1:
        single = "MAINLOOP" if shares_a_warp(spec) and role is not Role.EPILOGUE else role.upper()
        return f"warp_idx == {single}_WARP"
    first, name = (warps[0] if warps else 0), f"{role.upper()}_WARPS"
    return f"warp_idx < {name}" if first == 0 else f"warp_idx >= {first}"


def plan_roles(spec: Spec, arch: ArchFacts, g: Geometry) -> tuple[RolePlan, ...]:
    """Roles in dataflow order."""
    threads = thread_count(spec, arch)
    pairs = concurrent_pairs(spec)
    plans: list[RolePlan] = []
    for role, table in declared(spec):
        warps = tuple(table.warps)
        peers = tuple(
            other for other, _ in declared(spec) if other is not role and {role, other} in pairs
        )
        plans.append(
            RolePlan(
                role=role,
                warps=warps,
                threads=len(warps) * arch.threads_per_warp,
                registers=table.registers,
                leader_only=role is Role.MMA and g.is_pair,
                concurrent=peers,
                code=_condition(spec, role, warps, threads, arch.threads_per_warp),
            )
        )
    return tuple(plans)


def role_constants(spec: Spec, roles: tuple[RolePlan, ...], threads: int) -> tuple[Constant, ...]:
    """Thread count and the warps of each role, as module constants."""
    out = [literal("THREADS", threads, f"{threads // 32} warps")]
    for plan in roles:
        if not plan.code or not plan.warps:
            continue
        name = plan.code.split()[2]
        if len(plan.warps) > 1:
            out.append(literal(f"{plan.role.upper()}_WARPS", len(plan.warps)))
        elif all(constant.name != name for constant in out):
            out.append(literal(name, plan.warps[0]))
    return tuple(out)
