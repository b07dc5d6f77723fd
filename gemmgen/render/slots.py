"""One table from plan facts to partials: which partial stands in which slot of the skeleton.

Each rule is a slot, the partial, and what the partial requires of the plan. The first rule of a
slot whose requirement holds wins; a slot without one stays empty.
"""

from __future__ import annotations

from gemmgen.plan import Plan
from gemmgen.render.facts import Facts, Rule
from gemmgen.render.slots_sm90 import SM90
from gemmgen.terms import Arch, EpilogueKind


def _always(_: Facts) -> bool:
    return True


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
    ("work", "common/work_cta.j2", lambda f: f.cluster or not f.single),
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
    ("await_grids", "sm100/await_grids.j2", lambda f: f.dependent),
    ("own_slot", "sm100/own_slot.j2", lambda f: f.consumers and not f.by_role),
    ("launch_dependents", "sm100/launch_dependents.j2", lambda f: f.dependent),
    ("tile_walk", "sm100/tile_walk_copies.wrap.j2", lambda f: f.cooperative and f.one_walk),
    ("tile_walk", "sm100/tile_walk_serial.wrap.j2", lambda f: f.serial and f.one_walk),
    ("tile_walk", "sm100/tile_walk.wrap.j2", lambda f: f.persistent and not f.specialized),
    ("mainloop", "sm100/mainloop_cooperative_walk.j2", lambda f: f.in_turn and f.persistent),
    ("mainloop", "sm100/mainloop_cooperative.j2", lambda f: f.in_turn),
    ("mainloop", "sm100/mainloop_one_step.j2", lambda f: f.serial and f.one_step),
    ("mainloop", "sm100/mainloop_serial_walk.j2", lambda f: f.serial and f.persistent),
    ("mainloop", "sm100/mainloop_serial.j2", lambda f: f.serial),
    ("mainloop", "sm100/mainloop_copy_ahead.j2", lambda f: f.copies_ahead),
    ("mainloop", "sm100/mainloop_prefetch.j2", lambda f: f.prefetch),
    (
        "k_walk",
        "sm100/k_walk.wrap.j2",
        lambda f: f.in_turn and not (f.one_step or f.persistent),
    ),
    ("prologue", "sm100/prologue_walk.j2", lambda f: f.loads_ahead and f.persistent),
    ("prologue", "common/prologue.j2", lambda f: f.loads_ahead),
    ("ring_start", "sm100/ring_start_walk.j2", lambda f: f.loads_ahead and f.persistent),
    ("ring_start", "common/ring_start.j2", lambda f: f.loads_ahead),
    ("after_reads", "sm100/after_reads.j2", lambda f: f.cooperative and f.one_walk),
    ("wait_done", "sm100/wait_done_walk.j2", lambda f: f.one_walk and not f.loads_in_turn),
    ("wait_done", "sm100/wait_done.j2", lambda f: f.prefetch),
    ("producer", "sm100/producer_cooperative.j2", lambda f: f.specialized and f.cooperative),
    ("producer", "sm100/producer.j2", lambda f: f.specialized),
    ("copied", "sm100/copied_pair.j2", lambda f: f.specialized and f.cooperative and f.pair),
    ("copied", "sm100/copied_cta.j2", lambda f: f.specialized and f.cooperative),
    ("producer_walk", "common/producer_walk.wrap.j2", lambda f: f.walks),
    ("walk_rule", "sm100/mainloop_rule.j2", lambda f: f.one_walk),
    ("mainloop_rule", "sm100/mainloop_rule.j2", lambda f: f.prefetch and not f.persistent),
    ("partition_walk", "common/partition_cooperative.j2", lambda f: f.cooperative and f.one_walk),
    ("partition_walk", "common/partition_cta.j2", lambda f: f.one_walk),
    ("partition", "common/partition_cooperative.j2", lambda f: f.cooperative and not f.one_walk),
    ("partition", "sm100/partition_pair_multicast.j2", lambda f: f.multicast and f.pair),
    ("partition", "sm100/partition_multicast_walk.j2", lambda f: f.multicast and f.persistent),
    ("partition", "sm100/partition_multicast.j2", lambda f: f.multicast),
    ("partition", "common/partition_cta.j2", lambda f: not f.one_walk),
    ("half_of_b", "sm100/half_of_b.j2", lambda f: f.pair and not f.persistent),
    ("arm", "sm100/arm_pair.j2", lambda f: f.pair and not f.cooperative),
    ("arm", "common/arm_cta.j2", lambda f: not (f.serial or f.cooperative)),
    ("copy", "sm100/copy_pair_multicast.j2", lambda f: f.pair and f.multicast),
    ("copy", "sm100/copy_multicast.j2", lambda f: f.specialized and f.multicast),
    ("copy", "sm100/copy_pair.j2", lambda f: f.pair and not f.cooperative),
    ("copy", "sm100/copy_plain.j2", lambda f: f.specialized and f.cooperative),
    ("copy", "common/copy_cta.j2", lambda f: not (f.serial or f.cooperative)),
    ("next_stage", "common/next_stage.j2", lambda f: f.specialized or f.loads_ahead),
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
    ("operand_layouts", "common/layouts_wide_single.j2", lambda f: f.wide_rows and f.serial),
    ("operand_layouts", "common/layouts_wide.j2", lambda f: f.wide_rows),
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
    ("extents", "common/extents_one_cluster.j2", lambda f: f.single and f.cluster),
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
