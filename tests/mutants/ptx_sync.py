"""Faults of barriers in the PTX: what a compiler, or hand-written PTX, could get wrong."""

from __future__ import annotations

import re

from mutants.model import Expect, Kind
from mutants.ptx_edit import (
    constant,
    constant_offset,
    drop,
    kind,
    lines,
    scoped,
    source_of,
    sub,
)

RUN, ORDER, NONE = Expect.RUN, Expect.ORDER, Expect.NONE
WAIT = r"mbarrier\.try_wait\.parity"

BARRIERS: tuple[Kind, ...] = (
    kind(
        "init_fence_dropped",
        "TMA and other CTAs may see the barriers as they were",
        drop(r"fence\.mbarrier_init"),
        ORDER,
    ),
    kind("init_dropped", "a barrier is used that nobody initialised", drop(r"mbarrier\.init", 3)),
    kind(
        "init_count",
        "the barrier waits for an arrival that never comes",
        source_of(r"mbarrier\.init.*, (%r\d+);", lambda n: n + 1, 4),
    ),
    kind(
        "init_other_address",
        "one barrier is initialised twice and another never",
        constant(r"mbarrier\.init.*\+(\d+)\]", lambda n: n + 8, 2),
    ),
    kind(
        "wait_dropped",
        "nobody waits",
        lines(lambda line: re.sub(WAIT + r"\S+ P1, .*;", "setp.eq.b32 P1, 0, 0;", line), WAIT),
    ),
    kind(
        "wait_inverted",
        "each wait names the other phase",
        scoped(
            r"(mbarrier\.try_wait\.parity\S+ P1, \[\S+\], )(\w+|%r\d+), 10000000;",
            r".reg .b32 other; xor.b32 other, \2, 1; \1other, 10000000;",
        ),
    ),
    kind(
        "wait_not_looped", "a wait that times out counts as passed", drop(r"bra\.uni     LAB_WAIT")
    ),
    kind(
        "wait_other_barrier",
        "the wait looks at the barrier beside",
        constant_offset(r"try_wait\.parity\S+ P1, \["),
    ),
    kind(
        "phase_not_flipped",
        "the phase stays",
        sub(r"xor\.b32 (\s*%r\d+), (%r\d+), %r\d+;", r"mov.b32 \1, \2;"),
    ),
    kind(
        "arm_bytes_above",
        "the barrier waits for bytes that never come",
        source_of(r"expect_tx.*, (%r\d+);", lambda n: n + 16),
    ),
    kind(
        "arm_bytes_below",
        "the barrier completes 16 bytes early",
        source_of(r"expect_tx.*, (%r\d+);", lambda n: n - 16),
    ),
    kind("arm_dropped", "nobody announces the bytes", drop(r"mbarrier\.arrive\.expect_tx")),
    kind(
        "arrive_dropped",
        "the slot is never given back",
        drop(r"mbarrier\.arrive\.release\.cluster"),
    ),
    kind(
        "arrive_count",
        "one thread arrives for two",
        source_of(r"mbarrier\.arrive\.release\.cluster.*, (%r\d+);", lambda n: n + 1),
    ),
    kind(
        "arrive_scope",
        "an arrive of CTA scope orders nothing for another CTA",
        sub(r"mbarrier\.arrive\.release\.cluster", "mbarrier.arrive.release.cta"),
        ORDER,
    ),
    kind(
        "arrive_relaxed",
        "a relaxed arrive publishes nothing",
        sub(r"mbarrier\.arrive\.release\.cluster", "mbarrier.arrive.relaxed.cluster"),
        ORDER,
    ),
    kind(
        "arrive_other_rank",
        "the arrive goes to the peer",
        sub(r"(mapa\.shared::cluster\.u32\s+%r\d+, %r\d+), 0;", r"\1, 1;"),
    ),
    kind("cta_barrier_dropped", "warps of a CTA do not wait for each other", drop(r"bar\.sync")),
    kind(
        "cta_barrier_other",
        "half of the warps meet at another barrier",
        sub(r"bar\.sync \t1, 128;", "bar.sync 2, 160;"),
    ),
    kind(
        "cluster_arrive_dropped",
        "the wait is for a barrier that this CTA never joined",
        drop(r"barrier\.cluster\.arrive"),
    ),
    kind(
        "cluster_wait_dropped", "arriving alone holds nobody back", drop(r"barrier\.cluster\.wait")
    ),
    kind(
        "cluster_arrive_relaxed",
        "a relaxed arrive publishes nothing",
        sub(r"barrier\.cluster\.arrive;", "barrier.cluster.arrive.relaxed;"),
        ORDER,
    ),
)

KINDS = (*BARRIERS,)
