"""Faults of generic copies and TMA stores: proxy fences, bulk groups, and who issues a store."""

from __future__ import annotations

import re

from mutants.edit import both, drop, move, sub, swap, where
from mutants.model import Expect, Kind, Layer, Make
from mutants.subjects import Rung, is_beside
from mutants.text_setup import NONE, ORDER, RUN, SYNC, is_persistent

PLACES = ("mainloop", "mma", "epilogue")
FENCE = r"fence_proxy\("
BARRIER = rf"^\s*(cute\.arch\.barrier\(|{SYNC})"
WAIT, COMMIT = r"cp_async_bulk_wait_group\(", r"cp_async_bulk_commit_group\("
ONE_WARP = r"if warp_idx( % 4)? == 0:"
FILL = r"for m_block in|cute\.autovec_copy\(rD, sD"


def kind(name: str, why: str, make: Make, expect: Expect = RUN) -> Kind:
    """A kind of fault in the text of the rungs beside the main ladder."""
    return Kind(name, Layer.TEXT, why, expect, where(lambda rung: is_beside(rung.name), make))


def stores_by_tma(rung: Rung) -> bool:
    """D leaves by TMA."""
    return "tma_d" in rung.source


def _one_role(rung: Rung) -> bool:
    """No accumulator slot is given back by the same warp: any warp may do that after a barrier."""
    return stores_by_tma(rung) and not re.search(r"acc_empty \+ slot, 0", rung.source)


KINDS: tuple[Kind, ...] = (
    kind(
        "proxy_fence_dropped",
        "the async proxy may read shared memory as it was before the threads wrote it",
        drop(FENCE, *PLACES),
        ORDER,
    ),
    kind(
        "proxy_fence_before_writes",
        "the fence orders what was written before it, which is not this",
        both(
            swap(FILL, FENCE, *PLACES),
            move(FENCE, r"cute\.copy\(copy_ab, tBgB", "mainloop"),
        ),
        ORDER,
    ),
    kind(
        "proxy_fence_after_barrier",
        "the writers fence after they have met the thread that hands over, which fences too",
        where(
            lambda rung: not is_persistent(rung),
            swap(FENCE, BARRIER, *PLACES, near=True),
        ),
        NONE,
    ),
    kind(
        "copies_barrier_dropped",
        "the tensor core reads what other threads have not copied, or they overwrite what it reads",
        drop(SYNC, "mainloop"),
    ),
    kind(
        "staging_barrier_dropped",
        "a buffer is filled while a store reads it, or stored while others fill it",
        where(stores_by_tma, drop(BARRIER, "mma", "epilogue")),
    ),
    kind(
        "store_before_barrier",
        "the store begins before the other warps have filled their part",
        where(stores_by_tma, swap(BARRIER, ONE_WARP, "mma", "epilogue", near=True)),
    ),
    kind(
        "tma_store_dropped",
        "a chunk of D is staged and never stored",
        drop(r"cute\.copy\(\s*tma_d", *PLACES),
    ),
    kind(
        "store_by_all_lanes",
        "each of 32 lanes stores the chunk",
        where(
            stores_by_tma,
            both(
                sub(r"^(\s+)with cute\.arch\.elect_one\(\):.*", r"\1if True:", "epilogue"),
                sub(r"^( {28})with cute\.arch\.elect_one\(\):.*", r"\1if True:", "mma"),
            ),
        ),
    ),
    kind(
        "store_by_other_warp",
        "the warp that stores is not the one that waits for its stores, or the other way round",
        where(_one_role, sub(r"if warp_idx % 4 == 0:", "if warp_idx % 4 == 1:", "mma", "epilogue")),
    ),
    kind(
        "store_by_each_warp",
        "every warp stores the chunk",
        where(
            lambda rung: stores_by_tma(rung) and "pingpong" not in rung.name,
            sub(r"if warp_idx( % 4)? == 0:$", "if True:", "epilogue"),
        ),
    ),
    kind(
        "tma_store_other_chunk",
        "the chunk lands in its neighbour's columns",
        sub(r"EPI_CHUNKS \+ chunk\b", "EPI_CHUNKS + (chunk ^ 1)", "mma", "epilogue"),
    ),
    kind(
        "tma_store_other_buffer",
        "another buffer is stored than the one that was filled",
        both(
            sub(r"tDsD\[None, chunk % D_STAGES\]", "tDsD[None, (chunk + 1) % D_STAGES]", *PLACES),
            both(
                sub(r"D_STAGES \+ slot\]", "D_STAGES + (slot ^ 1)]", *PLACES),
                sub(r"tDsD\[None, consumer \* D_STAGES \+", "tDsD[None,", *PLACES),
            ),
        ),
    ),
    kind(
        "bulk_commit_dropped",
        "the wait finds no group, so a buffer is filled while TMA reads it",
        drop(COMMIT, *PLACES),
    ),
    kind(
        "bulk_commit_before_store",
        "the last store is in no group, so the wait does not cover it",
        where(_one_role, swap(r"^\s*with cute\.arch\.elect_one", COMMIT, "mma", "epilogue")),
    ),
    kind(
        "bulk_wait_dropped",
        "a buffer is filled, or the CTA leaves, while TMA still reads it",
        drop(rf"^\s*cute\.arch\.{WAIT}", *PLACES),
    ),
    kind(
        "bulk_wait_too_weak",
        "the wait leaves one group more under way than there are buffers free",
        sub(r"(cp_async_bulk_wait_group\()(.*), read=True\)", r"\1\2 + 1, read=True)", *PLACES),
    ),
    kind(
        "bulk_wait_after_barrier",
        "the other warps fill the buffer before the wait for its last store",
        where(stores_by_tma, swap(ONE_WARP, BARRIER, "mma", "epilogue", near=True)),
    ),
    kind(
        "bulk_wait_early",
        "the wait comes before the store that it is for",
        where(
            lambda rung: rung.name == "tirx/v4_tma",
            move(r"if warp_idx == 0:.*no store", r"for chunk in", "epilogue"),
        ),
    ),
)
