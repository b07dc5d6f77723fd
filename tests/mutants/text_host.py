"""Faults of the host code: the launch, and which problems are refused."""

from __future__ import annotations

from mutants.edit import both, drop, sub, where
from mutants.model import Expect, Kind
from mutants.subjects import Rung
from mutants.text_setup import in_cluster, is_persistent, kind

CONST, HOST = "constants", "host"
COMPILE = Expect.COMPILE


def has_rows(rung: Rung) -> bool:
    """Operand buffers are swizzled rows."""
    return "a_rows" in rung.source


LAUNCH: tuple[Kind, ...] = (
    kind(
        "grid_short",
        "the last tiles are never computed",
        both(
            sub(r"grid=\(m // TILE_M,", "grid=(m // TILE_M - 1,", HOST),
            sub(r"n // TILE_N, 1\)", "n // TILE_N - 1, 1)", HOST),
        ),
    ),
    kind(
        "grid_long",
        "CTAs compute tiles outside D",
        where(
            lambda rung: not in_cluster(rung),
            both(
                sub(r"grid=\(m // TILE_M,", "grid=(m // TILE_M + 1,", HOST),
                sub(r"n // TILE_N, 1\)", "n // TILE_N + 1, 1)", HOST),
            ),
        ),
    ),
    kind(
        "grid_swapped",
        "M and N change places in the grid",
        sub(r"grid=\(m // TILE_M, n // TILE_N, 1\)", "grid=(n // TILE_N, m // TILE_M, 1)", HOST),
    ),
    kind(
        "grid_one_cluster",
        "one cluster alone walks all tiles: slower, not wrong",
        where(is_persistent, sub(r", max_active_clusters$", ", 1", HOST)),
        Expect.NONE,
    ),
    kind(
        "block_short",
        "a role has no warp",
        sub(r"block=\(THREADS, 1, 1\)", "block=(THREADS - 32, 1, 1)", HOST),
    ),
    kind(
        "block_long",
        "a warp without a role joins",
        sub(r"block=\(THREADS, 1, 1\)", "block=(THREADS + 32, 1, 1)", HOST),
    ),
    kind(
        "cluster_attribute_dropped",
        "CTAs that address each other are not in one cluster",
        sub(r"^(\s+)cluster=\(CLUSTER_M, CLUSTER_N, 1\),", r"\1cluster=(1, 1, 1),", HOST),
    ),
    kind(
        "cluster_swapped",
        "a pair lies along N",
        where(
            in_cluster,
            sub(r"cluster=\(CLUSTER_M, CLUSTER_N, 1\)", "cluster=(CLUSTER_N, CLUSTER_M, 1)", HOST),
        ),
    ),
    kind(
        "row_stride_of_d",
        "D is taken to be compact",
        sub(r"cutlass\.Int64\(d\.stride\[0\]\)", "cutlass.Int64(n)", HOST),
    ),
    kind(
        "floor_tiles",
        "tiles are counted a CTA where a cluster takes several",
        where(
            is_persistent,
            sub(
                r"m_tiles = mD\.shape\[0\] // \(TILE_M \* CLUSTER_M\)",
                "m_tiles = mD.shape[0] // TILE_M",
                "setup",
            ),
        ),
    ),
)

RULES: tuple[Kind, ...] = (
    kind(
        "accepts_any_m",
        "rows that no tile covers are never written, or rows past M are",
        both(
            sub(r"if m % m_step or n % n_step:", "if n % n_step:", HOST),
            where(
                in_cluster,
                sub(r"m_step, n_step = TILE_M \* CLUSTER_M,", "m_step, n_step = TILE_M,", HOST),
            ),
        ),
    ),
    kind(
        "accepts_any_n",
        "columns that no tile covers are never written",
        sub(r"if m % m_step or n % n_step:", "if m % m_step:", HOST),
    ),
    kind(
        "accepts_any_k",
        "rows that do not start on 16 bytes, or more K than there is a loop for",
        both(drop(r"^    if k % 8", HOST), drop(r"^    if k != TILE_K", HOST)),
    ),
    kind(
        "accepts_zero_stride",
        "an expanded matrix has rows over each other",
        drop(r"^        if row_stride < t\.shape\[1\]", HOST),
    ),
    kind(
        "accepts_inner_stride",
        "a transposed matrix is read as if it were not",
        drop(r"^        if inner_stride != 1", HOST),
    ),
    kind(
        "accepts_other_dtype",
        "the bits of another type are multiplied",
        drop(r"^        if str\(t\.dtype\)", HOST),
    ),
    kind(
        "accepts_misaligned",
        "rows do not start on multiples of 16 bytes",
        drop(r"^        if row_stride % 8", HOST),
    ),
    kind(
        "accepts_other_shapes", "K of A and of B differ", drop(r"^    if b\.shape\[1\] != k", HOST)
    ),
)

KINDS = (
    *LAUNCH,
    *RULES,
)
