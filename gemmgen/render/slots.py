"""One table from plan facts to partials: which partial stands in which slot of the skeleton.

Each rule is a slot, the partial, and what the partial requires of the plan. The first rule of a
slot whose requirement holds wins; a slot without one stays empty.
"""

from __future__ import annotations

from collections.abc import Callable

from gemmgen.frozen import frozen
from gemmgen.plan import Plan, Purpose
from gemmgen.plan.roles import is_specialized
from gemmgen.render.slots_sm90 import SM90
from gemmgen.terms import (
    Arch,
    ArriveHow,
    EpilogueKind,
    KExtent,
    LoadKind,
    MainloopKind,
    Role,
    SchedulerKind,
    Swizzle,
)


@frozen
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
        pairs: several CTA pairs share a cluster.
        line: a cluster is one row or one column of CTAs without pairs.
        wide: a cluster has several CTAs along N.
        multicast: a load is written to several CTAs.
        multicast_both: the loads of A and of B are.
        persistent: a CTA walks over several output tiles.
        walks: each role of a persistent, warp-specialized kernel walks over them for itself.
        double: two register buffers in the epilogue.
        cooperative: all threads copy the operands.
        single: one tile in all.
        grouped: tiles are walked in groups of rows.
        ring: several accumulators that an mma warp walks over.
        consumers: several mma warps.
        stores: D leaves through shared memory and TMA.
        reuse: a staged chunk of D is filled again.
        held: the converted tile waits in registers for the release of its accumulator.
        releases: a barrier hands accumulators back to mma.
        each_thread: every thread releases the accumulator for itself.
        columns: the groups are of columns.
        ragged: tiles may hang over the edges of D.
        registers: setmaxnreg moves registers between roles.
        pingpong: consumers take tiles in turn.
        shares_tile: each consumer has some rows of the tile.
        deferred: a tile is stored under the next one.
        uneven: a tile does not fill each staged chunk of D equally often.
        told: a barrier says that the accumulator of the one tile is complete.
        apart: some of the warps that come to the epilogue of a tile have no part in it.
        by_role: each role finds out for itself which consumer a warp works for.
        dependent: the kernel may start before the grid ahead of it has ended.
    """

    serial: bool
    prefetch: bool
    specialized: bool
    one_step: bool
    blocks: bool
    swizzled: bool
    cluster: bool
    pair: bool
    pairs: bool
    line: bool
    wide: bool
    multicast: bool
    multicast_both: bool
    persistent: bool
    walks: bool
    double: bool
    cooperative: bool
    single: bool
    grouped: bool
    ring: bool
    consumers: bool
    stores: bool
    reuse: bool
    held: bool
    releases: bool
    each_thread: bool
    columns: bool
    ragged: bool
    registers: bool
    pingpong: bool
    shares_tile: bool
    deferred: bool
    uneven: bool
    told: bool
    apart: bool
    by_role: bool
    dependent: bool

    @classmethod
    def of(cls, plan: Plan) -> Facts:
        """Read the facts off `plan`."""
        spec = plan.spec
        return cls(
            serial=spec.mainloop.kind is MainloopKind.SERIAL,
            prefetch=spec.mainloop.kind is MainloopKind.PREFETCH,
            specialized=is_specialized(spec),
            one_step=spec.problem.k_extent is KExtent.ONE_STEP,
            blocks=plan.geometry.k_blocks > 1,
            swizzled=spec.smem.swizzle is not Swizzle.NONE,
            cluster=plan.geometry.cluster_size > 1,
            pair=plan.geometry.is_pair,
            line=plan.geometry.is_line,
            wide=plan.geometry.cluster_n > 1,
            pairs=plan.geometry.is_pair and plan.geometry.cluster_size > 2,
            multicast=any(copy.mask is not None for copy in plan.copies),
            multicast_both=all(copy.mask is not None for copy in plan.copies),
            walks=plan.persistent and is_specialized(spec),
            persistent=spec.scheduler.kind is SchedulerKind.PERSISTENT,
            double=spec.epilogue.register_buffers == 2,
            cooperative=spec.load.kind is LoadKind.COOPERATIVE,
            single=spec.scheduler.kind is SchedulerKind.SINGLE,
            grouped=plan.walk.grouped,
            ring=spec.pipeline.acc_stages > 1,
            consumers=plan.geometry.consumers > 1,
            stores=plan.output is not None,
            reuse=plan.output is not None and plan.output.reused,
            held=plan.epilogue.held,
            releases=plan.barrier(Purpose.ACC_EMPTY) is not None,
            each_thread=any(
                arrive.how is ArriveHow.THREADS and arrive.by is Role.EPILOGUE
                for barrier in plan.barriers
                for arrive in barrier.arrives
            ),
            columns=plan.walk.group_n is not None,
            ragged=plan.problem.ragged,
            registers=plan.launch.min_blocks is not None,
            pingpong=spec.mainloop.kind is MainloopKind.PINGPONG,
            shares_tile=plan.geometry.acc_rows != plan.geometry.tile_m,
            deferred=bool(spec.epilogue.deferred),
            uneven=plan.output is not None and bool(spec.epilogue.chunks % plan.output.stages),
            told=plan.barrier(Purpose.ACC_FULL) is not None and not plan.persistent,
            apart=bool(plan.role(Role.EPILOGUE).code),
            by_role=plan.consumer is not None and not plan.consumer.at_setup,
            dependent=plan.launch.dependent,
        )


Rule = tuple[str, str, Callable[[Facts], bool]]


def _always(_: Facts) -> bool:
    return True


def _in_turn(facts: Facts) -> bool:
    return facts.cooperative and facts.serial


def _copies_ahead(facts: Facts) -> bool:
    return facts.cooperative and facts.prefetch


def _loads_ahead(facts: Facts) -> bool:
    return facts.prefetch and not facts.cooperative


def _one_walk(facts: Facts) -> bool:
    return facts.prefetch and facts.persistent


SM100: tuple[Rule, ...] = (
    ("imports", "sm100/imports.j2", _always),
    ("storage", "common/storage.j2", _always),
    ("tile_order", "common/tile_order_columns.j2", lambda f: f.columns),
    ("tile_order", "common/tile_order.j2", lambda f: f.grouped),
    ("signature", "common/signature.j2", _always),
    ("setup", "sm100/setup.j2", _always),
    ("work", "sm100/work_grouped.j2", lambda f: f.persistent and (f.grouped or f.wide)),
    ("work", "sm100/work_persistent.j2", lambda f: f.persistent),
    ("work", "common/work_grid.j2", lambda f: f.grouped),
    ("work", "common/work_cta.j2", lambda f: not f.single),
    ("ranks", "sm100/ranks_pairs.j2", lambda f: f.pairs),
    ("ranks", "sm100/ranks_pair.j2", lambda f: f.pair),
    ("ranks", "common/ranks_line.j2", lambda f: f.multicast and f.line),
    ("ranks", "sm100/ranks_multicast.j2", lambda f: f.multicast),
    ("place", "common/place_tile.j2", lambda f: f.grouped and not f.persistent),
    ("k_tiles", "common/k_tiles_whole.j2", lambda f: f.cooperative and not f.one_step),
    ("k_tiles", "common/k_tiles.j2", lambda f: not f.one_step),
    ("operand_buffers", "common/buffers_swizzled.j2", lambda f: f.swizzled),
    ("operand_buffers", "common/buffers_plain.j2", _always),
    ("output_buffers", "common/output_buffers.j2", lambda f: f.stores),
    ("allocate", "sm100/allocate_pair.j2", lambda f: f.pair),
    ("allocate", "sm100/allocate_cluster.j2", lambda f: f.cluster),
    ("allocate", "sm100/allocate_cta.j2", _always),
    ("init", "common/init.j2", _always),
    ("before_allocation", "sm100/before_allocation.j2", lambda f: f.dependent),
    ("own_slot", "sm100/own_slot.j2", lambda f: f.consumers and not f.by_role),
    ("pdl", "common/pdl.j2", lambda f: f.dependent),
    (
        "tile_walk",
        "sm100/tile_walk_copy_ahead.wrap.j2",
        lambda f: _copies_ahead(f) and f.persistent,
    ),
    ("tile_walk", "sm100/tile_walk.wrap.j2", lambda f: f.persistent and not f.specialized),
    ("mainloop", "sm100/mainloop_cooperative.j2", _in_turn),
    ("mainloop", "sm100/mainloop_one_step.j2", lambda f: f.serial and f.one_step),
    ("mainloop", "sm100/mainloop_serial.j2", lambda f: f.serial),
    ("mainloop", "sm100/mainloop_copy_ahead.j2", _copies_ahead),
    ("mainloop", "sm100/mainloop_prefetch.j2", lambda f: f.prefetch),
    ("k_walk", "sm100/k_walk.wrap.j2", lambda f: _in_turn(f) and not f.one_step),
    ("prologue", "sm100/prologue_walk.j2", lambda f: _loads_ahead(f) and f.persistent),
    ("prologue", "common/prologue.j2", _loads_ahead),
    ("ring_start", "sm100/ring_start_walk.j2", lambda f: _loads_ahead(f) and f.persistent),
    ("ring_start", "common/ring_start.j2", _loads_ahead),
    ("after_reads", "sm100/after_reads.j2", lambda f: _copies_ahead(f) and f.persistent),
    ("wait_done", "sm100/wait_done_walk.j2", lambda f: f.prefetch and f.persistent),
    ("wait_done", "sm100/wait_done.j2", lambda f: f.prefetch),
    ("producer", "sm100/producer_cooperative.j2", lambda f: f.specialized and f.cooperative),
    ("producer", "sm100/producer.j2", lambda f: f.specialized),
    ("copied", "sm100/copied_pair.j2", lambda f: f.specialized and f.cooperative and f.pair),
    ("copied", "sm100/copied_cta.j2", lambda f: f.specialized and f.cooperative),
    ("producer_walk", "common/producer_walk.wrap.j2", lambda f: f.walks),
    ("walk_rule", "sm100/mainloop_rule.j2", _one_walk),
    ("mainloop_rule", "sm100/mainloop_rule.j2", lambda f: f.prefetch and not f.persistent),
    (
        "partition_walk",
        "common/partition_cooperative.j2",
        lambda f: _copies_ahead(f) and f.persistent,
    ),
    ("partition_walk", "common/partition_cta.j2", _one_walk),
    ("partition", "common/partition_cooperative.j2", lambda f: f.cooperative and not _one_walk(f)),
    ("partition", "sm100/partition_pair_multicast.j2", lambda f: f.multicast and f.pair),
    ("partition", "sm100/partition_multicast.j2", lambda f: f.multicast),
    ("partition", "common/partition_cta.j2", lambda f: not _one_walk(f)),
    ("half_of_b", "sm100/half_of_b.j2", lambda f: f.pair and not f.persistent),
    ("arm", "sm100/arm_pair.j2", lambda f: f.pair and not f.cooperative),
    ("arm", "common/arm_cta.j2", lambda f: not (f.serial or f.cooperative)),
    ("copy", "sm100/copy_pair_multicast.j2", lambda f: f.pair and f.multicast),
    ("copy", "sm100/copy_multicast.j2", lambda f: f.specialized and f.multicast),
    ("copy", "sm100/copy_pair.j2", lambda f: f.pair and not f.cooperative),
    ("copy", "common/copy_cta.j2", lambda f: not (f.serial or f.cooperative)),
    ("next_stage", "common/next_stage.j2", lambda f: f.specialized or _loads_ahead(f)),
    ("mma", "sm100/mma.j2", lambda f: f.specialized),
    ("mma_walk", "sm100/mma_walk.wrap.j2", lambda f: f.walks),
    ("mma_slot", "sm100/mma_slot.j2", lambda f: f.ring),
    ("next_slot", "sm100/next_slot.j2", lambda f: f.ring),
    ("next_slot", "sm100/next_slot_single.j2", lambda f: f.persistent),
    ("mma_consumer", "sm100/mma_consumer.j2", lambda f: f.by_role),
    ("epilogue_consumer", "sm100/epilogue_consumer.j2", lambda f: f.by_role),
    ("first_slot", "sm100/first_slot.j2", lambda f: f.by_role and f.ring),
    ("own_a", "sm100/own_a.j2", lambda f: f.consumers),
    ("tiled_mma", "sm100/tiled_mma.j2", _always),
    ("accumulator", "sm100/accumulator_ring.j2", lambda f: f.ring),
    ("accumulator", "sm100/accumulator_single.j2", _always),
    ("issue", "sm100/issue_blocks.j2", lambda f: f.blocks),
    ("issue", "sm100/issue_one.j2", lambda f: not f.one_step),
    ("epilogue", "sm100/epilogue_walk.j2", lambda f: f.walks),
    ("epilogue", "sm100/epilogue_tile.j2", _always),
    ("epilogue_warps", "sm100/epilogue_warps.wrap.j2", lambda f: f.apart and not f.walks),
    ("wait_full", "sm100/wait_acc_full.j2", lambda f: f.told and (f.apart or f.by_role)),
    ("wait_accumulator", "sm100/wait_acc_full.j2", lambda f: f.told and not (f.apart or f.by_role)),
    (
        "wait_accumulator",
        "sm100/wait_mainloop.j2",
        lambda f: not (f.told or f.cooperative or f.walks),
    ),
    ("own_d", "sm100/own_d.j2", lambda f: f.consumers and f.stores),
    ("tmem_load", "sm100/tmem_load_ring.j2", lambda f: f.ring),
    ("tmem_load", "sm100/tmem_load_single.j2", _always),
    ("registers", "sm100/registers_two.j2", lambda f: f.double),
    ("registers", "sm100/registers_one.j2", _always),
    ("output", "sm100/output_partition.j2", lambda f: f.stores),
    ("output", "sm100/registers_held.j2", lambda f: f.held),
    ("output", "sm100/registers_chunk.j2", _always),
    ("tile_output", "sm100/tile_output.j2", lambda f: not f.stores),
    ("slot_view", "sm100/slot_view.j2", lambda f: f.ring),
    ("chunks", "sm100/chunks_double.j2", lambda f: f.double),
    ("chunks", "sm100/chunks_serial.j2", _always),
    ("store_chunk", "sm100/store_chunk_tma.j2", lambda f: f.stores),
    ("store_chunk", "sm100/store_chunk.j2", lambda f: not f.held),
    ("reuse_chunk", "common/reuse_chunk.j2", lambda f: f.reuse),
    ("release_tile", "sm100/release_threads.j2", lambda f: f.held and f.each_thread),
    ("release_tile", "sm100/release_thread.j2", lambda f: f.held),
    ("release_chunk", "sm100/release_last.j2", lambda f: f.releases and not f.held),
    ("release", "sm100/release_threads.j2", lambda f: f.each_thread and not f.held),
    ("release", "sm100/release_thread.j2", lambda f: f.releases and not f.held),
    ("arrive", "sm100/arrive_leader.j2", lambda f: f.releases and f.pair),
    ("arrive", "sm100/arrive_cta.j2", lambda f: f.releases),
    ("store_tile", "sm100/store_tile.j2", lambda f: f.held),
    ("drain_tile", "common/drain_stores.j2", lambda f: f.stores and not f.persistent),
    ("drain_stores", "common/drain_stores.j2", lambda f: f.stores and f.persistent),
    ("teardown", "sm100/teardown_pair.j2", lambda f: f.pair),
    ("teardown", "sm100/teardown_cluster.j2", lambda f: f.cluster),
    ("teardown", "sm100/teardown_cta.j2", _always),
    ("host", "common/host.j2", _always),
    ("operand_layouts", "common/layouts_swizzled_single.j2", lambda f: f.swizzled and f.serial),
    ("operand_layouts", "common/layouts_swizzled.j2", lambda f: f.swizzled),
    ("operand_layouts", "common/layouts_plain.j2", lambda f: f.serial),
    ("operand_layouts", "common/layouts_plain_ring.j2", _always),
    ("tma_atoms", "common/operands_gmem.j2", lambda f: f.cooperative),
    ("tma_atoms", "sm100/tma_one_multicast.j2", lambda f: f.multicast and not f.multicast_both),
    ("tma_atoms", "sm100/tma_multicast.j2", lambda f: f.multicast),
    ("tma_atoms", "common/tma_cta.j2", _always),
    ("output_tensor", "sm100/output_tma.j2", lambda f: f.stores),
    ("output_tensor", "common/output_gmem.j2", _always),
    ("output_part", "sm100/output_part.j2", lambda f: f.consumers and f.stores),
    ("check_problem", "common/check_problem.j2", _always),
    ("extents", "common/extents_one_tile.j2", lambda f: f.single),
    ("extents", "common/extents_multiple.j2", _always),
    ("main", "common/main.j2", _always),
    ("main_arguments", "common/main_arguments_persistent.j2", lambda f: f.persistent),
    ("main_arguments", "common/main_arguments.j2", _always),
)

TABLES = {Arch.SM90A: SM90, Arch.SM100A: SM100}
EPILOGUES = {Arch.SM100A: {EpilogueKind.DIRECT}}


def choose(plan: Plan) -> dict[str, str]:
    """The partial in each slot, in the order of the table; empty slots are absent."""
    facts = Facts.of(plan)
    slots: dict[str, str] = {}
    for slot, partial, requires in TABLES[plan.spec.arch]:
        if slot not in slots and requires(facts):
            slots[slot] = partial
    return slots
