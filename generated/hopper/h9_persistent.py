# spec: specs/hopper/h9_persistent.toml
# digest: sha256:f0c0cffe5c2c5b68b630d72c7e6650e9a643e465994c869833cc6dc75d166eb6
# partials:
#   imports import_nvvm storage tile_order=tile_order_columns signature setup warp
#   work=work_persistent ranks=ranks_line k_tiles operand_buffers=buffers_swizzled output_buffers
#   start=start_cluster init ring_start producer give_registers producer_walk last_lap
#   partition=partition_multicast arm=arm_cta copy=copy_multicast next_stage mma take_registers
#   consumer lane own_a tiled_mma issue mma_walk=walk release=release_cluster output
#   output_registers=output_chunk tile_epilogue=epilogue_tma reuse_chunk store_chunk drain_stores
#   host operand_layouts=layouts_swizzled tma_atoms output_tensor=output_tma check_problem
#   extents=extents_ragged main main_arguments=main_arguments_persistent
"""D = A @ B.T: Persistent clusters.

Against h8_tma_store: clusters stay resident and walk over tiles, in groups of eight columns.

Setup and the first load latency are paid once, and the producer runs ahead into the next tile.
Grouped, the clusters at work at one time read few rows of A and of B, which L2 then holds.
"""

import sys

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
from cutlass._mlir.dialects import nvvm
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup
from cutlass.cute.runtime import from_dlpack

# --- constants ---
ARCH = "sm_90a"
TILE_M, TILE_N, TILE_K = 128, 256, 64  # output tile of a CTA, step along K
MMA_M, MMA_N, MMA_K = 64, 256, 16  # one wgmma
K_BLOCKS = TILE_K // MMA_K  # 64 / 16 = 4 steps a k_tile
CLUSTER_M, CLUSTER_N = 2, 1  # CTAs that share an operand
B_MASK = 0b11  # ranks of cluster column 0: they share a tile of B
CONSUMERS = 2  # mma warpgroups: each has its rows of A, all share B
ACC_ROWS = TILE_M // CONSUMERS  # 128 / 2 = 64: what one consumer has of a CTA's tile
AB_STAGES = 4
AB_BYTES = (TILE_M + TILE_N) * TILE_K * 2  # (128 + 256) x 64 x 2 = 49_152
AB_EMPTY_ARRIVALS = 4 * CONSUMERS * CLUSTER_M  # 4 x 2 x 2 = 16
M_BLOCKS = ACC_ROWS // MMA_M  # 64 / 64 = 1: instructions along M a step
EPI_N = 64  # columns of D that leave at a time
EPI_CHUNKS = TILE_N // EPI_N  # 256 / 64 = 4
D_STAGES = 2  # chunks of D staged in shared memory for each consumer
D_BYTES = ACC_ROWS * EPI_N * 2  # 8_192: a staged chunk
THREADS = 384  # 12 warps
PRODUCER_WARP = 0
MMA_WARP = 4
PRODUCER_REGISTERS = 40  # a thread, set by setmaxnreg
MMA_REGISTERS = 232  # a thread, set by setmaxnreg
EPILOGUE_BARRIER = 1  # before and after a chunk of D is filled
GROUP_N = 8  # columns of tiles that are walked before the next row: they share A in L2

assert TILE_K * 2 == 128, "the 128-byte swizzle needs rows of 64 f16 values"
assert AB_BYTES * AB_STAGES + D_BYTES * CONSUMERS * D_STAGES + 1_024 <= 232_448, (
    "over shared memory"
)

# --- barriers: who arrives (arrivals) -> who waits, first on which phase ---
#   ab_full[4]    producer: expect_tx, TMA bytes (1)         -> mma, 0
#   ab_empty[4]   mma: each warp, at both CTAs (16)          -> producer, 1: pre-armed
# EPILOGUE_BARRIER: the warps of an accumulator meet before and after they fill D.
# Each consumer has its own: EPILOGUE_BARRIER + consumer.
# Phases run on across tiles: a barrier knows laps of its ring, not tiles.


# --- storage: shared memory of one CTA ---
@cute.struct
class SharedStorage:
    ab_full: cute.struct.MemRange[cutlass.Int64, AB_STAGES]
    ab_empty: cute.struct.MemRange[cutlass.Int64, AB_STAGES]
    # 1024-byte alignment: the swizzle repeats every 8 rows of 128 bytes.
    a: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, AB_STAGES * TILE_M * TILE_K], 1024]
    b: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, AB_STAGES * TILE_N * TILE_K], 1024]
    d: cute.struct.Align[
        cute.struct.MemRange[cutlass.Float16, CONSUMERS * D_STAGES * ACC_ROWS * EPI_N], 1024
    ]


# --- scheduler: the order in which tiles are walked ---
def tile_at(tile, m_tiles, n_tiles):
    """Row and column of a tile: GROUP_N columns at a time, along each row of the group."""
    first = tile // (GROUP_N * m_tiles) * GROUP_N
    columns = cutlass.min(GROUP_N, n_tiles - first)  # the last group may have fewer
    inside = tile - first * m_tiles
    return inside // columns, first + inside % columns


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
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    _, _, cluster = cute.arch.block_idx()
    _, _, clusters = cute.arch.grid_dim()
    m_tiles = cute.ceil_div(mD.shape[0], TILE_M * CLUSTER_M)
    n_tiles = cute.ceil_div(mD.shape[1], TILE_N)
    tiles = m_tiles * n_tiles  # this cluster takes every clusters-th
    cta_rank = cute.arch.block_idx_in_cluster()
    b_mask = cutlass.Int16(B_MASK)
    k_tiles = cute.ceil_div(mA.shape[1], TILE_K)  # TMA fills what lies past K with zeros

    smem = SharedStorage(cute.arch.get_dyn_smem(cutlass.Int8, alignment=1024))
    ab_full = smem.ab_full.data_ptr()
    ab_empty = smem.ab_empty.data_ptr()
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
                cute.arch.mbarrier_init(ab_full + stage, 1)  # the expect_tx of a load
                cute.arch.mbarrier_init(ab_empty + stage, AB_EMPTY_ARRIVALS)  # each mma warp
        cute.arch.mbarrier_init_fence()  # TMA sees the counts too
    # No CTA signals a barrier of another before that CTA has initialised it.
    cute.arch.cluster_arrive_relaxed()
    cute.arch.cluster_wait()

    # --- producer: TMA loads into the A/B ring ---
    if warp_idx < MMA_WARP:
        cute.arch.setmaxregister_decrease(PRODUCER_REGISTERS)  # the whole warpgroup gives them up
    if warp_idx == PRODUCER_WARP:
        gA = cute.local_tile(mA, (TILE_M, TILE_K), (None, None))  # (row, k, m_tile, k_tile)
        gB = cute.local_tile(mB, (TILE_N, TILE_K), (None, None))
        alone, shared = cute.make_layout(1), cute.make_layout(CLUSTER_M)
        tAsA, tAgA = cpasync.tma_partition(
            tma_a, 0, alone, cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2)
        )
        tBsB, tBgB = cpasync.tma_partition(
            tma_b, cta_rank, shared, cute.group_modes(sB, 0, 2), cute.group_modes(gB, 0, 2)
        )
        stage, phase = 0, 1  # a fresh barrier passes phase 1: the first lap does not wait
        for tile in cutlass.range(cluster, tiles, clusters, unroll=1):
            row, column = tile_at(tile, m_tiles, n_tiles)
            m_tile, n_tile = CLUSTER_M * row + cta_rank, column
            for k_tile in cutlass.range(k_tiles, unroll=1):
                full = ab_full + stage
                cute.arch.mbarrier_wait(ab_empty + stage, phase)
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(full, AB_BYTES)
                cute.copy(tma_a, tAgA[None, m_tile, k_tile], tAsA[None, stage], tma_bar_ptr=full)
                # Both CTAs get this part of B; `full` is at the same address in each.
                part = tBgB[None, n_tile, k_tile]
                cute.copy(tma_b, part, tBsB[None, stage], tma_bar_ptr=full, mcast_mask=b_mask)
                stage += 1
                if stage == AB_STAGES:
                    stage = 0
                    phase ^= 1  # a barrier is reused once a lap
        # A lap more: this CTA does not exit before its peer has signalled it for the last time.
        for _ in cutlass.range(AB_STAGES, unroll=1):
            cute.arch.mbarrier_wait(ab_empty + stage, phase)
            stage += 1
            if stage == AB_STAGES:
                stage = 0
                phase ^= 1  # a barrier is reused once a lap

    # --- mma: each consumer multiplies its rows of A, from the A/B ring into registers ---
    if warp_idx >= MMA_WARP:
        cute.arch.setmaxregister_increase(MMA_REGISTERS)
        consumer = (warp_idx - MMA_WARP) // 4
        lane = cute.arch.lane_idx()
        # Its rows of every stage of A.
        own_A = cute.local_tile(sA, (ACC_ROWS, TILE_K), (consumer, 0, None))
        k_major, from_smem = OperandMajorMode.K, warpgroup.OperandSource.SMEM
        mma_op = warpgroup.MmaF16BF16Op(
            cutlass.Float16, cutlass.Float32, (MMA_M, MMA_N, MMA_K), from_smem, k_major, k_major
        )
        tiled_mma = cute.make_tiled_mma(mma_op)
        # Shared-memory descriptors, ((MMA_M, MMA_K), 1, K_BLOCKS, AB_STAGES)
        tCrA = tiled_mma.make_fragment_A(cute.tiled_divide(own_A, (MMA_M, MMA_K)))
        tCrB = tiled_mma.make_fragment_B(cute.tiled_divide(sB, (MMA_N, MMA_K)))
        acc = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((ACC_ROWS, TILE_N)))
        # stmatrix: a warp writes 16 rows of 16 columns, 8 values a thread; lane l addresses
        # row l % 16, in the left 8 columns where l < 16, else in the right 8.
        stmatrix = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.Float16)
        d_row = consumer * D_STAGES * ACC_ROWS + warp_idx % 4 * 16 + lane % 16
        d_lane = cute.assume(d_row * EPI_N + lane // 16 * 8, divby=8)
        own_layout = cute.make_layout(
            (8, EPI_N // 16, M_BLOCKS, D_STAGES), stride=(1, 16, MMA_M * EPI_N, ACC_ROWS * EPI_N)
        )
        own_D = cute.make_tensor(sD.iterator + d_lane, own_layout)
        tAcc = cute.make_tensor(acc.iterator, cute.make_layout((8, TILE_N // 16, M_BLOCKS)))
        rD = cute.make_rmem_tensor(8, cutlass.Float16)
        gD = cute.local_tile(mD, (ACC_ROWS, EPI_N), (None, None))  # (row, column, m_tile, chunk)
        tDsD, tDgD = cpasync.tma_partition(
            tma_d, 0, cute.make_layout(1), cute.group_modes(sD, 0, 2), cute.group_modes(gD, 0, 2)
        )
        stage, phase = 0, 0
        for tile in cutlass.range(cluster, tiles, clusters, unroll=1):
            row, column = tile_at(tile, m_tiles, n_tiles)
            m_tile, n_tile = CLUSTER_M * row + cta_rank, column
            last = stage
            for k_tile in cutlass.range(k_tiles, unroll=1):
                cute.arch.mbarrier_wait(ab_full + stage, phase)
                # Until these are complete the accumulator's registers are the tensor core's.
                warpgroup.fence()
                for k_block in cutlass.range_constexpr(K_BLOCKS):
                    # The first step of a tile overwrites the accumulator, the others add to it.
                    tiled_mma.set(warpgroup.Field.ACCUMULATE, k_tile + k_block != 0)
                    a_block = tCrA[None, None, k_block, stage]
                    b_block = tCrB[None, None, k_block, stage]
                    cute.gemm(tiled_mma, acc, a_block, b_block, acc)
                warpgroup.commit_group()
                # All but these are complete: the stage before has been read.
                warpgroup.wait_group(1)
                if k_tile > 0:
                    # A lane for each CTA. Relaxed, as nothing is handed over but room.
                    if lane < CLUSTER_M:
                        cute.arch.mbarrier_arrive(
                            ab_empty + last, lane, relaxed=True, scope=nvvm.MemScopeKind.CLUSTER
                        )
                last = stage
                stage += 1
                if stage == AB_STAGES:
                    stage = 0
                    phase ^= 1  # a barrier is reused once a lap
            warpgroup.wait_group(0)
            # A lane for each CTA. Relaxed, as nothing is handed over but room.
            if lane < CLUSTER_M:
                cute.arch.mbarrier_arrive(
                    ab_empty + last, lane, relaxed=True, scope=nvvm.MemScopeKind.CLUSTER
                )

            # --- epilogue: registers -> shared memory -> global memory ---
            for chunk in cutlass.range_constexpr(EPI_CHUNKS):
                slot = chunk % D_STAGES
                if warp_idx % 4 == 0:  # the last store from this buffer has read it
                    cute.arch.cp_async_bulk_wait_group(D_STAGES - 1, read=True)
                cute.arch.barrier(barrier_id=EPILOGUE_BARRIER + consumer, number_of_threads=128)
                for m_block in cutlass.range_constexpr(M_BLOCKS):
                    for n_block in cutlass.range_constexpr(EPI_N // 16):
                        part = tAcc[None, chunk * (EPI_N // 16) + n_block, m_block]
                        rD.store(part.load().to(cutlass.Float16))
                        cute.copy(stmatrix, rD, own_D[None, n_block, m_block, slot])
                cute.arch.fence_proxy("async.shared", space="cta")  # TMA reads what threads wrote
                cute.arch.barrier(barrier_id=EPILOGUE_BARRIER + consumer, number_of_threads=128)
                if warp_idx % 4 == 0:
                    with cute.arch.elect_one():
                        m_store, n_store = (
                            CONSUMERS * m_tile + consumer,
                            n_tile * EPI_CHUNKS + chunk,
                        )
                        cute.copy(
                            tma_d,
                            tDsD[None, consumer * D_STAGES + slot],
                            tDgD[None, m_store, n_store],
                        )
                    cute.arch.cp_async_bulk_commit_group()
        if warp_idx % 4 == 0:  # no store still reads shared memory when the CTA exits
            cute.arch.cp_async_bulk_wait_group(0, read=True)


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
    share_op = cpasync.CopyBulkTensorTileG2SMulticastOp()
    tma_a, mA = cpasync.make_tiled_tma_atom(load_op, a, a_smem, (TILE_M, TILE_K))
    tma_b, mB = cpasync.make_tiled_tma_atom(share_op, b, b_smem, (TILE_N, TILE_K), CLUSTER_M)
    # D: chunks of (row, column), swizzled across a row's bytes: a warp writes without conflicts.
    m, n = d.shape
    d_rows = cute.make_layout(
        (ACC_ROWS, EPI_N, CONSUMERS * D_STAGES), stride=(EPI_N, 1, ACC_ROWS * EPI_N)
    )
    d_smem = cute.make_composed_layout(swizzle, 0, d_rows)
    store_op = cpasync.CopyBulkTensorTileS2GOp()
    tma_d, mD = cpasync.make_tiled_tma_atom(store_op, d, d_smem, (ACC_ROWS, EPI_N))
    clusters = cutlass.min(
        cute.ceil_div(m, TILE_M * CLUSTER_M) * cute.ceil_div(n, TILE_N), max_active_clusters
    )
    gemm_kernel(tma_a, mA, a_smem, tma_b, mB, b_smem, tma_d, mD, d_smem).launch(
        grid=(CLUSTER_M, CLUSTER_N, clusters),
        block=(THREADS, 1, 1),
        cluster=(CLUSTER_M, CLUSTER_N, 1),
        smem=SharedStorage.size_in_bytes(),
        min_blocks_per_mp=1,  # without it ptxas ignores setmaxnreg
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
    if n % 8:
        raise UnsupportedProblem(f"N = {n}: TMA stores rows of whole 16 bytes, N % 8 == 0")
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
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
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
