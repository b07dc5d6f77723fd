"""Faults of setup and teardown: barriers, tensor memory, and who may begin or leave when."""

from __future__ import annotations

from gemmgen.terms import LoadKind, MmaKind
from mutants.edit import both, drop, drop_together, insert, move, only, sub, then, where
from mutants.model import Expect, Kind, Layer, Make
from mutants.subjects import Rung

RUN, ORDER, NONE = Expect.RUN, Expect.ORDER, Expect.NONE
INIT, CLUSTER = r"mbarrier_init\(", r"cute\.arch\.cluster_(arrive|wait)\("
SECOND_LOAD = r"cute\.copy\((tma_b|copy_ab, tBgB)\b"
SYNC = r"cute\.arch\.sync_threads\(\)"


def kind(name: str, why: str, make: Make, expect: Expect = RUN) -> Kind:
    """A kind of fault in the text."""
    return Kind(name, Layer.TEXT, why, expect, make)


def is_pair(rung: Rung) -> bool:
    """Two CTAs share an instruction."""
    return rung.plan.geometry.is_pair


def in_cluster(rung: Rung) -> bool:
    """More than one CTA a cluster."""
    return rung.plan.geometry.cluster_size > 1


def is_wgmma(rung: Rung) -> bool:
    """A warpgroup multiplies into registers: a tile may have any number of instructions."""
    return rung.plan.spec.mma.kind is MmaKind.WGMMA


def loads_by_tma(rung: Rung) -> bool:
    """Operands come by TMA, which counts its bytes."""
    return rung.plan.spec.load.kind is LoadKind.TMA


def is_persistent(rung: Rung) -> bool:
    """A CTA walks over tiles."""
    return rung.plan.persistent


KINDS = (
    kind("init_dropped", "a barrier is used that nobody initialised", drop(INIT, "setup")),
    kind(
        "init_count_above",
        "the barrier waits for an arrival that never comes",
        sub(r"(mbarrier_init\(.*, )(\w+)\)", r"\1\2 + 1)", "setup"),
    ),
    kind(
        "init_count_below",
        "the phase completes one arrival early",
        sub(r"(mbarrier_init\(.*, )(\w+_ARRIVALS)\)", r"\1\2 - 1)", "setup"),
    ),
    kind(
        "init_ring_short",
        "the last slot of a ring is never initialised",
        sub(r"range_constexpr\((A\w+_STAGES)\)", r"range_constexpr(\1 - 1)", "setup"),
    ),
    kind(
        "init_by_all_lanes",
        "a barrier object is initialised 32 times over itself, which PTX leaves undefined",
        sub(r"with cute\.arch\.elect_one\(\):", "if True:", "setup"),
    ),
    kind(
        "init_by_two_warps",
        "a second warp initialises barriers that the first may have begun to use",
        only(0, sub(r"if warp_idx == 0:", "if warp_idx < 2:", "setup")),
    ),
    kind(
        "init_fence_dropped",
        "TMA and other CTAs may see the barriers as they were before their init",
        drop(r"mbarrier_init_fence\(\)", "setup"),
        ORDER,
    ),
    kind(
        "setup_barrier_dropped",
        "other warps use barriers and tensor memory before warp 0 has made them",
        drop(SYNC, "setup"),
    ),
    kind(
        "setup_cluster_barrier_dropped",
        "a CTA signals a barrier of another that has not initialised it",
        where(in_cluster, drop_together(CLUSTER, "setup")),
    ),
    kind(
        "setup_cluster_barrier_local",
        "a barrier of the CTA alone does not hold its peer back",
        then(
            sub(r"cute\.arch\.cluster_arrive\(\)", "cute.arch.sync_threads()", "setup"),
            drop(r"cute\.arch\.cluster_wait\(\)", "setup"),
        ),
    ),
    kind(
        "setup_cluster_wait_dropped",
        "arriving alone holds nobody back",
        drop(r"cute\.arch\.cluster_wait\(\)", "setup"),
    ),
    kind(
        "setup_cluster_arrive_dropped",
        "the wait is for a barrier that this CTA never joined",
        drop(r"cute\.arch\.cluster_arrive\(\)", "setup"),
    ),
    kind(
        "setup_cluster_arrive_relaxed",
        "a relaxed arrive does not publish the inits before it",
        sub(r"cluster_arrive\(\)", "cluster_arrive_relaxed()", "setup"),
        ORDER,
    ),
    kind(
        "grid_wait_dropped",
        "a dependent launch reads what the grid ahead may not have written yet",
        drop(r"griddepcontrol_wait\(\)", "setup"),
        ORDER,
    ),
    kind(
        "grid_wait_late",
        "the first load of a dependent launch comes before its wait",
        both(
            move(r"griddepcontrol_wait\(\)", SECOND_LOAD, "setup", to="producer"),
            move(r"griddepcontrol_wait\(\)", SECOND_LOAD, "setup", to="mainloop"),
        ),
        ORDER,
    ),
    kind(
        "alloc_dropped", "the accumulator is at no allocated column", drop(r"alloc_tmem\(", "setup")
    ),
    kind(
        "alloc_half",
        "the last columns of the accumulator belong to nobody",
        sub(r"alloc_tmem\(TMEM_COLUMNS", "alloc_tmem(TMEM_COLUMNS // 2", "setup"),
    ),
    kind(
        "alloc_by_two_warps",
        "two allocations, of which one is never freed, or which wait for each other",
        only(1, sub(r"if warp_idx == 0:", "if warp_idx < 2:", "setup")),
    ),
    kind(
        "alloc_before_cluster_barrier",
        "a pair allocates for both before its peer is there",
        where(is_pair, move(r"alloc_tmem\(|relinquish_tmem", r"cluster_arrive\(", "setup")),
    ),
    kind(
        "alloc_one_cta",
        "a pair's instruction needs columns that its CTA group allocated",
        sub(r"(alloc_tmem\(.*), is_two_cta=True\)", r"\1)", "setup"),
    ),
    kind(
        "alloc_after_relinquish",
        "a CTA that gave up its right to allocate may not",
        where(
            lambda rung: not is_pair(rung),
            then(
                drop(r"relinquish_tmem_alloc_permit", "setup"),
                insert(
                    r"cute\.arch\.alloc_tmem",
                    "cute.arch.relinquish_tmem_alloc_permit()",
                    "setup",
                    after=False,
                ),
            ),
        ),
    ),
    kind(
        "relinquish_dropped",
        "the CTA keeps a right to allocate that it does not use",
        drop(r"relinquish_tmem_alloc_permit", "setup"),
        NONE,
    ),
    kind(
        "tmem_address_read_early",
        "the address is read before the warp that allocates has written it",
        both(
            move(r"tmem = ", r"sync_threads\(\)", "setup"),
            where(lambda rung: not is_pair(rung), move(r"tmem = ", r"cluster_arrive\(", "setup")),
        ),
    ),
    kind(
        "dealloc_dropped",
        "tensor memory leaks: the next CTA of this SM hangs",
        drop(r"dealloc_tmem", "teardown"),
    ),
    kind(
        "dealloc_half",
        "half of the columns stay allocated",
        sub(
            r"dealloc_tmem\(tmem, TMEM_COLUMNS", "dealloc_tmem(tmem, TMEM_COLUMNS // 2", "teardown"
        ),
    ),
    kind(
        "dealloc_early",
        "columns are freed that other warps have not read",
        where(
            lambda rung: (
                "sync_threads()"
                in rung.source.partition("# --- teardown")[2].split("# --- host")[0]
            ),
            move(r"if warp_idx == 0:", SYNC, "teardown"),
        ),
    ),
    kind(
        "dealloc_before_cluster_barrier",
        "columns are freed that the CTAs of the pair or other warps still use",
        where(in_cluster, move(r"if warp_idx == 0:", r"cluster_arrive\(", "teardown")),
    ),
    kind(
        "dealloc_by_two_warps",
        "the same columns are freed twice",
        sub(r"if warp_idx == 0:", "if warp_idx < 2:", "teardown"),
    ),
    kind(
        "dealloc_one_cta",
        "what a pair allocated together is freed by one CTA alone",
        sub(r"(dealloc_tmem\(.*), is_two_cta=True\)", r"\1)", "teardown"),
    ),
    kind(
        "teardown_barrier_dropped",
        "columns are freed that other warps have not read",
        drop(SYNC, "teardown"),
    ),
    kind(
        "trailing_cluster_barrier_dropped",
        "a CTA exits while another may still signal its barriers",
        where(in_cluster, drop_together(CLUSTER, "teardown")),
    ),
    kind(
        "trailing_cluster_barrier_local",
        "a barrier of the CTA alone does not keep it while its peer signals it",
        then(
            sub(r"cute\.arch\.cluster_arrive\(\)", "cute.arch.sync_threads()", "teardown"),
            drop(r"cute\.arch\.cluster_wait\(\)", "teardown"),
        ),
    ),
    kind(
        "trailing_cluster_wait_dropped",
        "arriving alone keeps no CTA from leaving",
        drop(r"cute\.arch\.cluster_wait\(\)", "teardown"),
    ),
    kind(
        "fence_before_teardown_dropped",
        "the reads of tensor memory are not ordered before the barrier after which it is freed",
        drop(r"BEFORE_THREAD_SYNC", "teardown"),
        ORDER,
    ),
    kind(
        "fence_after_teardown_dropped",
        "the dealloc is not ordered after the barrier that the reads came before",
        drop(r"AFTER_THREAD_SYNC", "teardown"),
        ORDER,
    ),
)
