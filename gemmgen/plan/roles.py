"""Warps, threads and which roles run at the same time."""

from __future__ import annotations

from gemmgen.arch import ArchFacts
from gemmgen.frozen import frozen
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.values import Constant, literal
from gemmgen.spec.model import RoleWarps, Spec
from gemmgen.terms import MainloopKind, MmaKind, Role, SchedulerKind


@frozen
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
        constants: module constants that `code` uses.
    """

    role: Role
    warps: tuple[int, ...]
    threads: int
    registers: int | None
    leader_only: bool
    concurrent: tuple[Role, ...]
    code: str
    constants: tuple[Constant, ...]


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
    computes one tile a CTA follows the mainloop; a persistent, warp-specialized kernel overlaps it
    with the next tile, unless the accumulator is in the registers of the mma warps (wgmma).
    """
    pairs: list[frozenset[Role]] = []
    if is_specialized(spec):
        pairs.append(frozenset((Role.PRODUCER, Role.MMA)))
    if is_specialized(spec) and in_registers(spec):
        pairs.append(frozenset((Role.PRODUCER, Role.EPILOGUE)))
    elif is_specialized(spec) and is_persistent(spec):
        pairs.append(frozenset((Role.PRODUCER, Role.EPILOGUE)))
        pairs.append(frozenset((Role.MMA, Role.EPILOGUE)))
    return tuple(pairs)


def is_specialized(spec: Spec) -> bool:
    """Whether loads and MMAs are the work of different warps at the same time."""
    return spec.mainloop.kind in (MainloopKind.WARP_SPECIALIZED, MainloopKind.PINGPONG)


def in_registers(spec: Spec) -> bool:
    """Whether accumulators are registers of the mma warps (wgmma), not tensor memory."""
    return spec.mma.kind is MmaKind.WGMMA


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


def _condition(
    spec: Spec, role: Role, warps: tuple[int, ...], total: int
) -> tuple[str, tuple[Constant, ...]]:
    """When one of `total` warps has `role`, and the constants that say so."""
    if len(warps) == total or not warps:
        return "", ()
    name = "MAINLOOP" if shares_a_warp(spec) and role is not Role.EPILOGUE else role.upper()
    first, count = literal(f"{name}_WARP", warps[0]), literal(f"{name}_WARPS", len(warps))
    if len(warps) == 1:
        return f"warp_idx == {first.name}", (first,)
    if role is Role.MMA:
        count = literal("CONSUMERS", len(warps))
    if warps[0] == 0:
        return f"warp_idx < {count.name}", (count,)
    from_first = f"warp_idx >= {first.name}"
    if warps[-1] + 1 == total:
        return from_first, (first,) if role is Role.EPILOGUE else (first, count)
    return f"{from_first} and warp_idx < {first.name} + {count.name}", (first, count)


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
        named = role
        if in_registers(spec) and role is Role.EPILOGUE and warps == spec.roles.mma.warps:
            named = Role.MMA  # the same warps, which go on with it
        code, constants = _condition(spec, named, warps, threads // arch.threads_per_warp)
        plans.append(
            RolePlan(
                role=role,
                warps=warps,
                threads=len(warps) * arch.threads_per_warp,
                registers=table.registers,
                leader_only=role is Role.MMA and g.is_pair,
                concurrent=peers,
                code=code,
                constants=constants,
            )
        )
    return tuple(plans)


def role_constants(spec: Spec, roles: tuple[RolePlan, ...], threads: int) -> tuple[Constant, ...]:
    """Thread count, the warps of each role and their registers, as module constants."""
    out = [literal("THREADS", threads, f"{threads // 32} warps")]
    for constant in (constant for plan in roles for constant in plan.constants):
        if constant.name != "CONSUMERS" and constant not in out:
            out.append(constant)
    for plan in roles:
        if plan.registers is not None:
            note = "a thread, set by setmaxnreg"
            out.append(literal(f"{plan.role.upper()}_REGISTERS", plan.registers, note))
    return tuple(out)
