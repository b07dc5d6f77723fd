"""Plan -> Program: the steps that the templates print, for one problem size."""

from __future__ import annotations

from gemmgen.plan.cooperative_program import CooperativeProgram, copy_parts
from gemmgen.plan.cta_program import CtaProgram
from gemmgen.plan.make import Plan
from gemmgen.plan.roles import in_registers
from gemmgen.plan.steps import Program, Read, Slots, Thread
from gemmgen.plan.warpgroup_program import WarpgroupProgram
from gemmgen.terms import KExtent, LoadKind, Role


def make_program(plan: Plan, k_tiles: int, tiles: int = 1) -> Program:
    """The program of one cluster of `plan` for `k_tiles` mainloop steps and `tiles` output tiles.

    A kernel of one tile a CTA walks one tile, and one whose K is one step has one k_tile, whatever
    is asked.
    """
    if not plan.persistent:
        tiles = 1
    if plan.spec.problem.k_extent is KExtent.ONE_STEP:
        k_tiles = 1
    threads: list[Thread] = []
    shares = (plan.a.slices, plan.b.slices)
    plain = plan.spec.load.kind is LoadKind.COOPERATIVE
    unroll = CooperativeProgram if plain else CtaProgram
    fills = len(copy_parts(plan))
    if in_registers(plan.spec):
        unroll, fills = WarpgroupProgram, len(plan.role(Role.PRODUCER).warps)
    for rank in range(plan.geometry.cluster_size):
        threads += unroll(plan, rank, k_tiles, tiles).threads()
    return Program(
        k_tiles=k_tiles,
        tiles=tiles,
        slices=(fills, fills) if plain else shares,
        barriers=tuple(Slots(b.name, b.depth, b.arrivals.value) for b in plan.barriers),
        threads=tuple(threads),
        readers=tuple(
            index
            for index, thread in enumerate(threads)
            if any(isinstance(step, Read) for step in thread.steps) and plan.tmem is not None
        ),
    )
