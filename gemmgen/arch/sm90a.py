"""sm_90a: Hopper (H100, H200)."""

from __future__ import annotations

from gemmgen.arch import common
from gemmgen.arch.facts import ArchFacts, MmaRule
from gemmgen.terms import Arch, Dtype, MmaKind

# PTX ISA, wgmma matrix shapes: m64nNkK with N = 8 .. 256 in steps of 8, K 32 bytes of a row.
_DTYPES = (Dtype.F16, Dtype.BF16, Dtype.TF32, Dtype.E4M3, Dtype.E5M2)
_WGMMA = MmaRule(MmaKind.WGMMA, 1, 64, 8, 256, 8, 32, _DTYPES, "PTX ISA, wgmma matrix shapes")

FACTS = ArchFacts(
    arch=Arch.SM90A,
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
    tmem=None,
    mma=(_WGMMA,),
)
