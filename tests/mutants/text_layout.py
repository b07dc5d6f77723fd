"""Faults of constants, shared storage, layouts and tensor maps."""

from __future__ import annotations

from mutants.edit import both, sub, then, where
from mutants.model import Expect, Kind
from mutants.subjects import Rung
from mutants.text_setup import in_cluster, is_pair, is_persistent, kind

CONST, HOST = "constants", "host"


def has_rows(rung: Rung) -> bool:
    """Operand buffers are swizzled rows."""
    return "a_rows" in rung.source


CONSTANTS: tuple[Kind, ...] = (
    kind(
        "tx_bytes_of_a_only",
        "the barrier completes before B has landed",
        sub(r"^AB_BYTES = (2 \* )?\(TILE_M \+ \w+\)(.*?)  #.*", r"AB_BYTES = \1TILE_M\2", CONST),
    ),
    kind(
        "tx_bytes_of_b_only",
        "the barrier completes before A has landed",
        sub(r"^AB_BYTES = (2 \* )?\(TILE_M \+ (\w+)\)(.*?)  #.*", r"AB_BYTES = \1\2\3", CONST),
    ),
    kind(
        "tx_bytes_of_one_cta",
        "the leader's barrier completes before its peer's operands have landed",
        where(is_pair, sub(r"^AB_BYTES = 2 \* ", "AB_BYTES = ", CONST)),
    ),
    kind(
        "tx_bytes_times_cluster",
        "the barrier waits for bytes that others count",
        where(
            in_cluster,
            sub(r"^AB_BYTES = (.*?)  #.*", r"AB_BYTES = CLUSTER_M * CLUSTER_N * \1", CONST),
        ),
    ),
    kind(
        "tx_bytes_in_elements",
        "half of the bytes",
        sub(r"^(AB_BYTES = .*) \* 2  #.*", r"\1", CONST),
    ),
    kind(
        "arrivals_constant",
        "one arrival too few or too many a phase",
        both(
            sub(r"^(\w+_ARRIVALS = .*?)  #.*", r"\1 - 1", CONST),
            sub(r"^(\w+_ARRIVALS = .*?)  #.*", r"\1 + 1", CONST),
        ),
    ),
    kind(
        "mask_constant_without_peer",
        "the mask names one CTA less",
        both(
            sub(r"^PAIR_MASK = 0b11", "PAIR_MASK = 0b01", CONST),
            both(
                sub(r"^A_MASK = 0b0101", "A_MASK = 0b0001", CONST),
                sub(r"^B_MASK = 0b0011", "B_MASK = 0b0001", CONST),
            ),
        ),
    ),
    kind(
        "mask_constant_without_self",
        "the mask names the others only",
        both(
            sub(r"^PAIR_MASK = 0b11", "PAIR_MASK = 0b10", CONST),
            both(
                sub(r"^A_MASK = 0b0101", "A_MASK = 0b0100", CONST),
                sub(r"^B_MASK = 0b0011", "B_MASK = 0b0010", CONST),
            ),
        ),
    ),
    kind(
        "masks_exchanged",
        "rows are taken for columns",
        then(
            sub(r"^A_MASK = 0b0101", "A_MASK = 0b0011", CONST),
            sub(r"^B_MASK = 0b0011", "B_MASK = 0b0101", CONST),
        ),
    ),
    kind(
        "acc_stages_overlap",
        "two accumulators in the columns of one",
        where(
            is_persistent,
            sub(r"^TMEM_COLUMNS = ACC_STAGES \* TILE_N", "TMEM_COLUMNS = TILE_N", CONST),
        ),
    ),
    kind(
        "two_roles_one_warp",
        "the producer and the mma role are one warp, in turn",
        where(
            lambda rung: "MMA_WARP = " in rung.source,
            sub(r"^MMA_WARP = .*", "MMA_WARP = PRODUCER_WARP", CONST),
        ),
    ),
    kind(
        "mma_warp_in_epilogue",
        "a warp that multiplies comes late to the epilogue's barrier",
        where(is_persistent, sub(r"^MMA_WARP = .*", "MMA_WARP = 3", CONST)),
    ),
    kind(
        "producer_warp_in_epilogue",
        "a warp that loads comes late to the epilogue's barrier",
        where(is_persistent, sub(r"^PRODUCER_WARP = .*", "PRODUCER_WARP = 0", CONST)),
    ),
    kind(
        "threads_short", "a role has no warp", sub(r"^THREADS = (\d+)", r"THREADS = \1 - 32", CONST)
    ),
    kind(
        "chunk_narrow",
        "the last columns of the tile are never read",
        sub(r"^EPI_CHUNKS = TILE_N // EPI_N", "EPI_CHUNKS = TILE_N // EPI_N - 1", CONST),
    ),
)

STORAGE: tuple[Kind, ...] = (
    kind(
        "storage_ring_short",
        "the last slot of a barrier ring lies in the next field",
        sub(r"(MemRange\[cutlass\.Int64, A\w+_STAGES)\]", r"\1 - 1]", "storage"),
    ),
    kind(
        "storage_operand_short",
        "the last stage lies over the next buffer or past the end",
        sub(r"(MemRange\[cutlass\.Float16, )AB_STAGES \*", r"\1(AB_STAGES - 1) *", "storage"),
    ),
    kind(
        "storage_alignment",
        "buffers are not where the swizzle repeats",
        both(
            sub(r"(a: cute\.struct\.Align\[.*), 1024\]", r"\1, 128]", "storage"),
            sub(
                r"get_dyn_smem\(cutlass\.Int8, alignment=1024\)",
                "get_dyn_smem(cutlass.Int8, alignment=16)",
                "setup",
            ),
        ),
    ),
    kind(
        "smem_bytes_short",
        "the last bytes of the ring are past the CTA's shared memory",
        sub(
            r"smem=SharedStorage\.size_in_bytes\(\)",
            "smem=SharedStorage.size_in_bytes() - 1024",
            HOST,
        ),
    ),
)

LAYOUTS: tuple[Kind, ...] = (
    kind(
        "layout_rows",
        "one operand is laid out in rows of another length",
        sub(r"([ab]_rows = .*stride=)\(TILE_K, 1,", r"\1(2 * TILE_K, 1,", HOST),
    ),
    kind(
        "layout_stage_stride",
        "stages overlap",
        both(
            sub(r"([ab]_rows = .*stride=\(TILE_K, 1, \w+ \* TILE_K)\)", r"\1 // 2)", HOST),
            sub(r"(stride=\(8, \(1, 8 \* \w+\), \w+ \* TILE_K)\)", r"\1 // 2)", HOST),
        ),
    ),
    kind(
        "layout_core_matrix",
        "the 8-row groups of a plain layout are apart by another distance",
        sub(r"\(1, 8 \* (TILE_[MN])\)", r"(1, 16 * \1)", HOST),
    ),
    kind(
        "swizzle_of_both",
        "a swizzle of another width, for TMA and MMA alike: right, but slower",
        sub(r"cute\.make_swizzle\(3, 4, 3\)", "cute.make_swizzle(2, 4, 3)", HOST),
        Expect.NONE,
    ),
    kind(
        "swizzle_of_load",
        "TMA swizzles otherwise than the MMA unswizzles",
        where(
            has_rows,
            both(
                sub(
                    r"(make_tiled_tma_atom\(load_op, a), a_smem,",
                    r"\1, cute.make_composed_layout(cute.make_swizzle(2, 4, 3), 0, a_rows),",
                    HOST,
                ),
                sub(
                    r"(make_tiled_tma_atom\(load_op, b), b_smem,",
                    r"\1, cute.make_composed_layout(cute.make_swizzle(2, 4, 3), 0, b_rows),",
                    HOST,
                ),
            ),
        ),
    ),
    kind(
        "swizzle_of_load_absent",
        "TMA does not swizzle what the MMA unswizzles",
        where(
            has_rows,
            both(
                sub(r"(make_tiled_tma_atom\(load_op, a), a_smem,", r"\1, a_rows,", HOST),
                sub(r"(make_tiled_tma_atom\(load_op, b), b_smem,", r"\1, b_rows,", HOST),
            ),
        ),
    ),
    kind(
        "tensor_map_of_other",
        "the map of one operand is used for the other",
        then(sub(r"(tma_a, mA = .*load_op), a,", r"\1, b,", HOST)),
    ),
    kind(
        "tensor_map_box",
        "a load brings half of the rows",
        both(
            sub(r"(tma_a.*), \(TILE_M, TILE_K\)", r"\1, (TILE_M // 2, TILE_K)", HOST),
            sub(r"(tma_b.*), \((TILE_N|B_ROWS), TILE_K\)", r"\1, (\2 // 2, TILE_K)", HOST),
        ),
    ),
    kind(
        "load_op_one_cta",
        "a load of one CTA signals its own barrier, not the leader's",
        where(
            is_pair,
            sub(
                r"CopyBulkTensorTileG2SOp\(tcgen05\.CtaGroup\.TWO\)",
                "CopyBulkTensorTileG2SOp()",
                HOST,
            ),
        ),
    ),
    kind(
        "multicast_extent",
        "the slices of a multicast are as long as the whole",
        sub(r"(make_tiled_tma_atom\(load_op, .*), CLUSTER_[MN]\)", r"\1)", HOST),
    ),
)

KINDS = (
    *CONSTANTS,
    *STORAGE,
    *LAYOUTS,
)
