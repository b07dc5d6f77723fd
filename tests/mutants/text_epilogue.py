"""Faults of the epilogue: what it reads, when it gives the accumulator back, where it writes."""

from __future__ import annotations

from mutants.edit import both, drop, insert, move, sub, swap, then, where
from mutants.model import Kind
from mutants.text_setup import NONE, ORDER, is_pair, is_persistent, kind

EPI = "epilogue"
READ = r"cute\.copy\(\s*tmem_load, tAcc"
BLOCK = r"if warp_idx == 0:"

READS: tuple[Kind, ...] = (
    kind(
        "mainloop_sync_dropped",
        "warps read the accumulator before the mainloop warp has seen it complete",
        drop(r"sync_threads\(\)", EPI),
    ),
    kind(
        "fence_after_acc_full_dropped",
        "the reads of tensor memory are not ordered after the wait for it",
        drop(r"AFTER_THREAD_SYNC", EPI),
        ORDER,
    ),
    kind(
        "wait_ld_dropped",
        "registers are used before tensor memory has written them",
        drop(r"fence_view_async_tmem_load\(\)", EPI),
    ),
    kind(
        "wait_ld_after_use",
        "registers are used before tensor memory has written them",
        swap(r"fence_view_async_tmem_load\(\)", r"rD(\[None, chunk\])?\.store\(", EPI),
    ),
    kind("read_dropped", "one chunk is never read", drop(READ, EPI)),
    kind(
        "read_first_chunk_always",
        "every chunk is the first",
        sub(r"(tAcc\[None, None, None), chunk( \+ 1)?\]", r"\1, 0]", EPI),
    ),
    kind(
        "read_buffer_in_use",
        "the next read goes into the registers being converted",
        sub(r"rAcc\[\(chunk \+ 1\) % 2\]", "rAcc[chunk % 2]", EPI),
    ),
    kind(
        "convert_other_buffer",
        "the registers of the read under way are converted",
        sub(r"rAcc\[chunk % 2\]\.load", "rAcc[(chunk + 1) % 2].load", EPI),
    ),
    kind(
        "read_other_lane",
        "each warp reads the lanes of its neighbour",
        sub(r"tmem_load\.get_slice\(thread_idx\)", "tmem_load.get_slice(thread_idx ^ 32)", EPI),
    ),
    kind(
        "read_columns_off",
        "columns are read that lie beside the tile's",
        sub(
            r"cute\.make_tensor\(tmem, chunk_layout\)",
            "cute.make_tensor(tmem + 1, chunk_layout)",
            EPI,
        ),
    ),
    kind(
        "read_chunk_stride",
        "chunks overlap",
        sub(r"(stride=\(TMEM_LANE, 1), EPI_N\b", r"\1, EPI_N // 2", EPI),
    ),
    kind(
        "read_slot_stride",
        "the second slot is read where the first ends early",
        sub(r"(stride=\(TMEM_LANE, 1, EPI_N), TILE_N\)", r"\1, TILE_N // 2)", EPI),
    ),
    kind(
        "read_by_other_warps",
        "a warp without lanes of its own reads, and one with lanes does not",
        sub(
            r"if warp_idx < EPILOGUE_WARPS:",
            "if warp_idx >= 1 and warp_idx < EPILOGUE_WARPS + 1:",
            EPI,
        ),
    ),
    kind(
        "epilogue_warp_missing",
        "32 rows are never written",
        sub(r"if warp_idx < EPILOGUE_WARPS:", "if warp_idx < EPILOGUE_WARPS - 1:", EPI),
    ),
)

RELEASES: tuple[Kind, ...] = (
    kind(
        "release_dropped",
        "the accumulator slot is never given back",
        drop(r"mbarrier_arrive\(acc_empty", EPI),
    ),
    kind(
        "release_before_reads",
        "the slot is given back before it is read",
        where(is_persistent, move(BLOCK, READ, EPI)),
    ),
    kind(
        "release_before_last_wait",
        "the slot is given back while reads are under way",
        where(is_persistent, move(BLOCK, r"for chunk in", EPI)),
    ),
    kind(
        "release_barrier_dropped",
        "the slot is given back while other warps still read it",
        drop(r"cute\.arch\.barrier\(", EPI),
    ),
    kind(
        "release_before_barrier",
        "the slot is given back while other warps still read it",
        move(BLOCK, r"cute\.arch\.barrier\(", EPI),
    ),
    kind(
        "release_barrier_fewer",
        "the named barrier opens a warp early",
        sub(
            r"number_of_threads=32 \* EPILOGUE_WARPS",
            "number_of_threads=32 * (EPILOGUE_WARPS - 1)",
            EPI,
        ),
    ),
    kind(
        "release_barrier_more",
        "the named barrier waits for a warp that never comes",
        sub(
            r"number_of_threads=32 \* EPILOGUE_WARPS",
            "number_of_threads=32 * (EPILOGUE_WARPS + 1)",
            EPI,
        ),
    ),
    kind(
        "release_barrier_whole_cta",
        "the named barrier is that of the whole CTA, where other roles do not come",
        sub(r"barrier_id=EPILOGUE_BARRIER", "barrier_id=0", EPI),
        NONE,
    ),
    kind(
        "release_by_every_warp",
        "four arrivals for one",
        sub(r"^(            )if warp_idx == 0:", r"\1if True:", EPI),
    ),
    kind(
        "release_by_all_lanes",
        "32 arrivals for one",
        sub(r"with cute\.arch\.elect_one\(\):", "if True:", EPI),
    ),
    kind(
        "release_own_cta",
        "the peer gives back a slot of its own that nobody waits for",
        where(
            is_pair,
            sub(
                r"mbarrier_arrive\((acc_empty \+ slot), 0, scope=.*\)", r"mbarrier_arrive(\1)", EPI
            ),
        ),
    ),
    kind(
        "release_to_peer",
        "the slot is given back to the CTA that does not multiply",
        where(is_pair, sub(r"(mbarrier_arrive\(acc_empty \+ slot), 0,", r"\1, 1,", EPI)),
    ),
    kind(
        "release_by_leader_only",
        "the slot waits for the peer for ever",
        where(
            is_pair,
            sub(r"^(            )if warp_idx == 0:", r"\1if warp_idx == 0 and is_leader:", EPI),
        ),
    ),
    kind(
        "release_scope_cta",
        "an arrive of CTA scope orders nothing for the CTA that waits",
        where(
            is_pair, sub(r"scope=nvvm\.MemScopeKind\.CLUSTER", "scope=nvvm.MemScopeKind.CTA", EPI)
        ),
        ORDER,
    ),
    kind(
        "release_other_slot",
        "slot 0 is given back, whichever was read",
        sub(r"mbarrier_arrive\(acc_empty \+ slot", "mbarrier_arrive(acc_empty", EPI),
    ),
    kind(
        "release_twice",
        "the slot is given back twice",
        insert(
            r"mbarrier_arrive\(acc_empty",
            "cute.arch.mbarrier_arrive(acc_empty + slot, 0, scope=nvvm.MemScopeKind.CLUSTER)",
            EPI,
        ),
    ),
    kind(
        "fence_before_release_dropped",
        "the reads of tensor memory are not ordered before the slot is given back",
        drop(r"BEFORE_THREAD_SYNC", EPI),
        ORDER,
    ),
)

WRITES: tuple[Kind, ...] = (
    kind("store_dropped", "D is never written", drop(r"autovec_copy\(", EPI)),
    kind(
        "store_row_in_tile",
        "every tile is written over the first rows",
        sub(r"mD\[m_tile \* TILE_M \+ thread_idx", "mD[thread_idx", EPI),
    ),
    kind(
        "store_row_neighbour",
        "rows are written in pairs crosswise",
        sub(r"m_tile \* TILE_M \+ thread_idx", "m_tile * TILE_M + (thread_idx ^ 1)", EPI),
    ),
    kind(
        "store_row_off",
        "one row past the tile",
        sub(r"m_tile \* TILE_M \+ thread_idx", "m_tile * TILE_M + thread_idx + 1", EPI),
    ),
    kind(
        "store_row_scale",
        "tiles overlap",
        sub(r"m_tile \* TILE_M \+ thread_idx", "m_tile * (TILE_M // 2) + thread_idx", EPI),
    ),
    kind(
        "store_column_in_tile",
        "every tile is written over the first columns",
        sub(r"gD\[None, n_tile \* EPI_CHUNKS \+ chunk\]", "gD[None, chunk]", EPI),
    ),
    kind(
        "store_chunk_reversed",
        "chunks are written in the wrong order",
        sub(
            r"n_tile \* EPI_CHUNKS \+ chunk\]", "n_tile * EPI_CHUNKS + EPI_CHUNKS - 1 - chunk]", EPI
        ),
    ),
    kind(
        "store_chunk_off",
        "one chunk past the tile",
        sub(r"n_tile \* EPI_CHUNKS \+ chunk\]", "n_tile * EPI_CHUNKS + chunk + 1]", EPI),
    ),
    kind(
        "store_tile_swapped",
        "the tile is written to its mirror image",
        then(
            sub(r"mD\[m_tile \*", "mD[n_tile *", EPI),
            sub(r"n_tile \* EPI_CHUNKS", "m_tile * EPI_CHUNKS", EPI),
        ),
    ),
    kind(
        "store_chunks_short",
        "the last columns are never written",
        sub(r"range_constexpr\(EPI_CHUNKS\)", "range_constexpr(EPI_CHUNKS - 1)", EPI),
    ),
    kind(
        "store_peer_rows",
        "both CTAs of a pair write the same rows",
        where(is_pair, sub(r"(m_tile, n_tile = CLUSTER_M \* .*) \+ cta_rank", r"\1", EPI)),
    ),
    kind(
        "walk_starts_at_next_tile",
        "the first tile is left out",
        where(
            is_persistent,
            both(
                sub(r"cutlass\.range\(cluster, tiles", "cutlass.range(cluster + 1, tiles", EPI),
                sub(
                    r"cutlass\.range\(cluster, tiles",
                    "cutlass.range(cluster + 1, tiles",
                    "producer",
                ),
            ),
        ),
    ),
    kind(
        "walk_ends_early",
        "the last tile is left out by one role",
        where(
            is_persistent,
            sub(
                r"cutlass\.range\(cluster, tiles,",
                "cutlass.range(cluster, tiles - 1,",
                "producer",
                "mma",
                EPI,
            ),
        ),
    ),
    kind(
        "walk_step",
        "one role takes every tile and the others every clusters-th",
        where(
            is_persistent,
            sub(
                r"cutlass\.range\(cluster, tiles, clusters",
                "cutlass.range(cluster, tiles, 1",
                "producer",
                EPI,
            ),
        ),
    ),
    kind(
        "walk_order",
        "one role walks along N and the others down M",
        where(is_persistent, sub(r"tile % m_tiles\)", "tile % (m_tiles + 1))", "producer", EPI)),
    ),
)

KINDS = (*READS, *RELEASES, *WRITES)
