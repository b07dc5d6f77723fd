"""One table from plan facts to partials: which partial stands in which slot of the skeleton.

Each rule is a slot, the partial, and what the partial requires of the plan. The first rule of a
slot whose requirement holds wins; a slot without one stays empty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gemmgen.plan import Plan
from gemmgen.terms import Arch, EpilogueKind, KExtent, MainloopKind, SchedulerKind, Swizzle


@dataclass(frozen=True)
class Facts:
    """What decides between partials; every field is read off the plan.

    Attributes:
        serial: one load at a time, one buffer.
        prefetch: one warp runs a ring of loads ahead of its MMAs.
        specialized: producer and mma are different warps.
        one_step: K is one MMA deep.
        blocks: several MMAs a k_tile.
        swizzled: operand buffers are swizzled.
        cluster: more than one CTA a cluster.
        pair: two CTAs share an MMA.
        multicast: a load is written to several CTAs.
        persistent: a CTA walks over several output tiles.
        double: two register buffers in the epilogue.
    """

    serial: bool
    prefetch: bool
    specialized: bool
    one_step: bool
    blocks: bool
    swizzled: bool
    cluster: bool
    pair: bool
    multicast: bool
    persistent: bool
    double: bool

    @classmethod
    def of(cls, plan: Plan) -> Facts:
        """Read the facts off `plan`."""
        spec = plan.spec
        return cls(
            serial=spec.mainloop.kind is MainloopKind.SERIAL,
            prefetch=spec.mainloop.kind is MainloopKind.PREFETCH,
            specialized=spec.mainloop.kind is MainloopKind.WARP_SPECIALIZED,
            one_step=spec.problem.k_extent is KExtent.ONE_STEP,
            blocks=plan.geometry.k_blocks > 1,
            swizzled=spec.smem.swizzle is not Swizzle.NONE,
            cluster=plan.geometry.cluster_size > 1,
            pair=plan.geometry.is_pair,
            multicast=any(copy.mask is not None for copy in plan.copies),
            persistent=spec.scheduler.kind is SchedulerKind.PERSISTENT,
            double=spec.epilogue.register_buffers == 2,
        )


Rule = tuple[str, str, Callable[[Facts], bool]]


def _always(_: Facts) -> bool:
    return True


SM100: tuple[Rule, ...] = (
    ("imports", "sm100/imports.j2", _always),
    ("storage", "sm100/storage.j2", _always),
    ("signature", "sm100/signature.j2", _always),
    ("setup", "sm100/setup.j2", _always),
    ("work", "sm100/work_persistent.j2", lambda f: f.persistent),
    ("work", "sm100/work_pair.j2", lambda f: f.pair),
    ("work", "sm100/work_multicast.j2", lambda f: f.multicast),
    ("work", "sm100/work_cta.j2", _always),
    ("k_tiles", "sm100/k_tiles.j2", lambda f: not f.one_step),
    ("operand_buffers", "sm100/buffers_swizzled.j2", lambda f: f.swizzled),
    ("operand_buffers", "sm100/buffers_plain.j2", _always),
    ("allocate", "sm100/allocate_pair.j2", lambda f: f.pair),
    ("allocate", "sm100/allocate_cluster.j2", lambda f: f.cluster),
    ("allocate", "sm100/allocate_cta.j2", _always),
    ("init", "sm100/init.j2", _always),
    ("mainloop", "sm100/mainloop_one_step.j2", lambda f: f.serial and f.one_step),
    ("mainloop", "sm100/mainloop_serial.j2", lambda f: f.serial),
    ("mainloop", "sm100/mainloop_prefetch.j2", lambda f: f.prefetch),
    ("producer", "sm100/producer.j2", lambda f: f.specialized),
    ("producer_walk", "sm100/producer_walk.wrap.j2", lambda f: f.specialized and f.persistent),
    ("partition", "sm100/partition_pair.j2", lambda f: f.pair and not f.persistent),
    ("partition", "sm100/partition_multicast.j2", lambda f: f.multicast),
    ("partition", "sm100/partition_cta.j2", _always),
    ("arm", "sm100/arm_pair.j2", lambda f: f.specialized and f.pair),
    ("arm", "sm100/arm_cta.j2", lambda f: not f.serial),
    ("copy", "sm100/copy_multicast.j2", lambda f: f.specialized and f.multicast),
    ("copy", "sm100/copy_pair.j2", lambda f: f.specialized and f.pair),
    ("copy", "sm100/copy_cta.j2", lambda f: not f.serial),
    ("next_stage", "sm100/next_stage.j2", lambda f: not f.serial),
    ("mma", "sm100/mma.j2", lambda f: f.specialized),
    ("mma_walk", "sm100/mma_walk.wrap.j2", lambda f: f.specialized and f.persistent),
    ("next_slot", "sm100/next_slot.j2", lambda f: f.persistent),
    ("tiled_mma", "sm100/tiled_mma.j2", _always),
    ("accumulator", "sm100/accumulator_ring.j2", lambda f: f.persistent),
    ("accumulator", "sm100/accumulator_single.j2", _always),
    ("issue", "sm100/issue_blocks.j2", lambda f: f.blocks),
    ("issue", "sm100/issue_one.j2", lambda f: not f.one_step),
    ("epilogue", "sm100/epilogue_persistent.j2", lambda f: f.persistent),
    ("epilogue", "sm100/epilogue_tile.j2", _always),
    ("wait_accumulator", "sm100/wait_acc_full.j2", lambda f: f.specialized or f.one_step),
    ("wait_accumulator", "sm100/wait_mainloop.j2", _always),
    ("tmem_load", "sm100/tmem_load_ring.j2", lambda f: f.persistent),
    ("tmem_load", "sm100/tmem_load_single.j2", _always),
    ("registers", "sm100/registers_two.j2", lambda f: f.double),
    ("registers", "sm100/registers_one.j2", _always),
    ("chunks", "sm100/chunks_double.j2", lambda f: f.double),
    ("chunks", "sm100/chunks_serial.j2", _always),
    ("store_chunk", "sm100/store_chunk.j2", lambda f: not f.persistent),
    ("release", "sm100/release_leader.j2", lambda f: f.persistent and f.pair),
    ("teardown", "sm100/teardown_pair.j2", lambda f: f.pair),
    ("teardown", "sm100/teardown_cluster.j2", lambda f: f.cluster),
    ("teardown", "sm100/teardown_cta.j2", _always),
    ("host", "sm100/host.j2", _always),
    ("operand_layouts", "sm100/layouts_swizzled.j2", lambda f: f.swizzled),
    ("operand_layouts", "sm100/layouts_plain.j2", lambda f: f.serial),
    ("operand_layouts", "sm100/layouts_plain_ring.j2", _always),
    ("tma_atoms", "sm100/tma_multicast.j2", lambda f: f.multicast),
    ("tma_atoms", "sm100/tma_cta.j2", _always),
    ("check_problem", "common/check_problem.j2", _always),
    ("main", "common/main.j2", _always),
    ("main_arguments", "common/main_arguments_persistent.j2", lambda f: f.persistent),
    ("main_arguments", "common/main_arguments.j2", _always),
)

TABLES = {Arch.SM100A: SM100}
EPILOGUES = {Arch.SM100A: {EpilogueKind.DIRECT}}


def choose(plan: Plan) -> dict[str, str]:
    """The partial in each slot, in the order of the table; empty slots are absent."""
    facts = Facts.of(plan)
    slots: dict[str, str] = {}
    for slot, partial, requires in TABLES[plan.spec.arch]:
        if slot not in slots and requires(facts):
            slots[slot] = partial
    return slots
