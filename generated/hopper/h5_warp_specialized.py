# spec: specs/hopper/h5_warp_specialized.toml
# digest: sha256:891ddfc04e4740eb4e6c55011496d788895ed0b479b01479c04874a848caa128
# partials:
#   imports storage signature setup thread warp work=work_cta k_tiles
#   operand_buffers=buffers_swizzled start=start_cta init ring_start producer give_registers
#   partition=partition_cta arm=arm_cta copy=copy_cta next_stage mma take_registers tiled_mma issue
#   release=release_cta tile_epilogue=epilogue_direct host operand_layouts=layouts_swizzled
#   tma_atoms=tma_cta output_tensor=output_gmem check_problem extents=extents_multiple main
#   main_arguments
"""D = A @ B.T: A producer warp and a consumer warpgroup.

Against h4_swizzle: a producer warp loads, a consumer warpgroup multiplies.

The consumer issues no loads and meets no CTA barrier: it hands a stage back once the
instructions after it are under way. 256 threads leave room for 256 registers each and are
launched with 240: setmaxnreg only takes from the producer here; h6 has 384 threads at 168 and
needs the move. It works only with a declared minimum of one CTA an SM.
"""

import sys

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.runtime import from_dlpack

# --- constants ---
ARCH = "sm_90a"
TILE_M, TILE_N, TILE_K = 128, 128, 64  # output tile of a CTA, step along K
MMA_M, MMA_N, MMA_K = 64, 128, 16  # one wgmma
K_BLOCKS = TILE_K // MMA_K  # 64 / 16 = 4 steps a k_tile
AB_STAGES = 4
AB_BYTES = (TILE_M + TILE_N) * TILE_K * 2  # (128 + 128) x 64 x 2 = 32_768
AB_EMPTY_ARRIVALS = 4  # 4 warps
THREADS = 256  # 8 warps
PRODUCER_WARP = 0
MMA_WARP = 4
PRODUCER_REGISTERS = 40  # a thread, set by setmaxnreg
MMA_REGISTERS = 240  # a thread, set by setmaxnreg

assert TILE_K * 2 == 128, "the 128-byte swizzle needs rows of 64 f16 values"
assert AB_BYTES * AB_STAGES + 1_024 <= 232_448, "the A and B buffers must fit in shared memory"

# --- barriers: who arrives (arrivals) -> who waits, first on which phase ---
#   ab_full[4]    producer: expect_tx, TMA bytes (1)         -> mma, 0
#   ab_empty[4]   mma: each warp (4)                         -> producer, 1: pre-armed


# --- storage: shared memory of one CTA ---
@cute.struct
class SharedStorage:
    ab_full: cute.struct.MemRange[cutlass.Int64, AB_STAGES]
    ab_empty: cute.struct.MemRange[cutlass.Int64, AB_STAGES]
    # 1024-byte alignment: the swizzle repeats every 8 rows of 128 bytes.
    a: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, AB_STAGES * TILE_M * TILE_K], 1024]
    b: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, AB_STAGES * TILE_N * TILE_K], 1024]


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
    m_tile, n_tile, _ = cute.arch.block_idx()
    k_tiles = cute.ceil_div(mA.shape[1], TILE_K)  # TMA fills what lies past K with zeros

    smem = SharedStorage(cute.arch.get_dyn_smem(cutlass.Int8, alignment=1024))
    ab_full = smem.ab_full.data_ptr()
    ab_empty = smem.ab_empty.data_ptr()
    # The swizzle goes on the pointer; the layout stays affine.
    sA = cute.make_tensor(cute.recast_ptr(smem.a.data_ptr(), a_smem.inner), a_smem.outer)
    sB = cute.make_tensor(cute.recast_ptr(smem.b.data_ptr(), b_smem.inner), b_smem.outer)

    if warp_idx == 0:
        cpasync.prefetch_descriptor(tma_a)
        cpasync.prefetch_descriptor(tma_b)
        with cute.arch.elect_one():
            for stage in cutlass.range_constexpr(AB_STAGES):
                cute.arch.mbarrier_init(ab_full + stage, 1)  # the expect_tx of a load
                cute.arch.mbarrier_init(ab_empty + stage, AB_EMPTY_ARRIVALS)  # each mma warp
        cute.arch.mbarrier_init_fence()  # TMA sees the counts too
    cute.arch.sync_threads()

    # --- producer: TMA loads into the A/B ring ---
    if warp_idx < MMA_WARP:
        cute.arch.setmaxregister_decrease(PRODUCER_REGISTERS)  # the whole warpgroup gives them up
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
        for k_tile in cutlass.range(k_tiles, unroll=1):
            full = ab_full + stage
            cute.arch.mbarrier_wait(ab_empty + stage, phase)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, AB_BYTES)
            cute.copy(tma_a, tAgA[None, m_tile, k_tile], tAsA[None, stage], tma_bar_ptr=full)
            cute.copy(tma_b, tBgB[None, n_tile, k_tile], tBsB[None, stage], tma_bar_ptr=full)
            stage += 1
            if stage == AB_STAGES:
                stage = 0
                phase ^= 1  # a barrier is reused once a lap

    # --- mma: from the A/B ring into registers ---
    if warp_idx >= MMA_WARP:
        cute.arch.setmaxregister_increase(MMA_REGISTERS)
        k_major, from_smem = OperandMajorMode.K, warpgroup.OperandSource.SMEM
        mma_op = warpgroup.MmaF16BF16Op(
            cutlass.Float16, cutlass.Float32, (MMA_M, MMA_N, MMA_K), from_smem, k_major, k_major
        )
        tiled_mma = cute.make_tiled_mma(mma_op)
        # Shared-memory descriptors, ((MMA_M, MMA_K), 2, K_BLOCKS, AB_STAGES)
        tCrA = tiled_mma.make_fragment_A(cute.tiled_divide(sA, (MMA_M, MMA_K)))
        tCrB = tiled_mma.make_fragment_B(cute.tiled_divide(sB, (MMA_N, MMA_K)))
        acc = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((TILE_M, TILE_N)))
        stage, phase = 0, 0
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
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(ab_empty + last)
            last = stage
            stage += 1
            if stage == AB_STAGES:
                stage = 0
                phase ^= 1  # a barrier is reused once a lap
        warpgroup.wait_group(0)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(ab_empty + last)

        # --- epilogue: registers -> global memory ---
        # Of every 8 columns a thread has two neighbours, in row lane // 4 and in the row 8 below.
        gD = cute.local_tile(mD, (TILE_M, TILE_N), (m_tile, n_tile))
        tCgD = tiled_mma.get_slice(thread_idx % 128).partition_C(gD)
        rD = cute.make_rmem_tensor_like(acc, cutlass.Float16)
        rD.store(acc.load().to(cutlass.Float16))
        cute.autovec_copy(rD, tCgD)


# --- host: launch ---
# ptxas treats a kernel whose symbol contains "cutlass" differently.
gemm_kernel.set_name_prefix("gemm_kernel", remove_cutlass_symbol=True, keep_mangled_name=False)


@cute.jit
def gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
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
    # D: 64-bit row stride, as offsets may pass 2^31; a multiple of 8 gives 16-byte stores.
    m, n = d.shape
    row_stride = cute.assume(cutlass.Int64(d.stride[0]), divby=8)
    mD = cute.make_tensor(d.iterator, cute.make_layout((m, n), stride=(row_stride, 1)))
    gemm_kernel(tma_a, mA, a_smem, tma_b, mB, b_smem, mD).launch(
        grid=(m // TILE_M, n // TILE_N, 1),
        block=(THREADS, 1, 1),
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
    m_step, n_step = TILE_M, TILE_N
    if m % m_step or n % n_step:
        raise UnsupportedProblem(f"M, N = {m}, {n}: must be multiples of {m_step}, {n_step}")
    if n // TILE_N > 65_535:
        raise UnsupportedProblem(f"N = {n}: at most 65_535 tiles along N fit in a grid")
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
    args += [stream]
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
