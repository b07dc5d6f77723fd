"""Faults of waits: which barrier, which slot, which phase."""

from __future__ import annotations

from mutants.edit import both, drop, insert, sub, then, where
from mutants.model import Kind
from mutants.text_setup import is_persistent, kind

LOADS = ("producer", "mainloop")
LOOP = ("producer", "mma", "epilogue", "mainloop")
ARM = r"mbarrier_arrive_and_expect_tx\("
ARM_CTA = """with cute.arch.elect_one():
    cute.arch.mbarrier_arrive_and_expect_tx(full, AB_BYTES)"""
ARM_PAIR = """if is_leader:
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(full, AB_BYTES)"""

WAITS: tuple[Kind, ...] = (
    kind(
        "wait_empty_dropped",
        "a load overwrites a stage that an MMA still reads",
        drop(r"mbarrier_wait\(ab_empty", "producer"),
    ),
    kind(
        "wait_full_dropped",
        "an MMA reads a stage before its load has landed",
        drop(r"mbarrier_wait\((ab_)?full", "mma", "mainloop"),
    ),
    kind(
        "wait_mma_done_dropped",
        "a load overwrites a stage that the MMA still reads, or the epilogue reads early",
        drop(r"mbarrier_wait\((mma_done|acc_full)", "mainloop"),
    ),
    kind(
        "wait_acc_full_dropped",
        "the epilogue reads an accumulator before its MMAs are complete",
        drop(r"mbarrier_wait\(acc_full", "epilogue"),
    ),
    kind(
        "wait_acc_empty_dropped",
        "an MMA overwrites an accumulator that the epilogue has not read",
        drop(r"mbarrier_wait\(acc_empty", "mma"),
    ),
    kind(
        "wait_other_slot",
        "the wait looks at the first slot, whichever is meant",
        sub(r"mbarrier_wait\((\w+) \+ \w+,", r"mbarrier_wait(\1,", *LOOP),
    ),
    kind(
        "wait_next_slot",
        "the wait looks at the slot after the one that is meant",
        sub(
            r"mbarrier_wait\((ab_empty) \+ stage,",
            r"mbarrier_wait(\1 + (stage + 1) % AB_STAGES,",
            *LOOP,
        ),
    ),
    kind(
        "wait_phase_constant",
        "from the second lap on the wait names a phase long past, or never to come",
        sub(r"(mbarrier_wait\(.*, )(phase|slot_phase|k_tile & 1)\)", r"\g<1>0)", *LOOP),
    ),
    kind(
        "wait_phase_inverted",
        "each wait names the phase before the one that is meant",
        sub(r"(mbarrier_wait\(.*, )(phase|slot_phase|k_tile & 1|0)\)", r"\g<1>1 ^ (\2))", *LOOP),
    ),
    kind(
        "drain_dropped",
        "a CTA exits while a commit to its ring is under way",
        drop(r"for _ in cutlass\.range\(AB_STAGES", "producer"),
    ),
    kind(
        "drain_short",
        "the last commit to the ring is under way at exit",
        sub(
            r"for _ in cutlass\.range\(AB_STAGES,",
            "for _ in cutlass.range(AB_STAGES - 1,",
            "producer",
        ),
    ),
    kind(
        "drain_long",
        "the drain waits for a commit that nobody makes",
        sub(
            r"for _ in cutlass\.range\(AB_STAGES,",
            "for _ in cutlass.range(AB_STAGES + 1,",
            "producer",
        ),
    ),
)

PHASES: tuple[Kind, ...] = (
    kind(
        "first_phase_producer",
        "the first wait is for a stage that nobody has read, or passes too early",
        sub(r"stage, phase = 0, 1\b", "stage, phase = 0, 0", "producer"),
    ),
    kind(
        "first_phase_mma",
        "the first wait passes on a fresh barrier, before anything is loaded",
        both(
            sub(r"stage, phase = 0, 0\b", "stage, phase = 0, 1", "mma", "mainloop"),
            sub(r"^(\s+)phase = 0$", r"\1phase = 1", "mainloop"),
        ),
    ),
    kind(
        "first_phase_slot",
        "the first wait on an accumulator slot never passes, or passes on a fresh barrier",
        both(
            sub(r"slot, slot_phase = 0, 1\b", "slot, slot_phase = 0, 0", "mma", "epilogue"),
            sub(r"slot, slot_phase = 0, 0\b", "slot, slot_phase = 0, 1", "mma", "epilogue"),
        ),
    ),
    kind(
        "phase_not_flipped",
        "after a lap of the ring each wait takes the lap before for its own",
        drop(r"^\s*(slot_)?phase \^= 1", *LOOP),
    ),
    kind(
        "phase_flipped_each_step",
        "the phase moves on every slot, not once a lap",
        then(
            drop(r"^\s*(slot_)?phase \^= 1", "producer"),
            insert(r"^\s*stage \+= 1", "phase ^= 1", "producer"),
        ),
    ),
    kind(
        "phase_flipped_each_step_mma",
        "the phase moves on every slot, not once a lap",
        both(
            then(
                drop(r"^\s*phase \^= 1", "mma"),
                insert(r"^\s*if stage == AB_STAGES", "phase ^= 1", "mma", after=False),
            ),
            then(
                drop(r"^\s*phase \^= 1", "mainloop"),
                insert(r"^\s*if stage == AB_STAGES", "phase ^= 1", "mainloop", after=False),
            ),
        ),
    ),
    kind(
        "slot_phase_flipped_each_tile",
        "the phase of the accumulator ring moves on every tile, not once a lap",
        both(
            then(
                drop(r"slot_phase \^= 1", "mma"),
                insert(r"^\s*slot \+= 1", "slot_phase ^= 1", "mma"),
            ),
            then(
                drop(r"slot_phase \^= 1", "epilogue"),
                insert(r"^\s*slot \+= 1", "slot_phase ^= 1", "epilogue"),
            ),
        ),
    ),
    kind(
        "phase_reset_each_tile",
        "phases start again at each tile, though the barriers do not",
        where(
            is_persistent,
            both(
                insert(
                    r"for tile in cutlass\.range\(cluster", "phase = 1", "producer", inside=True
                ),
                insert(r"for _ in cutlass\.range\(cluster", "phase = 0", "mma", inside=True),
            ),
        ),
    ),
    kind(
        "phases_reset_by_both_roles",
        "right only where k_tiles is a multiple of two laps",
        where(
            is_persistent,
            then(
                insert(
                    r"for tile in cutlass\.range\(cluster",
                    "stage = 0\nphase = 1",
                    "producer",
                    inside=True,
                ),
                insert(
                    r"for _ in cutlass\.range\(cluster", "stage = 0\nphase = 0", "mma", inside=True
                ),
            ),
        ),
    ),
    kind(
        "stage_reset_each_tile",
        "one role begins each tile at stage 0 and the other goes on",
        where(
            is_persistent,
            both(
                insert(
                    r"for tile in cutlass\.range\(cluster", "stage = 0", "producer", inside=True
                ),
                insert(r"for _ in cutlass\.range\(cluster", "stage = 0", "mma", inside=True),
            ),
        ),
    ),
    kind(
        "slot_reset_each_tile",
        "one role uses accumulator 0 for every tile and the other alternates",
        where(
            is_persistent,
            both(
                insert(r"for _ in cutlass\.range\(cluster", "slot = 0", "mma", inside=True),
                insert(r"for tile in cutlass\.range\(cluster", "slot = 0", "epilogue", inside=True),
            ),
        ),
    ),
    kind(
        "ring_index_stuck",
        "one role uses one slot of its ring and the other all",
        drop(r"^\s*(stage|slot) \+= 1", *LOOP),
    ),
    kind(
        "ring_wraps_late",
        "one slot too many: the barrier after the ring's last",
        sub(r"if (stage|slot) == (A\w+_STAGES):", r"if \1 == \2 + 1:", *LOOP),
    ),
    kind(
        "ring_wraps_early",
        "one slot of the ring is never used by one role",
        sub(r"if (stage|slot) == (A\w+_STAGES):", r"if \1 == \2 - 1:", *LOOP),
    ),
    kind(
        "ring_never_wraps",
        "the index walks out of the ring",
        sub(r"if (stage|slot) == (A\w+_STAGES):", r"if \1 == 1000:", *LOOP),
    ),
)

KINDS = (
    *WAITS,
    *PHASES,
)
