"""Spec -> Plan: the only place with arithmetic."""

from __future__ import annotations

from gemmgen.arch import ArchFacts, facts
from gemmgen.frozen import frozen
from gemmgen.plan.barriers import BarrierPlan, Purpose, plan_barriers
from gemmgen.plan.constants import plan_constants
from gemmgen.plan.consumer import ConsumerPlan, plan_consumer
from gemmgen.plan.copies import Copy, plan_copies
from gemmgen.plan.epilogue import EpiloguePlan, plan_epilogue
from gemmgen.plan.geometry import Geometry, plan_geometry
from gemmgen.plan.launch import LaunchPlan, ProblemRules, plan_launch, plan_problem
from gemmgen.plan.memory import SmemMap, TmemMap, plan_smem, plan_tmem
from gemmgen.plan.output import OutputPlan, plan_output
from gemmgen.plan.roles import RolePlan, is_persistent, plan_roles, shares_a_warp, thread_count
from gemmgen.plan.values import Constant, ConstantLine
from gemmgen.plan.walk import WalkPlan, plan_walk
from gemmgen.spec.model import Spec
from gemmgen.terms import Role


@frozen
class Plan:
    """Everything that a template prints, a checker checks and a runner asks for.

    Attributes:
        spec: what it was made from.
        arch: limits of the target.
        geometry: tiles, instructions, cluster.
        a, b: the loads of the operands.
        smem, tmem: memory maps.
        roles: in dataflow order.
        threads: of a CTA.
        barriers: in spec order.
        epilogue: chunks and registers.
        output: staging of D, or None.
        consumer: how a warp knows its consumer, where there are several in tensor memory.
        walk: order of the tiles.
        launch: grid, CTA, cluster.
        problem: what M, N and K must satisfy.
        constants: assignments of module constants in the generated file.
        persistent: a CTA walks over several output tiles.
        one_warp_mainloop: producer and mma are the same warp.
    """

    spec: Spec
    arch: ArchFacts
    geometry: Geometry
    a: Copy
    b: Copy
    smem: SmemMap
    tmem: TmemMap | None
    roles: tuple[RolePlan, ...]
    threads: int
    barriers: tuple[BarrierPlan, ...]
    epilogue: EpiloguePlan
    output: OutputPlan | None
    consumer: ConsumerPlan | None
    walk: WalkPlan
    launch: LaunchPlan
    problem: ProblemRules
    constants: tuple[ConstantLine, ...]
    persistent: bool
    one_warp_mainloop: bool

    @property
    def name(self) -> str:
        """Name of the spec."""
        return self.spec.name

    @property
    def copies(self) -> tuple[Copy, Copy]:
        """The loads of A and of B."""
        return self.a, self.b

    def barrier(self, purpose: Purpose) -> BarrierPlan | None:
        """The barrier with `purpose`, or None."""
        return next((b for b in self.barriers if b.purpose is purpose), None)

    def role(self, role: Role) -> RolePlan:
        """The warps of `role`.

        Raises:
            KeyError: when the plan has no such role.
        """
        for plan in self.roles:
            if plan.role is role:
                return plan
        raise KeyError(role)

    def constant(self, name: str) -> Constant:
        """The module constant called `name`.

        Raises:
            KeyError: when there is none.
        """
        for line in self.constants:
            for constant in line.constants:
                if constant.name == name:
                    return constant
        raise KeyError(name)


def make_plan(spec: Spec) -> Plan:
    """Derive everything from `spec`.

    Total on every valid `Spec`: one that no kernel can have still gives numbers, and
    `gemmgen.check.check_plan`
    says what is wrong with them.
    """
    arch = facts(spec.arch)
    g = plan_geometry(spec)
    copies = plan_copies(spec, g)
    output = plan_output(spec, g)
    smem = plan_smem(spec, arch, copies, output)
    tmem = plan_tmem(spec, arch, g)
    roles = plan_roles(spec, arch, g)
    threads = thread_count(spec, arch)
    barriers = plan_barriers(spec, g, copies, smem)
    epilogue_threads = next(role.threads for role in roles if role.role is Role.EPILOGUE)
    epilogue = plan_epilogue(spec, g, barriers, epilogue_threads, threads)
    return Plan(
        spec=spec,
        arch=arch,
        geometry=g,
        a=copies[0],
        b=copies[1],
        smem=smem,
        tmem=tmem,
        roles=roles,
        threads=threads,
        barriers=barriers,
        epilogue=epilogue,
        output=output,
        consumer=plan_consumer(spec, g),
        walk=plan_walk(spec, g),
        launch=plan_launch(spec, g, threads, smem.total.value),
        problem=plan_problem(spec, arch, g),
        constants=plan_constants(spec, g, copies, barriers, tmem, roles, threads, epilogue, output),
        persistent=is_persistent(spec),
        one_warp_mainloop=shares_a_warp(spec),
    )
