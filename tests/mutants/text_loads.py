"""Faults of the loads: what is announced, where it comes from and goes to, and when."""

from __future__ import annotations

from mutants.edit import both, drop, insert, move, sub, sub_all, then, where
from mutants.model import Kind
from mutants.text_setup import NONE, in_cluster, is_pair, is_persistent, kind

LOADS = ("producer", "mainloop")
LOOP = ("producer", "mma", "epilogue", "mainloop")
ARM = r"mbarrier_arrive_and_expect_tx\("
ARM_CTA = """with cute.arch.elect_one():
    cute.arch.mbarrier_arrive_and_expect_tx(full, AB_BYTES)"""
ARM_PAIR = """if is_leader:
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(full, AB_BYTES)"""

COPIES: tuple[Kind, ...] = (
    kind(
        "arm_dropped",
        "nobody announces the bytes: the phase completes without them or not at all",
        drop(ARM, *LOADS),
    ),
    kind(
        "arm_after_loads",
        "bytes are announced after they may have landed: a pending arrival holds the phase open",
        both(
            then(
                drop(r"with cute\.arch\.elect_one\(\)", "producer"),
                insert(
                    r"cute\.copy\(tma_b",
                    ARM_CTA,
                    "producer",
                ),
            ),
            then(
                drop(r"if is_leader:", "producer"),
                insert(
                    r"cute\.copy\(tma_b",
                    ARM_PAIR,
                    "producer",
                ),
            ),
        ),
        NONE,
    ),
    kind(
        "arm_by_all_lanes",
        "32 arrivals and 32 times the bytes",
        then(sub(r"with cute\.arch\.elect_one\(\):", "if True:", *LOADS)),
    ),
    kind(
        "arm_by_both_ctas",
        "the leader's barrier gets one arrival too many, or its peer's own is armed for nothing",
        where(is_pair, sub(r"if is_leader:.*", "if True:", "producer")),
    ),
    kind(
        "arm_by_peer",
        "the peer arms its own barrier and nobody the leader's",
        where(is_pair, sub(r"if is_leader:", "if cta_rank == 1:", "producer")),
    ),
    kind(
        "arm_without_bytes",
        "the barrier completes before anything has landed",
        sub(
            r"mbarrier_arrive_and_expect_tx\((\w+( \+ \w+)?), AB_BYTES\)",
            r"mbarrier_arrive(\1)",
            *LOADS,
        ),
    ),
    kind(
        "arm_half",
        "the barrier completes when half of the bytes have landed",
        sub(r"(expect_tx\(.*), AB_BYTES\)", r"\1, AB_BYTES // 2)", *LOADS),
    ),
    kind(
        "arm_double",
        "the barrier waits for bytes that never come",
        sub(r"(expect_tx\(.*), AB_BYTES\)", r"\1, AB_BYTES * 2)", *LOADS),
    ),
    kind(
        "arm_one_row_more",
        "the barrier waits for bytes that never come",
        sub(r"(expect_tx\(.*), AB_BYTES\)", r"\1, AB_BYTES + 2 * TILE_K)", *LOADS),
    ),
    kind(
        "arm_other_slot",
        "one slot's bytes are announced on another",
        sub(r"(expect_tx\()full,", r"\1ab_full,", *LOADS),
    ),
    kind("load_a_dropped", "A never arrives", drop(r"cute\.copy\(\s*tma_a", *LOADS)),
    kind("load_b_dropped", "B never arrives", drop(r"cute\.copy\(\s*tma_b", *LOADS)),
    kind(
        "load_twice",
        "twice the bytes land",
        insert(
            r"cute\.copy\(tma_a, tAgA",
            "cute.copy(tma_a, tAgA[None, m_tile, k_tile], tAsA[None, stage], tma_bar_ptr=full)",
            "producer",
        ),
    ),
    kind(
        "load_to_first_stage",
        "every load goes to stage 0",
        sub(r"(t[AB]s[AB])\[None, stage\]", r"\1[None, 0]", *LOADS),
    ),
    kind(
        "load_signals_first_slot",
        "the bytes of every stage are counted on slot 0",
        where(
            lambda rung: "ab_full" in rung.source,
            sub(r"tma_bar_ptr=full", "tma_bar_ptr=ab_full", *LOADS),
        ),
    ),
    kind(
        "load_next_k_tile",
        "one operand is one k_tile ahead of the other",
        sub(r"(t[AB]g[AB]\[None, \w+, k_(tile|next))\]", r"\1 + 1]", *LOADS),
    ),
    kind(
        "load_same_k_tile",
        "one operand is the first k_tile again and again",
        sub(r"(t[AB]g[AB]\[None, \w+), k_(tile|next)\]", r"\1, 0]", *LOADS),
    ),
    kind(
        "tiles_swapped",
        "rows of A are taken for columns of B",
        both(
            both(
                where(
                    lambda rung: not is_persistent(rung),
                    sub(r"(tAgA\[None, )m_tile", r"\1n_tile", *LOADS),
                ),
                sub(r"(tBgB\[None, )n_tile", r"\1m_tile", *LOADS),
            ),
            sub(r"(\s+)m_tile, n_tile(, _)? =", r"\1n_tile, m_tile\2 =", "setup"),
        ),
    ),
    kind(
        "peer_loads_same_b",
        "both CTAs of a pair stage the same half of B",
        where(is_pair, sub(r"(b_tile = 2 .*) \+ cta_rank", r"\1", "producer")),
    ),
    kind(
        "peer_loads_same_a",
        "both CTAs of a pair stage the same rows of A",
        where(is_pair, sub(r"(m_tile = CLUSTER_M .*) \+ cta_rank", r"\1", "producer")),
    ),
    kind(
        "peer_does_not_load",
        "half of the operands never arrive",
        where(
            is_pair,
            sub(
                r"if warp_idx == PRODUCER_WARP:",
                "if warp_idx == PRODUCER_WARP and is_leader:",
                "producer",
            ),
        ),
    ),
    kind(
        "producer_twice",
        "two warps run the producer",
        sub(
            r"if warp_idx == PRODUCER_WARP:", "if warp_idx // 2 == PRODUCER_WARP // 2:", "producer"
        ),
    ),
    kind(
        "loads_by_all_warps",
        "four warps run a mainloop that belongs to one",
        sub(r"if warp_idx == MAINLOOP_WARP:", "if warp_idx < 4:", "mainloop"),
    ),
    kind(
        "multicast_mask_dropped",
        "a slice reaches its own CTA only",
        where(
            in_cluster,
            sub(
                r", mcast_mask=[ab]_mask",
                ", mcast_mask=cutlass.Int16(1) << cute.arch.block_idx_in_cluster()",
                "producer",
            ),
        ),
    ),
    kind(
        "multicast_masks_swapped",
        "A goes down the column and B along the row",
        then(
            sub(r"mcast_mask=a_mask", "mcast_mask=b_mask", "producer"),
            sub(r"(tma_b,.*)mcast_mask=b_mask", r"\1mcast_mask=a_mask", "producer"),
        ),
    ),
    kind(
        "multicast_mask_shift",
        "the mask names another row or column",
        sub(r"([AB]_MASK << )", r"\1 1 + ", "setup"),
    ),
    kind(
        "multicast_slice_swapped",
        "the slice is chosen by the wrong coordinate",
        both(
            sub(r"tma_a, cta_n,", "tma_a, cta_m,", "producer"),
            sub(r"tma_b, cta_m,", "tma_b, cta_n,", "producer"),
        ),
    ),
    kind(
        "multicast_slice_constant",
        "every CTA loads the same slice",
        sub(r"(tma_[ab]), cta_[mn],", r"\1, 0,", "producer"),
    ),
)

PREFETCH: tuple[Kind, ...] = (
    kind(
        "prologue_short",
        "the last stage of the first lap is never loaded",
        sub(
            r"cutlass\.min\(AB_STAGES, k_tiles\)", "cutlass.min(AB_STAGES - 1, k_tiles)", "mainloop"
        ),
    ),
    kind(
        "prologue_long",
        "one load too many goes past the ring",
        sub(
            r"cutlass\.min\(AB_STAGES, k_tiles\)", "cutlass.min(AB_STAGES + 1, k_tiles)", "mainloop"
        ),
    ),
    kind(
        "prologue_unbounded",
        "a short K arms stages that nobody reads",
        sub(r"cutlass\.min\(AB_STAGES, k_tiles\)", "AB_STAGES", "mainloop"),
    ),
    kind(
        "refill_distance",
        "the stage is refilled for the wrong step",
        both(
            sub(r"k_next = k_tile \+ AB_STAGES", "k_next = k_tile + AB_STAGES - 1", "mainloop"),
            sub(r"k_next = k_tile \+ AB_STAGES", "k_next = k_tile + AB_STAGES + 1", "mainloop"),
        ),
    ),
    kind(
        "refill_one_more",
        "the refill goes one step past K",
        sub(r"k_next < k_tiles", "k_next <= k_tiles", "mainloop"),
    ),
    kind(
        "refill_one_less",
        "the last step is never loaded",
        sub(r"k_next < k_tiles", "k_next < k_tiles - 1", "mainloop"),
    ),
    kind(
        "refill_before_done",
        "a stage is refilled while its MMA reads it",
        move(r"mbarrier_wait\(mma_done", r"^\s*stage \+= 1", "mainloop"),
    ),
)

ALIAS: tuple[Kind, ...] = (
    kind(
        "operands_share_storage",
        "B is loaded over A",
        sub_all(r"smem\.b\.data_ptr\(\)", "smem.a.data_ptr()", "setup"),
    ),
    kind(
        "loads_of_a_for_b",
        "B's buffer gets A",
        sub(
            r"cute\.copy\(tma_b, tBgB\[None, \w+, (\w+)\]",
            r"cute.copy(tma_b, tBgB[None, m_tile, \1]",
            *LOADS,
        ),
    ),
    kind(
        "k_tail_dropped",
        "K that ends inside a k_tile is cut off",
        sub(r"cute\.ceil_div\(mA\.shape\[1\], TILE_K\)", "mA.shape[1] // TILE_K", "setup"),
    ),
    kind(
        "k_tile_too_many",
        "one step past K",
        sub(
            r"cute\.ceil_div\(mA\.shape\[1\], TILE_K\)",
            "cute.ceil_div(mA.shape[1], TILE_K) + 1",
            "setup",
        ),
        NONE,
    ),
)

KINDS = (
    *COPIES,
    *PREFETCH,
    *ALIAS,
)
