"""Faults between consumers and CTAs: named barriers, turns, rows of A, parts of B."""

from __future__ import annotations

from mutants.edit import both, drop, move, sub, sub_all, swap, where
from mutants.model import Kind
from mutants.text_stores import kind, stores_by_tma

PLACES = ("mainloop", "producer", "mma", "epilogue")
OWN = r"tma2mma|mma2tma|mma2ld|ld2mma|mma"

NAMED: tuple[Kind, ...] = (
    kind(
        "named_barrier_shared",
        "the warps of two consumers meet at one barrier, and some pass too early",
        both(
            sub(r"(barrier_id=\w+) \+ consumer", r"\1", *PLACES),
            sub_all(r"(barrier_id=\w+) \+ consumer", r"\1", *PLACES),
        ),
    ),
    kind(
        "named_barrier_fewer",
        "the barrier opens a warp early",
        where(
            stores_by_tma,
            sub(r"number_of_threads=(128|WARPGROUP)\b", r"number_of_threads=\1 - 32", *PLACES),
        ),
    ),
    kind(
        "named_barrier_more",
        "the barrier waits for a warp that never comes",
        where(
            stores_by_tma,
            sub(r"number_of_threads=(128|WARPGROUP)\b", r"number_of_threads=\1 + 32", *PLACES),
        ),
    ),
)

TURNS: tuple[Kind, ...] = (
    kind(
        "turn_wait_dropped",
        "a consumer reads the ring out of turn",
        drop(r"mbarrier_wait\(mma_turn", "mma"),
    ),
    kind(
        "turn_wait_other",
        "each consumer waits for the turn of the other",
        sub(r"mbarrier_wait\(mma_turn \+ consumer", "mbarrier_wait(mma_turn + 1 - consumer", "mma"),
    ),
    kind(
        "turn_arrive_dropped",
        "the other consumer's turn never comes",
        drop(r"^\s*cute\.arch\.mbarrier_arrive\(mma_turn", "mma"),
    ),
    kind(
        "turn_arrive_own",
        "a consumer passes the turn to itself",
        sub(r"mbarrier_arrive\(mma_turn \+ 1 - consumer", "mbarrier_arrive(mma_turn + consumer"),
    ),
    kind(
        "turn_arrive_early",
        "the other consumer begins before the last MMA of this one is issued",
        move(r"^\s*with cute\.arch\.elect_one\(\):\n.*\n?.*mma_turn", r"for k_tile in", "mma"),
    ),
    kind(
        "turn_arrive_all_lanes",
        "32 arrivals for one",
        sub(r"^( {12})with cute\.arch\.elect_one\(\):", r"\1if True:", "mma"),
    ),
    kind(
        "turn_first_phase",
        "the second consumer begins, or none does",
        sub(r"turn_phase = 1 - consumer", "turn_phase = consumer", "mma"),
    ),
    kind(
        "turn_phase_not_flipped",
        "from the second tile on each takes the turn before for its own",
        drop(r"turn_phase \^= 1", "mma"),
    ),
    kind(
        "turn_ring_position",
        "a consumer does not leave out the other's tile in the ring",
        both(
            sub(r"ahead = stage \+ k_tiles", "ahead = stage", "mma"),
            sub(r"ahead = consumer \* k_tiles", "ahead = 0", "mma"),
        ),
    ),
    kind(
        "turn_ring_phase",
        "a consumer forgets the laps of the other's tile",
        both(
            sub(r"phase \^ ahead // AB_STAGES % 2", "phase", "mma"),
            sub(r"ahead // AB_STAGES % 2$", "0", "mma"),
        ),
    ),
    kind(
        "turn_same_tiles",
        "both consumers compute the first's tiles",
        sub(r"first = cluster \+ consumer \* clusters", "first = cluster", "mma"),
    ),
)

ROWS: tuple[Kind, ...] = (
    kind(
        "consumer_rows_swapped",
        "each consumer multiplies the other's rows of A",
        sub(r"(local_tile\(s[AD], .*, \()consumer", r"\g<1>1 - consumer", *PLACES),
    ),
    kind(
        "consumer_rows_first",
        "both consumers multiply, or stage, the first's rows",
        both(
            sub(r"(local_tile\(s[AD], .*, \()consumer", r"\g<1>0", *PLACES),
            sub(r"consumer \* D_STAGES \* ACC_ROWS", "0", *PLACES),
        ),
    ),
    kind(
        "consumer_stores_swapped",
        "each consumer stores to the other's rows of D",
        sub(r"(CONSUMERS \* m_tile) \+ consumer", r"\1 + 1 - consumer", *PLACES),
    ),
    kind(
        "consumer_columns_shared",
        "both consumers accumulate in the same columns of tensor memory",
        sub(r"tmem \+ consumer \* TILE_N", "tmem", "setup"),
    ),
    kind(
        "consumer_barrier_shared",
        "both consumers use one barrier of the two",
        both(
            sub(r"= mma2ld \+ consumer,", "= mma2ld,", "setup"),
            sub(r"ld2mma \+ consumer, tmem", "ld2mma, tmem", "setup"),
        ),
    ),
    kind(
        "consumer_commit_uncounted",
        "a stage is overwritten that one consumer still reads",
        sub(r"(mbarrier_init\(.*, )CONSUMERS\)", r"\1CONSUMERS - 1)", "setup"),
    ),
)

HANDOVERS: tuple[Kind, ...] = (
    kind(
        "handover_wait_dropped",
        "a role begins before the one ahead has finished",
        drop(rf"mbarrier_wait\(({OWN})\b", *PLACES),
    ),
    kind(
        "handover_arrive_dropped",
        "a role never says that it has finished",
        drop(rf"^\s*(cute\.arch\.mbarrier_arrive|tcgen05\.commit)\(({OWN})\b", *PLACES),
    ),
    kind(
        "handover_first_phase",
        "the first wait never passes, or passes on a fresh barrier",
        both(
            sub(r"^(\s+\w+_phase) = 1\b", r"\1 = 0", *PLACES),
            sub(r"^(\s+\w+_phase) = 0\b", r"\1 = 1", *PLACES),
        ),
    ),
    kind(
        "handover_phase_not_flipped",
        "from the second tile on each wait takes the phase before for its own",
        drop(r"^\s*(acc|done)_phase \^= 1", *PLACES),
    ),
    kind(
        "handover_arrive_early",
        "the accumulator is given back before it is read",
        move(r"^\s*cute\.arch\.mbarrier_arrive\(ld2mma", r"for chunk in", "epilogue"),
    ),
    kind(
        "handover_commit_early",
        "the accumulator is handed over before its last MMAs are issued",
        swap(r"for k_tile in", r"elect_one\(\):\n.*mma2ld", "mma"),
    ),
)

PARTS: tuple[Kind, ...] = (
    kind(
        "b_multicast_dropped",
        "each CTA gets its own part of B and not its peer's",
        sub(r", mcast_mask=b_mask\)", ")", "producer"),
    ),
    kind(
        "b_mask_wrong",
        "a part of B reaches one CTA only, or one that is not there",
        both(
            both(
                sub(r"^B_MASK = 0b11\b", "B_MASK = 0b01"),
                sub(r"^B_MASK = 0b11\b", "B_MASK = 0b10"),
            ),
            both(
                sub(r"^B_MASK = 0b11\b", "B_MASK = 0b111"),
                sub(r"Int16\(B_MASK\)", "Int16(1 << cta_rank)", "setup"),
            ),
        ),
    ),
    kind(
        "b_part_same",
        "both CTAs send the first part of B",
        sub(r"tma_b, cta_rank, shared", "tma_b, 0, shared", "producer"),
    ),
    kind(
        "b_not_parted",
        "each CTA sends all of B to both",
        sub(r"tma_b, cta_rank, shared", "tma_b, 0, alone", "producer"),
    ),
    kind(
        "peer_rows_same",
        "both CTAs of a cluster compute the same tile",
        sub(r"CLUSTER_M \* row \+ cta_rank", "CLUSTER_M * row", *PLACES),
    ),
    kind(
        "last_lap_in_one_cta",
        "one CTA exits while its peer may still signal it",
        sub(
            r"(for _ in cutlass\.range\()AB_STAGES,",
            r"\1AB_STAGES * cutlass.Int32(cta_rank),",
            "producer",
        ),
    ),
)

KINDS = (*NAMED, *TURNS, *ROWS, *HANDOVERS, *PARTS)
