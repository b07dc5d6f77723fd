"""Facts that sm_90a and sm_100a share."""

from __future__ import annotations

from gemmgen.arch.facts import BarrierFacts, TmaFacts
from gemmgen.terms import Swizzle

# CUDA C++ Programming Guide, compute capabilities 9.0 and 10.0: 228 KiB of shared memory an SM, of
# which
# 1 KiB a CTA is reserved. cudaDevAttrMaxSharedMemoryPerBlockOptin reads 232448 on both.
SMEM_PER_CTA = 227 * 1024

# CUDA C++ Programming Guide, technical specifications per compute capability.
REGISTERS_PER_SM = 65536
REGISTERS_PER_THREAD = 255
THREADS_PER_CTA = 1024
THREADS_PER_WARP = 32

# PTX ISA, setmaxnreg: 24 to 256 in steps of 8, executed by all warps of a warpgroup.
REGISTER_STEP = 8
WARPS_PER_GROUP = 4

# CUDA C++ Programming Guide, thread block clusters: 8 is portable;
# cudaFuncAttributeNonPortableClusterSizeAllowed gives up to 16.
CLUSTER_PORTABLE = 8
CLUSTER_MAX = 16

# CUDA C++ Programming Guide, technical specifications: 2^31 - 1 along x, 65535 along y and z.
GRID_YZ_MAX = 65535

# PTX ISA, tensor swizzling modes: the pattern repeats every 1024, 512 and 256 bytes, and the
# buffer starts
# where a repetition does. Without swizzle the destination of a bulk tensor copy is 128-byte
# aligned.
SWIZZLE_ALIGN = ((Swizzle.NONE, 128), (Swizzle.B32, 256), (Swizzle.B64, 512), (Swizzle.B128, 1024))

# PTX ISA, mbarrier: an opaque .b64, 8-byte aligned; counts from 1 to 2^20 - 1; tx-count within
# -(2^20 - 1) .. 2^20 - 1. PTX ISA, barrier: sixteen a CTA.
BARRIER = BarrierFacts(bytes=8, arrivals_max=2**20 - 1, tx_bytes_max=2**20 - 1, named=16)

# CUDA driver API, cuTensorMapEncodeTiled: boxDim <= 256, inner extent a multiple of 16 bytes,
# globalStrides
# multiples of 16 and below 2^40, globalDim up to 2^32. PTX ISA, cp.async.bulk.tensor: 128-byte
# aligned.
TMA = TmaFacts(
    box_max=256,
    inner_bytes_multiple=16,
    stride_bytes_multiple=16,
    stride_bytes_max=2**40,
    extent_max=2**32,
    smem_align=128,
)
