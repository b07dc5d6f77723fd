"""Faults of the mma role: what it multiplies into what, and whom it tells."""

from __future__ import annotations

from mutants.edit import both, drop, insert, move, sub, swap, then, where
from mutants.model import Expect, Kind
from mutants.text_setup import ORDER, in_cluster, is_pair, is_persistent, kind

MMA = ("mma", "mainloop")
COMMIT_STAGE = r"tcgen05\.commit\((ab_empty|mma_done)"

ISSUE: tuple[Kind, ...] = (
    kind(
        "fence_after_full_dropped",
        "the MMAs are not ordered after the wait for their operands",
        drop(r"AFTER_THREAD_SYNC", *MMA),
        ORDER,
    ),
    kind(
        "accumulate_always",
        "the first MMA of a tile adds to whatever the columns held",
        sub(r"Field\.ACCUMULATE, .*\)", "Field.ACCUMULATE, True)", *MMA),
    ),
    kind(
        "accumulate_never",
        "only the last MMA counts",
        sub(r"Field\.ACCUMULATE, (?!False).*\)", "Field.ACCUMULATE, False)", *MMA),
    ),
    kind(
        "accumulate_restarts_each_k_tile",
        "only the last k_tile counts",
        sub(r"ACCUMULATE, k_tile \+ k_block != 0\)", "ACCUMULATE, k_block != 0)", *MMA),
    ),
    kind(
        "accumulate_skips_first_k_tile",
        "the first k_tile is lost",
        sub(r"ACCUMULATE, k_tile( \+ k_block)? != 0\)", "ACCUMULATE, k_tile > 1)", *MMA),
    ),
    kind("mma_dropped", "nothing is multiplied", drop(r"cute\.gemm\(", *MMA)),
    kind(
        "mma_twice",
        "each product counts twice",
        where(
            lambda rung: "tCtAcc" in rung.source,
            insert(r"cute\.gemm\(", "cute.gemm(tiled_mma, tCtAcc, a_block, b_block, tCtAcc)", *MMA),
        ),
    ),
    kind(
        "k_blocks_short",
        "the last step of each k_tile is left out",
        sub(r"range_constexpr\(K_BLOCKS\)", "range_constexpr(K_BLOCKS - 1)", *MMA),
    ),
    kind(
        "k_block_stuck",
        "one operand of each step is the first of the k_tile",
        sub(r"(= tCr[AB]\[None, None), k_block,", r"\1, 0,", *MMA),
    ),
    kind(
        "k_block_skewed",
        "A and B of a step are from different columns",
        sub(r"(a_block = tCrA\[None, None), k_block,", r"\1, (k_block + 1) % K_BLOCKS,", *MMA),
    ),
    kind(
        "stage_ignored_by_mma",
        "one operand is read from stage 0 always",
        sub(r"(= tCr[AB]\[None, None, \w+), stage\]", r"\1, 0]", *MMA),
    ),
    kind(
        "mma_by_both_ctas",
        "each CTA of a pair issues the pair's MMA",
        where(
            is_pair,
            sub(r"if warp_idx == MMA_WARP and is_leader:", "if warp_idx == MMA_WARP:", "mma"),
        ),
    ),
    kind(
        "mma_by_peer",
        "the CTA whose barriers nobody arms waits for them",
        where(is_pair, sub(r"and is_leader:", "and cta_rank == 1:", "mma")),
    ),
    kind(
        "mma_by_two_warps",
        "two warps multiply and commit",
        sub(r"if warp_idx == MMA_WARP", "if warp_idx // 2 == MMA_WARP // 2", "mma"),
    ),
    kind(
        "mma_shape_n",
        "half of the tile's columns are multiplied",
        sub(r"\(MMA_M, MMA_N, MMA_K\)", "(MMA_M, MMA_N // 2, MMA_K)", *MMA),
    ),
    kind(
        "operand_major",
        "B is read as if N were contiguous",
        then(sub(r"OperandMajorMode\.K,", "OperandMajorMode.MN,", *MMA)),
    ),
    kind(
        "operands_exchanged",
        "A and B change places in the instruction",
        sub(r"(cute\.gemm\(tiled_mma, tCtAcc), a_block, b_block", r"\1, b_block, a_block", *MMA),
    ),
    kind(
        "cta_group_of_mma",
        "a pair's tile is multiplied by one CTA",
        where(is_pair, sub(r"tcgen05\.CtaGroup\.TWO,$", "tcgen05.CtaGroup.ONE,", "mma")),
        Expect.COMPILE,
    ),
    kind(
        "swizzle_of_descriptor_a",
        "the MMA unswizzles what was swizzled otherwise",
        sub(
            r"(sA = .*smem\.a\.data_ptr\(\)), a_smem\.inner\)",
            r"\1, cute.make_swizzle(2, 4, 3))",
            "setup",
        ),
    ),
    kind(
        "swizzle_of_descriptor_b",
        "the MMA unswizzles what was swizzled otherwise",
        sub(
            r"(sB = .*smem\.b\.data_ptr\(\)), b_smem\.inner\)",
            r"\1, cute.make_swizzle(1, 4, 3))",
            "setup",
        ),
    ),
)

ACCUMULATOR: tuple[Kind, ...] = (
    kind(
        "accumulator_columns_of_mma",
        "the accumulator lies some columns further than the epilogue reads",
        sub(
            r"= cute\.make_tensor\(tmem, acc_layout\)",
            "= cute.make_tensor(tmem + 32, acc_layout)",
            *MMA,
        ),
    ),
    kind(
        "accumulator_slots_overlap",
        "the two accumulators share columns",
        sub(r"(stride=\(\(TMEM_LANE, 1\), 0, 0), TILE_N\)", r"\1, TILE_N // 2)", "mma"),
    ),
    kind(
        "accumulator_slot_ignored_by_mma",
        "every tile is multiplied into slot 0",
        where(is_persistent, sub(r"(tCtAccs\[None, None, None), slot\]", r"\1, 0]", "mma")),
    ),
    kind(
        "accumulator_slot_ignored_by_epilogue",
        "every tile is read from slot 0",
        where(
            is_persistent, sub(r"(tAccs\[None, None, None, None), slot\]", r"\1, 0]", "epilogue")
        ),
    ),
    kind(
        "accumulator_other_slot_read",
        "the epilogue reads the accumulator that is being filled",
        where(
            is_persistent,
            sub(r"(tAccs\[None, None, None, None), slot\]", r"\1, 1 - slot]", "epilogue"),
        ),
    ),
    kind(
        "accumulator_lane_stride",
        "rows of the accumulator are taken for columns",
        sub(r"TMEM_LANE = 1 << 16", "TMEM_LANE = 1 << 15", "constants"),
    ),
)

COMMITS: tuple[Kind, ...] = (
    kind("commit_stage_dropped", "a stage is never given back", drop(COMMIT_STAGE, *MMA)),
    kind(
        "commit_acc_full_dropped",
        "the accumulator is never announced",
        drop(r"tcgen05\.commit\(acc_full", *MMA),
    ),
    kind(
        "commit_stage_before_mma",
        "a stage is given back before the MMAs that read it",
        where(
            lambda rung: "K_BLOCKS" in rung.source,
            swap(r"for k_block in", r"with cute\.arch\.elect_one\(\)", "mma"),
        ),
    ),
    kind(
        "commit_stage_before_only_mma",
        "a stage is given back before the MMA that reads it",
        where(
            lambda rung: "K_BLOCKS" not in rung.source,
            both(
                swap(r"cute\.gemm\(", r"with cute\.arch\.elect_one\(\)", "mma"),
                swap(r"cute\.gemm\(", r"with cute\.arch\.elect_one\(\)", "mainloop"),
            ),
        ),
    ),
    kind(
        "commit_acc_full_each_k_tile",
        "the accumulator is announced after its first k_tile",
        insert(r"tcgen05\.commit\(ab_empty", "tcgen05.commit(acc_full)", "mma"),
    ),
    kind(
        "commit_acc_full_before_loop",
        "the accumulator is announced before anything is multiplied",
        move(
            r"with [^\n]*elect_one\(\):\s+tcgen05\.commit\(acc_full",
            r"for k_tile in cutlass\.range",
            "mma",
        ),
    ),
    kind(
        "commit_other_slot",
        "the commit names slot 0 always",
        sub(r"tcgen05\.commit\((\w+) \+ (stage|slot)", r"tcgen05.commit(\1", "mma"),
    ),
    kind(
        "commit_next_slot",
        "the commit names the next slot of the ring",
        sub(
            r"tcgen05\.commit\((\w+) \+ stage",
            r"tcgen05.commit(\1 + (stage + 1) % AB_STAGES",
            "mma",
        ),
    ),
    kind(
        "commit_twice",
        "a stage is given back twice",
        insert(r"tcgen05\.commit\(ab_empty", "tcgen05.commit(ab_empty + stage)", "mma"),
    ),
    kind(
        "commit_by_all_lanes",
        "32 arrivals for one",
        sub(r"with cute\.arch\.elect_one\(\):", "if True:", "mma"),
    ),
    kind(
        "commit_by_arrive",
        "a plain arrive does not wait for the MMAs",
        sub(
            r"tcgen05\.commit\(((ab_empty|mma_done|acc_full)[^,]*)(,.*)?\)$",
            r"cute.arch.mbarrier_arrive(\1)",
            *MMA,
        ),
    ),
    kind(
        "commit_without_peer",
        "the peer's producer never gets its stage back",
        where(is_pair, sub(r"(tcgen05\.commit\(.*), PAIR_MASK,", r"\1, 1,", "mma")),
    ),
    kind(
        "commit_without_self",
        "the leader's own producer never gets its stage back",
        where(is_pair, sub(r"(tcgen05\.commit\(.*), PAIR_MASK,", r"\1, 2,", "mma")),
    ),
    kind(
        "commit_mask_absent",
        "the commit reaches its own CTA only",
        where(
            in_cluster,
            sub(r"(tcgen05\.commit\(\w+ \+ \w+), (a_mask \| b_mask|PAIR_MASK)", r"\1, None", "mma"),
        ),
    ),
    kind(
        "commit_row_only",
        "the CTAs of the column never get the stage back",
        sub(r"a_mask \| b_mask", "a_mask", "mma"),
    ),
    kind(
        "commit_column_only",
        "the CTAs of the row never get the stage back",
        sub(r"a_mask \| b_mask", "b_mask", "mma"),
    ),
    kind(
        "commit_mask_whole_cluster",
        "a CTA that shares nothing gets an arrival too many",
        sub(r"a_mask \| b_mask", "0b1111", "mma"),
    ),
    kind(
        "commit_cta_group",
        "the commit waits for another group's MMAs",
        where(is_pair, sub(r"(tcgen05\.commit\(.*)CtaGroup\.TWO", r"\1CtaGroup.ONE", "mma")),
    ),
)

KINDS = (*ISSUE, *ACCUMULATOR, *COMMITS)
