# spec: specs/combined/v8_two_consumers.toml
# digest: sha256:eb9ddae88f0a809c8b12ec628c07c40524a460d084daeb4ac95d292c5a4ab6f6
# partials:
#   imports storage signature setup work=work_persistent ranks=ranks_pair k_tiles
#   operand_buffers=buffers_swizzled allocate=allocate_pair init own_slot producer producer_walk
#   partition=partition_cta arm=arm_pair copy=copy_pair next_stage mma mma_walk
#   next_slot=next_slot_single own_a tiled_mma accumulator=accumulator_single issue=issue_blocks
#   epilogue=epilogue_walk tmem_load=tmem_load_single registers=registers_one output=registers_held
#   tile_output chunks=chunks_serial release_tile=release_thread arrive=arrive_leader store_tile
#   teardown=teardown_pair host operand_layouts=layouts_swizzled tma_atoms=tma_cta
#   output_tensor=output_gmem check_problem extents=extents_multiple main
#   main_arguments=main_arguments_persistent
"""D = A @ B.T: Persistent CTAs with two consumers.

The kernel of v8_persistent with two mma warps: 512 x 256 a pair, one accumulator for each; and
16 columns of it read at a time, into one register buffer, where v8_persistent reads 64 into
two.

B is loaded once for two MMAs, so a stage brings 96 KiB for what takes two of 64: a quarter less
traffic into shared memory. The two accumulators fill tensor memory, so neither is
double-buffered: each waits for its own epilogue. 352 threads have 168 registers each, too few
for the row of D that each holds and more than 16 columns of the accumulator.
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
TILE_M, TILE_N, TILE_K = 256, 256, 64  # output tile of a CTA, step along K
MMA_M, MMA_N, MMA_K = 256, 256, 16  # one tcgen05.mma of the CTA pair
K_BLOCKS = TILE_K // MMA_K  # 64 / 16 = 4 MMAs a k_tile
CLUSTER_M, CLUSTER_N = 2, 1  # rank of a CTA: cta_m + CLUSTER_M x cta_n
PAIR_MASK = 0b11  # the leader CTA and its peer
B_ROWS = TILE_N // 2  # 256 / 2 = 128: each CTA of the pair stages half of B
CONSUMERS = 2  # mma warps: each has its rows of A, all share B
AB_STAGES = 4
AB_BYTES = 2 * (TILE_M + B_ROWS) * TILE_K * 2  # 2 CTAs x (256 + 128) x 64 x 2 = 98_304
ACC_EMPTY_ARRIVALS = 2  # 1 from each CTA of the pair
EPI_N = 16  # accumulator columns that a thread reads at a time
EPI_CHUNKS = TILE_N // EPI_N  # 256 / 16 = 16
TMEM_COLUMNS = CONSUMERS * TILE_N  # 2 x 256 = 512
TMEM_LANE = 1 << 16  # a TMEM address is lane << 16 | column
THREADS = 352  # 11 warps
PRODUCER_WARP = 10
MMA_WARP = 8
EPILOGUE_WARPS = 8
WARPGROUP = 128  # threads of a warpgroup: each has a lane of tensor memory, a row of D
EPILOGUE_BARRIER = 1  # every epilogue warp of a consumer has read its accumulator

assert TILE_K * 2 == 128, "the 128-byte swizzle needs rows of 64 f16 values"
assert AB_BYTES // 2 * AB_STAGES + 1_024 <= 232_448, "the A and B buffers must fit in shared memory"
assert TMEM_COLUMNS <= 512, "the accumulator must fit in tensor memory"

# --- barriers: who arrives (arrivals) -> who waits, first on which phase ---
#   ab_full[4]    producer: expect_tx, TMA bytes, on the leader (1) -> mma, 0
#   ab_empty[4]   mma: tcgen05.commit to both CTAs (2)              -> producer, 1: pre-armed
#   acc_full[2]   mma: tcgen05.commit to both CTAs (1)              -> epilogue, 0
#   acc_empty[2]  epilogue: one thread, on the leader (2)           -> mma, 1: pre-armed
# EPILOGUE_BARRIER gathers a consumer's epilogue warps before its one arrive on acc_empty.
# Each consumer has its own: EPILOGUE_BARRIER + consumer.
# Phases run on across tiles: a barrier knows laps of its ring, not tiles.


# --- storage: shared memory of one CTA ---
@cute.struct
class SharedStorage:
    ab_full: cute.struct.MemRange[cutlass.Int64, AB_STAGES]
    ab_empty: cute.struct.MemRange[cutlass.Int64, AB_STAGES]
    acc_full: cute.struct.MemRange[cutlass.Int64, CONSUMERS]
    acc_empty: cute.struct.MemRange[cutlass.Int64, CONSUMERS]
    tmem_slot: cutlass.Int32  # where tcgen05.alloc leaves the TMEM address
    # 1024-byte alignment: the swizzle repeats every 8 rows of 128 bytes.
    a: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, AB_STAGES * TILE_M * TILE_K], 1024]
    b: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, AB_STAGES * B_ROWS * TILE_K], 1024]


@cute.kernel
def gemm_kernel(
    tma_a: cute.CopyAtom,
    mA: cute.Tensor,  # (M, K) in TMA coordinates
    a_smem: cute.ComposedLayout,
    tma_b: cute.CopyAtom,
    mB: cute.Tensor,  # (N, K) in TMA coordinates
    b_smem: cute.ComposedLayout,
    mD: cute.Tensor,  # (M, N) in global memory
):
    # --- setup ---
    thread_idx, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    _, _, cluster = cute.arch.block_idx()
    _, _, clusters = cute.arch.grid_dim()
    m_tiles = mD.shape[0] // (TILE_M * CLUSTER_M)
    tiles = m_tiles * (mD.shape[1] // TILE_N)  # down M first; this cluster takes every clusters-th
    cta_rank = cute.arch.block_idx_in_cluster()
    is_leader = cta_rank == 0
    k_tiles = cute.ceil_div(mA.shape[1], TILE_K)  # TMA fills what lies past K with zeros

    smem = SharedStorage(cute.arch.get_dyn_smem(cutlass.Int8, alignment=1024))
    ab_full = smem.ab_full.data_ptr()
    ab_empty = smem.ab_empty.data_ptr()
    acc_full = smem.acc_full.data_ptr()
    acc_empty = smem.acc_empty.data_ptr()
    # The swizzle goes on the pointer; the layout stays affine.
    sA = cute.make_tensor(cute.recast_ptr(smem.a.data_ptr(), a_smem.inner), a_smem.outer)
    sB = cute.make_tensor(cute.recast_ptr(smem.b.data_ptr(), b_smem.inner), b_smem.outer)

    if warp_idx == 0:
        cpasync.prefetch_descriptor(tma_a)
        cpasync.prefetch_descriptor(tma_b)
        with cute.arch.elect_one():
            for stage in cutlass.range_constexpr(AB_STAGES):
                cute.arch.mbarrier_init(ab_full + stage, 1)  # the expect_tx of a load
                cute.arch.mbarrier_init(ab_empty + stage, CONSUMERS)  # commits
            for consumer in cutlass.range_constexpr(CONSUMERS):
                cute.arch.mbarrier_init(acc_full + consumer, 1)  # a commit
                cute.arch.mbarrier_init(
                    acc_empty + consumer, ACC_EMPTY_ARRIVALS
                )  # one arrive a CTA
        cute.arch.mbarrier_init_fence()  # TMA and the tensor core see the counts too
    # No CTA signals a barrier of its peer, or allocates for both, before the peer is set up.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if warp_idx == 0:
        cute.arch.alloc_tmem(TMEM_COLUMNS, smem.tmem_slot, is_two_cta=True)
        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=True)
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, smem.tmem_slot)
    consumer = warp_idx // 4 if warp_idx < MMA_WARP else warp_idx - MMA_WARP  # >= CONSUMERS: unused
    acc_full, acc_empty, tmem = acc_full + consumer, acc_empty + consumer, tmem + consumer * TILE_N

    # --- producer: TMA loads into the A/B ring ---
    if warp_idx == PRODUCER_WARP:
        gA = cute.local_tile(mA, (TILE_M, TILE_K), (None, None))  # (row, k, m_tile, k_tile)
        gB = cute.local_tile(mB, (B_ROWS, TILE_K), (None, None))
        tAsA, tAgA = cpasync.tma_partition(
            tma_a, 0, cute.make_layout(1), cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2)
        )
        tBsB, tBgB = cpasync.tma_partition(
            tma_b, 0, cute.make_layout(1), cute.group_modes(sB, 0, 2), cute.group_modes(gB, 0, 2)
        )
        stage, phase = 0, 1  # a fresh barrier passes phase 1: the first lap does not wait
        for tile in cutlass.range(cluster, tiles, clusters, unroll=1):
            m_tile = CLUSTER_M * (tile % m_tiles) + cta_rank
            b_tile = 2 * (tile // m_tiles) + cta_rank  # the half of B that this CTA stages
            for k_tile in cutlass.range(k_tiles, unroll=1):
                full = ab_full + stage
                cute.arch.mbarrier_wait(ab_empty + stage, phase)
                if is_leader:  # it counts the bytes of both CTAs
                    with cute.arch.elect_one():
                        cute.arch.mbarrier_arrive_and_expect_tx(full, AB_BYTES)
                # A two-CTA load signals the leader's barrier, whichever CTA issues it.
                cute.copy(tma_a, tAgA[None, m_tile, k_tile], tAsA[None, stage], tma_bar_ptr=full)
                cute.copy(tma_b, tBgB[None, b_tile, k_tile], tBsB[None, stage], tma_bar_ptr=full)
                stage += 1
                if stage == AB_STAGES:
                    stage = 0
                    phase ^= 1  # a barrier is reused once a lap
        for _ in cutlass.range(AB_STAGES, unroll=1):  # a lap more: no commit is under way at exit
            cute.arch.mbarrier_wait(ab_empty + stage, phase)
            stage += 1
            if stage == AB_STAGES:
                stage = 0
                phase ^= 1  # a barrier is reused once a lap

    # --- mma: from the A/B ring into tensor memory ---
    if warp_idx >= MMA_WARP and warp_idx < MMA_WARP + CONSUMERS and is_leader:
        own_A = cute.local_tile(sA, (WARPGROUP, TILE_K), (consumer, 0, None))
        tiled_mma = cute.make_tiled_mma(
            tcgen05.MmaF16BF16Op(
                cutlass.Float16,
                cutlass.Float32,
                (MMA_M, MMA_N, MMA_K),
                tcgen05.CtaGroup.TWO,
                tcgen05.OperandSource.SMEM,
                tcgen05.OperandMajorMode.K,
                tcgen05.OperandMajorMode.K,
            )
        )
        # Shared-memory descriptors, one a k_block of a stage
        tCrA = tiled_mma.make_fragment_A(cute.tiled_divide(own_A, (WARPGROUP, MMA_K)))
        tCrB = tiled_mma.make_fragment_B(cute.tiled_divide(sB, (B_ROWS, MMA_K)))
        acc_layout = cute.make_layout(((WARPGROUP, TILE_N), 1, 1), stride=((TMEM_LANE, 1), 0, 0))
        tCtAcc = cute.make_tensor(tmem, acc_layout)
        stage, phase = 0, 0
        acc_phase = 1  # pre-armed: the accumulator starts empty
        for _ in cutlass.range(cluster, tiles, clusters, unroll=1):
            cute.arch.mbarrier_wait(acc_empty, acc_phase)
            nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
            for k_tile in cutlass.range(k_tiles, unroll=1):
                full = ab_full + stage
                cute.arch.mbarrier_wait(full, phase)
                nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
                for k_block in cutlass.range_constexpr(K_BLOCKS):
                    # The first MMA of a tile overwrites the accumulator, the others add to it.
                    tiled_mma.set(tcgen05.Field.ACCUMULATE, k_tile + k_block != 0)
                    a_block = tCrA[None, None, k_block, stage]
                    b_block = tCrB[None, None, k_block, stage]
                    cute.gemm(tiled_mma, tCtAcc, a_block, b_block, tCtAcc)
                with cute.arch.elect_one():
                    # Arrives, once these MMAs have read the stage, at both CTAs.
                    tcgen05.commit(ab_empty + stage, PAIR_MASK, tcgen05.CtaGroup.TWO)
                stage += 1
                if stage == AB_STAGES:
                    stage = 0
                    phase ^= 1  # a barrier is reused once a lap
            with cute.arch.elect_one():
                tcgen05.commit(acc_full, PAIR_MASK, tcgen05.CtaGroup.TWO)
            acc_phase ^= 1

    # --- epilogue: tensor memory -> registers -> global memory ---
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
        rD = cute.make_rmem_tensor((EPI_N, EPI_CHUNKS), cutlass.Float16)
        acc_phase = 0
        for tile in cutlass.range(cluster, tiles, clusters, unroll=1):
            m_tile, n_tile = CLUSTER_M * (tile % m_tiles) + cta_rank, tile // m_tiles
            gD = cute.local_tile(mD[m_tile * TILE_M + thread_idx, None], (EPI_N,), (None,))
            cute.arch.mbarrier_wait(acc_full, acc_phase)
            nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
            for chunk in cutlass.range_constexpr(EPI_CHUNKS):
                cute.copy(tmem_load, tAcc[None, None, None, chunk], rAcc)
                cute.arch.fence_view_async_tmem_load()  # tcgen05.wait::ld
                rD[None, chunk].store(rAcc.load().to(cutlass.Float16))
            # This consumer's warps have read the slot: release it before any store.
            nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.BEFORE_THREAD_SYNC)
            cute.arch.barrier(barrier_id=EPILOGUE_BARRIER + consumer, number_of_threads=WARPGROUP)
            if warp_idx % 4 == 0:
                with cute.arch.elect_one():
                    # At rank 0, the leader; its peer is another CTA: cluster scope.
                    cute.arch.mbarrier_arrive(acc_empty, 0, scope=nvvm.MemScopeKind.CLUSTER)
            for chunk in cutlass.range_constexpr(EPI_CHUNKS):
                cute.autovec_copy(rD[None, chunk], gD[None, n_tile * EPI_CHUNKS + chunk])
            acc_phase ^= 1

    # --- teardown ---
    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.BEFORE_THREAD_SYNC)
    # Every warp has read its lanes, and no CTA exits while its peer may still signal it.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
    if warp_idx == 0:
        cute.arch.dealloc_tmem(tmem, TMEM_COLUMNS, is_two_cta=True)


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
    b_rows = cute.make_layout((B_ROWS, TILE_K, AB_STAGES), stride=(TILE_K, 1, B_ROWS * TILE_K))
    a_smem = cute.make_composed_layout(swizzle, 0, a_rows)
    b_smem = cute.make_composed_layout(swizzle, 0, b_rows)
    load_op = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.TWO)
    tma_a, mA = cpasync.make_tiled_tma_atom(load_op, a, a_smem, (TILE_M, TILE_K))
    tma_b, mB = cpasync.make_tiled_tma_atom(load_op, b, b_smem, (B_ROWS, TILE_K))
    # D: 64-bit row stride, as offsets may pass 2^31; a multiple of 8 gives 16-byte stores.
    m, n = d.shape
    row_stride = cute.assume(cutlass.Int64(d.stride[0]), divby=8)
    mD = cute.make_tensor(d.iterator, cute.make_layout((m, n), stride=(row_stride, 1)))
    clusters = cutlass.min((m // (TILE_M * CLUSTER_M)) * (n // TILE_N), max_active_clusters)
    gemm_kernel(tma_a, mA, a_smem, tma_b, mB, b_smem, mD).launch(
        grid=(CLUSTER_M, CLUSTER_N, clusters),
        block=(THREADS, 1, 1),
        cluster=(CLUSTER_M, CLUSTER_N, 1),
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
    m_step, n_step = TILE_M * CLUSTER_M, TILE_N
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
    args += [cutlass.Int32(hardware.get_max_active_clusters(CLUSTER_M * CLUSTER_N)), stream]
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
