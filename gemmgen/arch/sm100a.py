"""sm_100a: datacentre Blackwell (B200)."""

from __future__ import annotations

from gemmgen.arch import common
from gemmgen.arch.facts import ArchFacts, MmaRule, TmemFacts
from gemmgen.terms import Arch, Dtype, MmaKind

# PTX ISA, tcgen05 matrix shapes. K is 32 bytes of a row for every dense kind.
_SHAPES = "PTX ISA, tcgen05 matrix shapes"
_16BIT = (Dtype.F16, Dtype.BF16)
_8BIT = (Dtype.E4M3, Dtype.E5M2)


def _rules(dtypes: tuple[Dtype, ...], kind: str) -> tuple[MmaRule, ...]:
    rows = ((1, 64, 8), (1, 128, 16), (2, 128, 16), (2, 256, 16))
    source = f"{_SHAPES}, .kind::{kind}"
    return tuple(
        MmaRule(MmaKind.TCGEN05, group, m, step, 256, step, 32, dtypes, source)
        for group, m, step in rows
    )


FACTS = ArchFacts(
    arch=Arch.SM100A,
    smem_per_cta=common.SMEM_PER_CTA,
    registers_per_sm=common.REGISTERS_PER_SM,
    registers_per_thread=common.REGISTERS_PER_THREAD,
    register_step=common.REGISTER_STEP,
    threads_per_cta=common.THREADS_PER_CTA,
    threads_per_warp=common.THREADS_PER_WARP,
    warps_per_group=common.WARPS_PER_GROUP,
    cluster_portable=common.CLUSTER_PORTABLE,
    cluster_max=common.CLUSTER_MAX,
    grid_yz_max=common.GRID_YZ_MAX,
    swizzle_align=common.SWIZZLE_ALIGN,
    barrier=common.BARRIER,
    tma=common.TMA,
    # PTX ISA, Tensor Memory: 128 lanes of 512 32-bit columns an SM; tcgen05.alloc takes a power of
    # two from
    # 32; a warp reads the 32 lanes of its rank in its warpgroup.
    tmem=TmemFacts(lanes=128, columns=512, alloc_min=32, column_bytes=4, lanes_per_warp=32),
    mma=_rules(_16BIT, "f16") + _rules((Dtype.TF32,), "tf32") + _rules(_8BIT, "f8f6f4"),
)
