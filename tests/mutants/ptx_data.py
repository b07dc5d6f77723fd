"""Faults of loads, MMAs, tensor memory and stores in the PTX."""

from __future__ import annotations

from mutants.edit import where
from mutants.model import Expect, Kind
from mutants.ptx_edit import (
    constant,
    drop,
    kind,
    scoped,
    source_of,
    sub,
    together,
    unguarded,
)
from mutants.text_setup import is_pair

RUN, ORDER, NONE = Expect.RUN, Expect.ORDER, Expect.NONE
LOAD = r"cp\.async\.bulk\.tensor"
MMA = r"tcgen05\.mma\."
COMMIT = r"tcgen05\.commit\."

LOADS: tuple[Kind, ...] = (
    kind("load_dropped", "an operand never arrives", drop(LOAD)),
    kind("load_by_all_lanes", "every lane issues the load", unguarded(LOAD)),
    kind(
        "load_16_bytes_off",
        "the load lands 16 bytes further",
        constant(r"cp\.async\.bulk\.tensor.*\[%r\d+\+(\d+)\], \[%rd", lambda n: n + 16),
    ),
    kind(
        "load_128_bytes_off",
        "the load lands one row further",
        constant(r"cp\.async\.bulk\.tensor.*\[%r\d+\+(\d+)\], \[%rd", lambda n: n + 128),
    ),
    kind(
        "load_coordinates_swapped",
        "rows are taken for columns",
        sub(r"(cp\.async\.bulk\.tensor.*\{)(%r\d+), (%r\d+)", r"\1\3, \2"),
    ),
    kind(
        "load_other_map",
        "both operands come through one tensor map",
        sub(r"cvta\.param\.u64 \t(%rd\d+), %rd1;", r"cvta.param.u64 \t\1, %rd2;"),
    ),
    kind(
        "load_row_constant",
        "the rows of another tile, always",
        scoped(
            r"(cp\.async\.bulk\.tensor.*\{%r\d+), %r\d+",
            r".reg .b32 zero; mov.b32 zero, 0; \1, zero",
        ),
    ),
    kind(
        "load_own_barrier",
        "the peer's bytes are counted on its own barrier",
        sub(r"and\.b32 (\s*%r\d+), (%r\d+), -16777224;", r"mov.b32 \1, \2;"),
    ),
    kind(
        "load_cta_group",
        "a load without a CTA group may not signal the peer",
        sub(r"(cp\.async\.bulk\.tensor.*)\.cta_group::2", r"\1"),
        ORDER,
    ),
    kind(
        "multicast_dropped",
        "the slice reaches its own CTA only",
        sub(r"(cp\.async\.bulk\.tensor.*)\.multicast::cluster(.*\]), %rs\d+", r"\1\2"),
    ),
    kind(
        "multicast_mask",
        "the slice reaches its row or column without the first CTA",
        scoped(
            r"(cp\.async\.bulk\.tensor.*\.multicast::cluster.*\], \[%r\d+\]), (%rs\d+)",
            r".reg .b16 less; and.b16 less, \2, 14; \1, less",
        ),
    ),
    kind(
        "prefetch_dropped",
        "the tensor map is fetched at its first use: slower, not wrong",
        drop(r"prefetch\.tensormap"),
        NONE,
    ),
    kind(
        "cache_hint",
        "another hint for L2: not wrong",
        source_of(r"L2::cache_hint.*, (%rd\d+);", lambda n: 1152921504606846976, 1),
        NONE,
    ),
)

DESCRIPTORS: tuple[Kind, ...] = (
    kind(
        "swizzle_bits",
        "the MMA unswizzles otherwise than TMA swizzled",
        constant(r"or\.b64 .*, (\d{15,});", lambda n: (n & ~(7 << 61)) | 4 << 61),
    ),
    kind(
        "swizzle_bits_none",
        "the MMA does not unswizzle",
        constant(r"or\.b64 .*, (\d{15,});", lambda n: n & ~(7 << 61) if n >> 61 else n | 2 << 61),
    ),
    kind(
        "stride_bytes",
        "8-row groups are another distance apart",
        constant(r"or\.b64 .*, (\d{15,});", lambda n: n + (1 << 32)),
    ),
    kind(
        "leading_bytes",
        "core matrices along K are another distance apart",
        constant(r"or\.b64 .*, (\d{15,});", lambda n: n + (1 << 16)),
        Expect.RUN,
    ),
    kind(
        "descriptor_version",
        "the descriptor is of another version",
        constant(r"or\.b64 .*, (\d{15,});", lambda n: n ^ (1 << 46)),
    ),
    kind(
        "descriptor_16_bytes_off",
        "the operand begins 16 bytes further",
        constant(r"or\.b64 .*, (\d{15,});", lambda n: n + 1),
    ),
    kind(
        "k_step",
        "the step along K is half as long",
        sub(r"(add\.s32 \t%r\d+, %r\d+), 2;", r"\1, 1;", 4),
    ),
    kind(
        "idesc_n",
        "half of the columns are multiplied",
        source_of(r"tcgen05\.mma.*, %rd\d+, %rd\d+, (%r\d+),", lambda n: n - (16 << 17), 2),
    ),
    kind(
        "idesc_m",
        "half of the rows are multiplied",
        source_of(r"tcgen05\.mma.*, %rd\d+, %rd\d+, (%r\d+),", lambda n: n - (4 << 24), 2),
    ),
    kind(
        "idesc_major",
        "B is read as if N were contiguous",
        source_of(r"tcgen05\.mma.*, %rd\d+, %rd\d+, (%r\d+),", lambda n: n ^ (1 << 16), 2),
    ),
    kind(
        "idesc_type_a",
        "A is read as bf16",
        source_of(r"tcgen05\.mma.*, %rd\d+, %rd\d+, (%r\d+),", lambda n: n ^ (1 << 7), 2),
    ),
    kind(
        "idesc_type_d",
        "the accumulator is f16",
        source_of(r"tcgen05\.mma.*, %rd\d+, %rd\d+, (%r\d+),", lambda n: n & ~(3 << 4), 2),
    ),
    kind(
        "idesc_negate",
        "A is negated",
        source_of(r"tcgen05\.mma.*, %rd\d+, %rd\d+, (%r\d+),", lambda n: n | (1 << 13), 2),
    ),
)

TENSOR: tuple[Kind, ...] = (
    kind("mma_dropped", "one step along K is left out", drop(MMA)),
    kind("mma_by_all_lanes", "32 lanes issue the MMA", unguarded(MMA, 2)),
    kind("commit_by_all_lanes", "32 arrivals for one", unguarded(COMMIT)),
    kind("arm_by_all_lanes", "32 arrivals, 32 times the bytes", unguarded(r"expect_tx")),
    kind("arrive_by_all_lanes", "32 arrivals for one", unguarded(r"mbarrier\.arrive\.release")),
    kind(
        "mma_accumulate_always",
        "the first MMA adds to what the columns held",
        scoped(
            r"(tcgen05\.mma.*\}), %p\d+;",
            r".reg .pred always; setp.eq.b32 always, 0, 0; \1, always;",
            1,
        ),
    ),
    kind(
        "mma_accumulate_never",
        "the MMA overwrites",
        scoped(
            r"(tcgen05\.mma.*\}), %p\d+;",
            r".reg .pred never; setp.ne.b32 never, 0, 0; \1, never;",
            2,
        ),
    ),
    kind(
        "mma_column",
        "the accumulator lies 16 columns further",
        scoped(r"(tcgen05\.mma\S+ )\[(%r\d+)\]", r".reg .b32 d; add.s32 d, \2, 16; \1[d]", 2),
    ),
    kind(
        "mma_cta_group",
        "one CTA multiplies what two should",
        sub(r"tcgen05\.mma\.cta_group::2", "tcgen05.mma.cta_group::1", 2),
    ),
    kind(
        "mma_operand_twice",
        "A is multiplied with itself",
        sub(r"(tcgen05\.mma\S+ \[%r\d+\], )(%rd\d+), %rd\d+", r"\1\2, \2", 2),
    ),
    kind(
        "lane_mask",
        "some lanes of D are not written",
        scoped(r"(tcgen05\.mma.*\{)(%r\d+), ", r".reg .b32 off; mov.b32 off, 255; \1off, ", 1),
    ),
    kind("commit_dropped", "nobody is told", drop(COMMIT)),
    kind(
        "commit_mask",
        "the commit reaches one CTA less",
        source_of(r"tcgen05\.commit.*, (%rs\d+);", lambda n: n & 1),
    ),
    kind(
        "commit_mask_more",
        "the commit reaches one CTA less",
        source_of(r"tcgen05\.commit.*, (%rs\d+);", lambda n: n & 2),
    ),
    kind(
        "commit_local",
        "the commit reaches its own CTA only",
        sub(r"(tcgen05\.commit.*)\.multicast::cluster(.*\]), %rs\d+", r"\1\2"),
    ),
    kind(
        "commit_other_barrier",
        "the commit arrives on the barrier beside",
        scoped(
            r"(tcgen05\.commit\S+\s+)\[([^\]+]+)(\+\d+)?\]",
            r".reg .b32 beside; mov.b32 beside, \2; add.s32 beside, beside, 8; \1[beside\3]",
        ),
    ),
    kind(
        "fence_after_dropped",
        "accesses to tensor memory are not ordered after the wait",
        drop(r"tcgen05\.fence::after_thread_sync"),
        ORDER,
    ),
    kind(
        "fence_before_dropped",
        "accesses to tensor memory are not ordered before the arrive",
        drop(r"tcgen05\.fence::before_thread_sync"),
        ORDER,
    ),
    kind(
        "wait_ld_dropped",
        "registers are used before tensor memory has written them",
        drop(r"tcgen05\.wait::ld"),
    ),
    kind(
        "wait_ld_dropped_all",
        "registers are used before tensor memory has written them",
        together(r"tcgen05\.wait::ld"),
    ),
    kind(
        "fence_after_dropped_all",
        "no access to tensor memory is ordered after a wait",
        together(r"tcgen05\.fence::after"),
        ORDER,
    ),
    kind(
        "ld_column",
        "a chunk is read one column further",
        sub(r"(tcgen05\.ld.*\[%r\d+)\]", r"\1+1]", 2),
    ),
    kind("ld_dropped", "a chunk is never read", drop(r"tcgen05\.ld\.", 2)),
    kind(
        "ld_lane",
        "a warp reads lanes that belong to another",
        sub(r"(and\.b32 \t%r\d+, %r\d+), 14680064;", r"\1, 12582912;"),
    ),
    kind(
        "alloc_columns",
        "half of the columns",
        source_of(r"tcgen05\.alloc.*, (%r\d+);", lambda n: n // 2),
    ),
    kind(
        "alloc_not_power",
        "a number of columns that cannot be allocated",
        source_of(r"tcgen05\.alloc.*, (%r\d+);", lambda n: n - 32),
    ),
    kind("alloc_dropped", "nothing is allocated", drop(r"tcgen05\.alloc")),
    kind(
        "relinquish_dropped",
        "the CTA keeps a right that it does not use",
        drop(r"tcgen05\.relinquish"),
        NONE,
    ),
    kind(
        "relinquish_cta_group",
        "what is given up is the right of another kind",
        where(is_pair, sub(r"(relinquish_alloc_permit\.cta_group::)2", r"\g<1>1")),
    ),
    kind("dealloc_dropped", "tensor memory leaks", drop(r"tcgen05\.dealloc")),
    kind(
        "dealloc_columns",
        "half of the columns leak",
        source_of(r"tcgen05\.dealloc.*, (%r\d+);", lambda n: n // 2),
    ),
    kind("store_dropped", "16 bytes of each row are never written", drop(r"st\.global", 2)),
    kind(
        "store_16_bytes_off",
        "16 bytes are written beside their place",
        constant(r"st\.global.*\+(\d+)\]", lambda n: n + 16, 2),
    ),
    kind(
        "store_past_row",
        "the guard columns are written",
        constant(r"st\.global.*\+(496)\]", lambda n: n + 16, 1),
    ),
    kind(
        "convert_swapped",
        "neighbouring columns change places",
        sub(r"(cvt\.rn\.f16x2\.f32 \t%r\d+), (%r\d+), (%r\d+);", r"\1, \3, \2;", 1),
    ),
)

KINDS = (
    *LOADS,
    *DESCRIPTORS,
    *TENSOR,
)
