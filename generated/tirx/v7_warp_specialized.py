# spec: specs/tirx/v7_warp_specialized.toml
# digest: sha256:29260ecb750cf83f402597cc5ad965d8ca592d9048afaa89ce9a25da0bf4dfb2
# partials:
#   imports storage tile_order signature setup work=work_grouped k_tiles
#   operand_buffers=buffers_swizzled output_buffers allocate=allocate_cta init producer
#   producer_walk partition=partition_cta arm=arm_cta copy=copy_cta next_stage mma mma_walk
#   next_slot=next_slot_single tiled_mma accumulator=accumulator_single issue=issue_blocks
#   epilogue=epilogue_walk tmem_load=tmem_load_single registers=registers_one
#   output=output_partition chunks=chunks_serial store_chunk=store_chunk_tma reuse_chunk
#   release_chunk=release_last release=release_threads arrive=arrive_cta drain_stores
#   teardown=teardown_cta host operand_layouts=layouts_swizzled tma_atoms=tma_cta
#   output_tensor=output_tma check_problem extents=extents_multiple main
#   main_arguments=main_arguments_persistent
"""D = A @ B.T: Warp specialization.

Against v6_persistent: a producer warp, an mma warp and a warpgroup that writes back.

Loads, MMAs and writeback no longer wait for each other by program order. The gain waits for a
deeper ring: with two stages the producer is never more than one k_tile ahead, as it was, and
with one accumulator the MMAs of the next tile start only when this one has been read.
"""

import sys

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
from cutlass._mlir.dialects import nvvm
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.cute.runtime import from_dlpack

# --- constants ---
ARCH = "sm_100a"
TILE_M, TILE_N, TILE_K = 128, 128, 64  # output tile of a CTA, step along K
MMA_M, MMA_N, MMA_K = 128, 128, 16  # one tcgen05.mma
K_BLOCKS = TILE_K // MMA_K  # 64 / 16 = 4 MMAs a k_tile
AB_STAGES = 2
AB_BYTES = (TILE_M + TILE_N) * TILE_K * 2  # (128 + 128) x 64 x 2 = 32_768
LD2MMA_ARRIVALS = 128  # the threads of 4 epilogue warps
EPI_N = 64  # accumulator columns that a thread reads at a time
EPI_CHUNKS = TILE_N // EPI_N  # 128 / 64 = 2
D_SPAN = 64  # values in the 128 bytes that the swizzle of D permutes
D_STAGES = 2  # chunks of D staged in shared memory
D_BYTES = TILE_M * EPI_N * 2  # 16_384: a staged chunk
TMEM_COLUMNS = TILE_N  # one f32 accumulator of 128 columns
TMEM_LANE = 1 << 16  # a TMEM address is lane << 16 | column
THREADS = 256  # 8 warps
PRODUCER_WARP = 7
MMA_WARP = 4
EPILOGUE_WARPS = 4
WARPGROUP = 128  # threads of a warpgroup: each has a lane of tensor memory, a row of D
D_BARRIER = 1  # before and after a chunk of D is filled
GROUP_M = 8  # rows of tiles that are walked before the next column: they share B in L2

assert TILE_K * 2 == 128, "the 128-byte swizzle needs rows of 64 f16 values"
assert AB_BYTES * AB_STAGES + D_BYTES * D_STAGES + 1_024 <= 232_448, "over shared memory"
assert TMEM_COLUMNS <= 512, "the accumulator must fit in tensor memory"

# --- barriers: who arrives (arrivals) -> who waits, first on which phase ---
#   tma2mma[2]    producer: expect_tx, TMA bytes (1)         -> mma, 0
#   mma2tma[2]    mma: tcgen05.commit (1)                    -> producer, 1: pre-armed
#   mma2ld        mma: tcgen05.commit (1)                    -> epilogue, 0
#   ld2mma        epilogue: every thread (128)               -> mma, 1: pre-armed
# D_BARRIER: the warps of an accumulator meet before and after they fill D.
# Phases run on across tiles: a barrier knows laps of its ring, not tiles.


# --- storage: shared memory of one CTA ---
@cute.struct
class SharedStorage:
    tma2mma: cute.struct.MemRange[cutlass.Int64, AB_STAGES]
    mma2tma: cute.struct.MemRange[cutlass.Int64, AB_STAGES]
    mma2ld: cute.struct.MemRange[cutlass.Int64, 1]
    ld2mma: cute.struct.MemRange[cutlass.Int64, 1]
    tmem_slot: cutlass.Int32  # where tcgen05.alloc leaves the TMEM address
    # 1024-byte alignment: the swizzle repeats every 8 rows of 128 bytes.
    a: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, AB_STAGES * TILE_M * TILE_K], 1024]
    b: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, AB_STAGES * TILE_N * TILE_K], 1024]
    d: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, D_STAGES * TILE_M * EPI_N], 1024]


# --- scheduler: the order in which tiles are walked ---
def tile_at(tile, m_tiles, n_tiles):
    """Row and column of a tile: GROUP_M rows at a time, down each column of the group."""
    first = tile // (GROUP_M * n_tiles) * GROUP_M
    rows = cutlass.min(GROUP_M, m_tiles - first)  # the last group may have fewer
    inside = tile - first * n_tiles
    return first + inside % rows, inside // rows


@cute.kernel
def gemm_kernel(
    tma_a: cute.CopyAtom,
    mA: cute.Tensor,  # (M, K) in TMA coordinates
    a_smem: cute.ComposedLayout,
    tma_b: cute.CopyAtom,
    mB: cute.Tensor,  # (N, K) in TMA coordinates
    b_smem: cute.ComposedLayout,
    tma_d: cute.CopyAtom,
    mD: cute.Tensor,  # (M, N) in TMA coordinates
    d_smem: cute.ComposedLayout,
):
    # --- setup ---
    thread_idx, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    _, _, cta = cute.arch.block_idx()
    _, _, ctas = cute.arch.grid_dim()
    m_tiles, n_tiles = mD.shape[0] // TILE_M, mD.shape[1] // TILE_N
    tiles = m_tiles * n_tiles  # this CTA takes every ctas-th
    k_tiles = cute.ceil_div(mA.shape[1], TILE_K)  # TMA fills what lies past K with zeros

    smem = SharedStorage(cute.arch.get_dyn_smem(cutlass.Int8, alignment=1024))
    tma2mma = smem.tma2mma.data_ptr()
    mma2tma = smem.mma2tma.data_ptr()
    mma2ld = smem.mma2ld.data_ptr()
    ld2mma = smem.ld2mma.data_ptr()
    # The swizzle goes on the pointer; the layout stays affine.
    sA = cute.make_tensor(cute.recast_ptr(smem.a.data_ptr(), a_smem.inner), a_smem.outer)
    sB = cute.make_tensor(cute.recast_ptr(smem.b.data_ptr(), b_smem.inner), b_smem.outer)
    sD = cute.make_tensor(cute.recast_ptr(smem.d.data_ptr(), d_smem.inner), d_smem.outer)

    if warp_idx == 0:
        cpasync.prefetch_descriptor(tma_a)
        cpasync.prefetch_descriptor(tma_b)
        cpasync.prefetch_descriptor(tma_d)
        with cute.arch.elect_one():
            for stage in cutlass.range_constexpr(AB_STAGES):
                cute.arch.mbarrier_init(tma2mma + stage, 1)  # the expect_tx of a load
                cute.arch.mbarrier_init(mma2tma + stage, 1)  # a commit
            cute.arch.mbarrier_init(mma2ld, 1)  # a commit
            cute.arch.mbarrier_init(ld2mma, LD2MMA_ARRIVALS)  # every thread
        cute.arch.mbarrier_init_fence()  # TMA and the tensor core see the counts too
        cute.arch.alloc_tmem(TMEM_COLUMNS, smem.tmem_slot)
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, smem.tmem_slot)

    # --- producer: TMA loads into the A/B ring ---
    if warp_idx == PRODUCER_WARP:
        gA = cute.local_tile(mA, (TILE_M, TILE_K), (None, None))  # (row, k, m_tile, k_tile)
        gB = cute.local_tile(mB, (TILE_N, TILE_K), (None, None))
        tAsA, tAgA = cpasync.tma_partition(
            tma_a, 0, cute.make_layout(1), cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2)
        )
        tBsB, tBgB = cpasync.tma_partition(
            tma_b, 0, cute.make_layout(1), cute.group_modes(sB, 0, 2), cute.group_modes(gB, 0, 2)
        )
        stage, phase = 0, 1  # a fresh barrier passes phase 1: the first lap does not wait
        for tile in cutlass.range(cta, tiles, ctas, unroll=1):
            m_tile, n_tile = tile_at(tile, m_tiles, n_tiles)
            for k_tile in cutlass.range(k_tiles, unroll=1):
                full = tma2mma + stage
                cute.arch.mbarrier_wait(mma2tma + stage, phase)
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(full, AB_BYTES)
                cute.copy(tma_a, tAgA[None, m_tile, k_tile], tAsA[None, stage], tma_bar_ptr=full)
                cute.copy(tma_b, tBgB[None, n_tile, k_tile], tBsB[None, stage], tma_bar_ptr=full)
                stage += 1
                if stage == AB_STAGES:
                    stage = 0
                    phase ^= 1  # a barrier is reused once a lap
        for _ in cutlass.range(AB_STAGES, unroll=1):  # a lap more: no commit is under way at exit
            cute.arch.mbarrier_wait(mma2tma + stage, phase)
            stage += 1
            if stage == AB_STAGES:
                stage = 0
                phase ^= 1  # a barrier is reused once a lap

    # --- mma: from the A/B ring into tensor memory ---
    if warp_idx == MMA_WARP:
        tiled_mma = cute.make_tiled_mma(
            tcgen05.MmaF16BF16Op(
                cutlass.Float16,
                cutlass.Float32,
                (MMA_M, MMA_N, MMA_K),
                tcgen05.CtaGroup.ONE,
                tcgen05.OperandSource.SMEM,
                tcgen05.OperandMajorMode.K,
                tcgen05.OperandMajorMode.K,
            )
        )
        # Shared-memory descriptors, one a k_block of a stage
        tCrA = tiled_mma.make_fragment_A(cute.tiled_divide(sA, (TILE_M, MMA_K)))
        tCrB = tiled_mma.make_fragment_B(cute.tiled_divide(sB, (TILE_N, MMA_K)))
        acc_layout = cute.make_layout(((WARPGROUP, TILE_N), 1, 1), stride=((TMEM_LANE, 1), 0, 0))
        tCtAcc = cute.make_tensor(tmem, acc_layout)
        stage, phase = 0, 0
        acc_phase = 1  # pre-armed: the accumulator starts empty
        for _ in cutlass.range(cta, tiles, ctas, unroll=1):
            cute.arch.mbarrier_wait(ld2mma, acc_phase)
            nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
            for k_tile in cutlass.range(k_tiles, unroll=1):
                full = tma2mma + stage
                cute.arch.mbarrier_wait(full, phase)
                nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
                for k_block in cutlass.range_constexpr(K_BLOCKS):
                    # The first MMA of a tile overwrites the accumulator, the others add to it.
                    tiled_mma.set(tcgen05.Field.ACCUMULATE, k_tile + k_block != 0)
                    a_block = tCrA[None, None, k_block, stage]
                    b_block = tCrB[None, None, k_block, stage]
                    cute.gemm(tiled_mma, tCtAcc, a_block, b_block, tCtAcc)
                with cute.arch.elect_one():
                    # Arrives once these MMAs have read the stage.
                    tcgen05.commit(mma2tma + stage)
                stage += 1
                if stage == AB_STAGES:
                    stage = 0
                    phase ^= 1  # a barrier is reused once a lap
            with cute.arch.elect_one():
                tcgen05.commit(mma2ld)
            acc_phase ^= 1

    # --- epilogue: tensor memory -> registers -> shared memory -> global memory ---
    if warp_idx < EPILOGUE_WARPS:
        # Warp w reads 32 lanes from 32 (w % 4) on; a lane is a row: thread t has row t % 128.
        chunk_layout = cute.make_layout(
            (WARPGROUP, EPI_N, EPI_CHUNKS), stride=(TMEM_LANE, 1, EPI_N)
        )
        tAcc = cute.make_tensor(tmem, chunk_layout)
        load_atom = cute.make_copy_atom(
            tcgen05.Ld32x32bOp(tcgen05.Repetition(EPI_N)), cutlass.Float32
        )
        tmem_load = tcgen05.make_tmem_copy(load_atom, tAcc[None, None, 0])
        tAcc = tmem_load.get_slice(thread_idx % WARPGROUP).partition_S(tAcc)
        rAcc = cute.make_rmem_tensor(((EPI_N, 1), 1, 1), cutlass.Float32)
        rD = cute.make_rmem_tensor(EPI_N, cutlass.Float16)
        gD = cute.local_tile(mD, (WARPGROUP, EPI_N), (None, None))  # (row, column, m_tile, chunk)
        tDsD, tDgD = cpasync.tma_partition(
            tma_d, 0, cute.make_layout(1), cute.group_modes(sD, 0, 2), cute.group_modes(gD, 0, 2)
        )
        acc_phase = 0
        for tile in cutlass.range(cta, tiles, ctas, unroll=1):
            m_tile, n_tile = tile_at(tile, m_tiles, n_tiles)
            cute.arch.mbarrier_wait(mma2ld, acc_phase)
            nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
            for chunk in cutlass.range_constexpr(EPI_CHUNKS):
                cute.copy(tmem_load, tAcc[None, None, None, chunk], rAcc)
                cute.arch.fence_view_async_tmem_load()  # tcgen05.wait::ld
                if cutlass.const_expr(chunk + 1 == EPI_CHUNKS):
                    # This thread has read its row of the accumulator.
                    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.BEFORE_THREAD_SYNC)
                    cute.arch.mbarrier_arrive(ld2mma)
                rD.store(rAcc.load().to(cutlass.Float16))
                if warp_idx % 4 == 0:  # the last store from this buffer has read it
                    cute.arch.cp_async_bulk_wait_group(D_STAGES - 1, read=True)
                cute.arch.barrier(barrier_id=D_BARRIER, number_of_threads=WARPGROUP)
                cute.autovec_copy(rD, sD[thread_idx, None, chunk])
                cute.arch.fence_proxy("async.shared", space="cta")  # TMA reads what threads wrote
                cute.arch.barrier(barrier_id=D_BARRIER, number_of_threads=WARPGROUP)
                if warp_idx % 4 == 0:
                    with cute.arch.elect_one():  # unlike a load, a store needs it
                        d_tile = tDgD[None, m_tile, n_tile * EPI_CHUNKS + chunk]
                        cute.copy(tma_d, tDsD[None, chunk], d_tile)
                    cute.arch.cp_async_bulk_commit_group()
            acc_phase ^= 1
        if warp_idx % 4 == 0:  # no store still reads shared memory when the CTA exits
            cute.arch.cp_async_bulk_wait_group(0, read=True)

    # --- teardown ---
    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.BEFORE_THREAD_SYNC)
    cute.arch.sync_threads()  # every warp has read its lanes
    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
    if warp_idx == 0:
        cute.arch.dealloc_tmem(tmem, TMEM_COLUMNS)


# --- host: launch ---
# ptxas treats a kernel whose symbol contains "cutlass" differently.
gemm_kernel.set_name_prefix("gemm_kernel", remove_cutlass_symbol=True, keep_mangled_name=False)


@cute.jit
def gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
    max_active_clusters: cutlass.Int32,
    stream: cuda.CUstream,
):
    # Operand buffers: a row is 128 bytes, its 16-byte chunk c sits at c ^ r % 8.
    swizzle = cute.make_swizzle(3, 4, 3)
    a_rows = cute.make_layout((TILE_M, TILE_K, AB_STAGES), stride=(TILE_K, 1, TILE_M * TILE_K))
    b_rows = cute.make_layout((TILE_N, TILE_K, AB_STAGES), stride=(TILE_K, 1, TILE_N * TILE_K))
    a_smem = cute.make_composed_layout(swizzle, 0, a_rows)
    b_smem = cute.make_composed_layout(swizzle, 0, b_rows)
    load_op = cpasync.CopyBulkTensorTileG2SOp()
    tma_a, mA = cpasync.make_tiled_tma_atom(load_op, a, a_smem, (TILE_M, TILE_K))
    tma_b, mB = cpasync.make_tiled_tma_atom(load_op, b, b_smem, (TILE_N, TILE_K))
    # D: chunks of (row, column), swizzled so that a warp writes them without bank conflicts.
    m, n = d.shape
    d_rows = cute.make_layout(
        (TILE_M, (D_SPAN, EPI_N // D_SPAN), D_STAGES),
        stride=(D_SPAN, (1, TILE_M * D_SPAN), TILE_M * EPI_N),
    )
    d_smem = cute.make_composed_layout(swizzle, 0, d_rows)
    store_op = cpasync.CopyBulkTensorTileS2GOp()
    tma_d, mD = cpasync.make_tiled_tma_atom(store_op, d, d_smem, (WARPGROUP, EPI_N))
    ctas = cutlass.min((m // TILE_M) * (n // TILE_N), max_active_clusters)
    gemm_kernel(tma_a, mA, a_smem, tma_b, mB, b_smem, tma_d, mD, d_smem).launch(
        grid=(1, 1, ctas),
        block=(THREADS, 1, 1),
        smem=SharedStorage.size_in_bytes(),
        stream=stream,
    )


class UnsupportedProblem(ValueError):
    """A problem that this kernel would get wrong; the message names the rule."""


def check_problem(a, b, d):
    """Raise UnsupportedProblem, before any launch, unless D = A @ B.T is a problem for `gemm`."""
    for name, t in (("A", a), ("B", b), ("D", d)):
        if len(t.shape) != 2:
            raise UnsupportedProblem(f"{name} has {len(t.shape)} dimensions: a matrix has 2")
        if str(t.dtype).removeprefix("torch.") != "float16":
            raise UnsupportedProblem(f"{name} is {t.dtype}: this kernel takes float16")
    (m, k), n = a.shape, b.shape[0]
    if b.shape[1] != k or tuple(d.shape) != (m, n):
        shapes = ", ".join(str(tuple(t.shape)) for t in (a, b, d))
        raise UnsupportedProblem(f"shapes {shapes}: expected A (M, K), B (N, K), D (M, N)")
    if not 0 < min(m, n, k) <= max(m, n, k) < 2**31:
        raise UnsupportedProblem(f"M, N, K = {m}, {n}, {k}: each must be in 1 ... 2^31 - 1")
    m_step, n_step = TILE_M, TILE_N
    if m % m_step or n % n_step:
        raise UnsupportedProblem(f"M, N = {m}, {n}: must be multiples of {m_step}, {n_step}")
    if k % 8:
        raise UnsupportedProblem(f"K = {k}: TMA needs rows of a multiple of 16 bytes, K % 8 == 0")
    for name, t in (("A", a), ("B", b), ("D", d)):
        row_stride, inner_stride = t.stride()
        if inner_stride != 1:
            raise UnsupportedProblem(f"{name} has inner stride {inner_stride}: it must be 1")
        if row_stride < t.shape[1]:
            raise UnsupportedProblem(
                f"{name} row stride {row_stride}: expanded or overlapping rows"
            )
        if row_stride % 8 or t.data_ptr() % 16:
            raise UnsupportedProblem(f"{name}: rows must start on multiples of 16 bytes")
    if len({str(t.device) for t in (a, b, d)}) != 1:
        devices = f"{a.device}, {b.device}, {d.device}"
        raise UnsupportedProblem(f"A, B, D are on {devices}: one device only")


def main(argv):
    import torch

    if len(argv) != 3 or not all(size.isdecimal() for size in argv):
        sys.exit(f"usage: python {sys.argv[0]} M N K")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (10, 0):
        sys.exit(f"this kernel needs an {ARCH} GPU; `gemmgen test` runs it without one")
    m, n, k = (int(size) for size in argv)
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(n, k, device="cuda", dtype=torch.float16)
    d = torch.full((m, n), torch.nan, device="cuda", dtype=torch.float16)
    check_problem(a, b, d)
    stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
    args = [from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=1) for t in (a, b, d)]
    hardware = cutlass.utils.HardwareInfo(torch.cuda.current_device())
    args += [cutlass.Int32(hardware.get_max_active_clusters(1)), stream]
    kernel = cute.compile(gemm, *args)
    kernel(*args)
    torch.testing.assert_close(d.float(), a.float() @ b.float().T, rtol=1e-3, atol=1e-2)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(20):
        kernel(*args)
    end.record()
    end.synchronize()
    us = start.elapsed_time(end) * 1e3 / 20
    print(f"{m} x {n} x {k}: {us:.1f} us, {2 * m * n * k / us / 1e6:.1f} TFLOP/s")


if __name__ == "__main__":
    main(sys.argv[1:])
