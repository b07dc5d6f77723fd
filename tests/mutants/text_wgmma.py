"""Faults of wgmma: its fence, its groups, register budgets, and the registers it leaves."""

from __future__ import annotations

from mutants.edit import both, drop, move, only, sub, sub_all, swap, where
from mutants.model import Kind
from mutants.subjects import Rung
from mutants.text_setup import ORDER, in_cluster
from mutants.text_stores import kind

MMA = ("mma", "mainloop", "epilogue")
RELEASE = r"^\s*(if k_tile > 0:|if lane < CLUSTER_M:|with cute\.arch\.elect_one\(\):)"


def has_m_blocks(rung: Rung) -> bool:
    """Whether a consumer has rows of more than one instruction."""
    return rung.plan.geometry.acc_rows > rung.plan.geometry.mma_m


GROUPS: tuple[Kind, ...] = (
    kind(
        "wgmma_fence_dropped",
        "wgmma may start before the registers of its accumulator are settled",
        drop(r"warpgroup\.fence\(\)", *MMA),
        ORDER,
    ),
    kind(
        "wgmma_commit_dropped",
        "the wait finds no group: stages and accumulator are used under the MMAs",
        drop(r"warpgroup\.commit_group\(\)", *MMA),
    ),
    kind(
        "wgmma_commit_early",
        "the last MMAs of a step are in the next group",
        move(r"warpgroup\.commit_group\(\)", r"for k_block in", *MMA),
    ),
    kind(
        "wgmma_wait_dropped",
        "stages or accumulator are used under the MMAs",
        drop(r"warpgroup\.wait_group\(", *MMA),
    ),
    kind(
        "wgmma_wait_too_weak",
        "one group more than is safe is under way",
        both(
            sub(r"warpgroup\.wait_group\(0\)", "warpgroup.wait_group(1)", *MMA),
            sub(r"warpgroup\.wait_group\(1\)", "warpgroup.wait_group(2)", *MMA),
        ),
    ),
    kind(
        "wgmma_wait_after_release",
        "a stage is given back while MMAs still read it",
        swap(r"warpgroup\.wait_group\(", RELEASE, *MMA),
    ),
    kind(
        "wgmma_release_this_stage",
        "the stage that is given back is the one in use",
        sub(r"ab_empty \+ last", "ab_empty + stage", *MMA),
    ),
    kind(
        "wgmma_release_first_step",
        "a stage too many is given back each tile",
        sub(r"if k_tile > 0:", "if k_tile >= 0:", *MMA),
    ),
    kind(
        "wgmma_last_release_dropped",
        "a stage a tile is never given back",
        where(
            in_cluster,
            drop(r"^        (    )?(if lane < CLUSTER_M:)", "mma"),
        ),
    ),
    kind(
        "wgmma_release_one_cta",
        "the peer's producer, or this CTA's, waits for ever",
        both(
            sub(r"if lane < CLUSTER_M:", "if lane < 1:", *MMA),
            sub(r"ab_empty \+ last, lane,", "ab_empty + last, 0,", *MMA),
        ),
    ),
    kind(
        "wgmma_last_not_followed",
        "the first stage is given back at each step, and the others never",
        only(1, drop(r"^\s*last = stage", *MMA)),
    ),
)

REGISTERS: tuple[Kind, ...] = (
    kind(
        "setmaxnreg_dropped",
        "registers are asked for that nobody gave up, or used that nobody asked for",
        drop(r"setmaxregister_", *MMA, "producer"),
    ),
    kind(
        "setmaxnreg_one_warp",
        "setmaxnreg is for all warps of a warpgroup, and one comes",
        sub(r"if warp_idx < MMA_WARP:", "if warp_idx == PRODUCER_WARP:", "producer"),
    ),
    kind(
        "setmaxnreg_direction",
        "what should grow shrinks, or the other way round",
        both(
            sub("setmaxregister_decrease", "setmaxregister_increase", "producer"),
            sub("setmaxregister_increase", "setmaxregister_decrease", *MMA),
        ),
    ),
    kind(
        "setmaxnreg_too_many",
        "the SM does not have as many: a warpgroup waits for ever",
        where(
            in_cluster,
            both(
                sub(r"^MMA_REGISTERS = \d+", "MMA_REGISTERS = 256"),
                sub(r"^PRODUCER_REGISTERS = \d+", "PRODUCER_REGISTERS = 168"),
            ),
        ),
    ),
    kind(
        "setmaxnreg_no_multiple",
        "a count that is no multiple of 8 is none",
        sub(r"^(MMA_REGISTERS = \d+)", r"\1 + 1"),
    ),
    kind(
        "setmaxnreg_one_consumer",
        "the second consumer uses registers that it never asked for",
        sub(
            r"^( +)(cute\.arch\.setmaxregister_increase\(.*\))",
            r"\1if warp_idx < MMA_WARP + 4:\n\1    \2",
            "mma",
        ),
    ),
)

OUTPUT: tuple[Kind, ...] = (
    kind(
        "stmatrix_other_chunk",
        "16 columns of D lie where their neighbours should",
        sub(r"own_D\[None, n_block,", "own_D[None, n_block ^ 1,", *MMA),
    ),
    kind(
        "stmatrix_other_rows",
        "64 rows of D lie where their neighbours should",
        where(
            has_m_blocks,
            sub(r"(own_D\[None, n_block), m_block", r"\1, M_BLOCKS - 1 - m_block", *MMA),
        ),
    ),
    kind(
        "stmatrix_first_buffer",
        "every chunk is written to the first buffer",
        sub(r"(own_D\[None, n_block, m_block), slot\]", r"\1, 0]", *MMA),
    ),
    kind(
        "stmatrix_lane_rows",
        "lanes give the addresses of other rows",
        sub(r"lane % 16$", "lane % 8", *MMA),
    ),
    kind(
        "stmatrix_lane_columns",
        "the right 8 columns are written over the left",
        sub(r"\+ lane // 16 \* 8", "+ 0", *MMA),
    ),
    kind(
        "stmatrix_other_warp",
        "each warp writes the rows of its neighbour",
        sub(r"warp_idx % 4 \* 16", "(warp_idx ^ 1) % 4 * 16", *MMA),
    ),
    kind(
        "registers_of_first_chunk",
        "every chunk of D is the first",
        sub(r"chunk \* \(EPI_N // 16\) \+ n_block", "n_block", *MMA),
    ),
    kind(
        "registers_of_other_rows",
        "rows of the accumulator are exchanged",
        where(
            has_m_blocks,
            sub(r"(\(EPI_N // 16\) \+ n_block), m_block\]", r"\1, M_BLOCKS - 1 - m_block]", *MMA),
        ),
    ),
    kind(
        "wgmma_start_kept",
        "the first step of a tile adds to what the accumulator held",
        sub_all(r"ACCUMULATE, k_tile \+ k_block != 0", "ACCUMULATE, True", *MMA),
    ),
)

KINDS = (*GROUPS, *REGISTERS, *OUTPUT)
