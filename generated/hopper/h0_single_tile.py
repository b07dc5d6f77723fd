# spec: specs/hopper/h0_single_tile.toml
# digest: sha256:43fe58f3d874abddcd9bb5fb718e6f145b113183e7ed9d9add3c91e4089c844a
# partials:
#   imports storage signature setup thread work=work_cta operand_buffers=buffers_plain
#   mainloop=mainloop_cooperative partition=partition_cooperative tiled_mma issue
#   epilogue=epilogue_direct host operand_layouts=layouts_plain tma_atoms=operands_gmem
#   output_tensor=output_gmem check_problem extents=extents_multiple main main_arguments
"""D = A @ B.T: One warpgroup, one k_tile.

Four warps copy a tile of A and of B into shared memory, multiply them with wgmma into their
registers, and write the result to global memory. K is one tile of 64.

Not meant to be fast: it uses every unit once. wgmma reads shared memory through the async
proxy, hence the fence between the stores of the threads and the first instruction.
"""

import sys

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from cutlass.cute.runtime import from_dlpack

# --- constants ---
ARCH = "sm_90a"
TILE_M, TILE_N, TILE_K = 128, 128, 64  # output tile of a CTA, all of K
MMA_M, MMA_N, MMA_K = 64, 128, 16  # one wgmma
K_BLOCKS = TILE_K // MMA_K  # 64 / 16 = 4 steps a k_tile
VECTOR = 8  # values in the 16 bytes that a thread copies at a time
ROW_THREADS = TILE_K // VECTOR  # 64 / 8 = 8: threads that copy a row
AB_BYTES = (TILE_M + TILE_N) * TILE_K * 2  # (128 + 128) x 64 x 2 = 32_768
THREADS = 128  # 4 warps

assert AB_BYTES <= 232_448, "the A and B buffers must fit in shared memory"

# --- barriers: who arrives (arrivals) -> who waits, first on which phase ---
# None: all threads load and multiply in turn, and meet at the barrier of the CTA.


# --- storage: shared memory of one CTA ---
@cute.struct
class SharedStorage:
    a: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, TILE_M * TILE_K], 128]
    b: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, TILE_N * TILE_K], 128]


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor,  # (M, K) in global memory
    a_smem: cute.Layout,
    mB: cute.Tensor,  # (N, K) in global memory
    b_smem: cute.Layout,
    mD: cute.Tensor,  # (M, N) in global memory
):
    # --- setup ---
    thread_idx, _, _ = cute.arch.thread_idx()
    m_tile, n_tile, _ = cute.arch.block_idx()

    smem = SharedStorage(cute.arch.get_dyn_smem(cutlass.Int8, alignment=128))
    sA = cute.make_tensor(smem.a.data_ptr(), a_smem)
    sB = cute.make_tensor(smem.b.data_ptr(), b_smem)

    # --- mainloop: all threads copy A and B, then multiply them into registers ---
    # A thread copies 16 bytes at a time, ROW_THREADS threads a row, the CTA several rows.
    copy_atom = cute.make_copy_atom(
        cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128
    )
    copy_threads = cute.make_layout((THREADS // ROW_THREADS, ROW_THREADS), stride=(ROW_THREADS, 1))
    copy_ab = cute.make_tiled_copy_tv(copy_atom, copy_threads, cute.make_layout((1, VECTOR)))
    my_copy = copy_ab.get_slice(thread_idx)
    gA = cute.local_tile(mA, (TILE_M, TILE_K), (m_tile, None))  # (row, k, k_tile)
    gB = cute.local_tile(mB, (TILE_N, TILE_K), (n_tile, None))
    tAgA, tAsA = my_copy.partition_S(gA), my_copy.partition_D(sA)
    tBgB, tBsB = my_copy.partition_S(gB), my_copy.partition_D(sB)

    k_major, from_smem = OperandMajorMode.K, warpgroup.OperandSource.SMEM
    mma_op = warpgroup.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (MMA_M, MMA_N, MMA_K), from_smem, k_major, k_major
    )
    tiled_mma = cute.make_tiled_mma(mma_op)
    # Shared-memory descriptors, ((MMA_M, MMA_K), 2, K_BLOCKS)
    tCrA = tiled_mma.make_fragment_A(cute.tiled_divide(sA, (MMA_M, MMA_K)))
    tCrB = tiled_mma.make_fragment_B(cute.tiled_divide(sB, (MMA_N, MMA_K)))
    acc = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((TILE_M, TILE_N)))

    cute.copy(copy_ab, tAgA[None, None, None, 0], tAsA)
    cute.copy(copy_ab, tBgB[None, None, None, 0], tBsB)
    # The tensor core reads through the async proxy what the threads wrote.
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    # Until these are complete the accumulator's registers are the tensor core's.
    warpgroup.fence()
    for k_block in cutlass.range_constexpr(K_BLOCKS):
        # The first step of a tile overwrites the accumulator, the others add to it.
        tiled_mma.set(warpgroup.Field.ACCUMULATE, k_block != 0)
        a_block = tCrA[None, None, k_block]
        b_block = tCrB[None, None, k_block]
        cute.gemm(tiled_mma, acc, a_block, b_block, acc)
    warpgroup.commit_group()
    warpgroup.wait_group(0)

    # --- epilogue: registers -> global memory ---
    # Of every 8 columns a thread has two neighbours, in row lane // 4 and in the row 8 below.
    gD = cute.local_tile(mD, (TILE_M, TILE_N), (m_tile, n_tile))
    tCgD = tiled_mma.get_slice(thread_idx).partition_C(gD)
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
    # Operand buffers, (row, k): 16-byte pieces, the rows of a piece back to back.
    a_smem = cute.make_layout((TILE_M, (8, TILE_K // 8)), stride=(8, (1, 8 * TILE_M)))
    b_smem = cute.make_layout((TILE_N, (8, TILE_K // 8)), stride=(8, (1, 8 * TILE_N)))
    # A, B: 64-bit row strides, as offsets may pass 2^31; multiples of 8 give 16-byte loads.
    a_stride = cute.assume(cutlass.Int64(a.stride[0]), divby=8)
    b_stride = cute.assume(cutlass.Int64(b.stride[0]), divby=8)
    mA = cute.make_tensor(a.iterator, cute.make_layout(a.shape, stride=(a_stride, 1)))
    mB = cute.make_tensor(b.iterator, cute.make_layout(b.shape, stride=(b_stride, 1)))
    # D: 64-bit row stride, as offsets may pass 2^31; a multiple of 8 gives 16-byte stores.
    m, n = d.shape
    row_stride = cute.assume(cutlass.Int64(d.stride[0]), divby=8)
    mD = cute.make_tensor(d.iterator, cute.make_layout((m, n), stride=(row_stride, 1)))
    gemm_kernel(mA, a_smem, mB, b_smem, mD).launch(
        grid=(m // TILE_M, n // TILE_N, 1),
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
    if n // TILE_N > 65_535:
        raise UnsupportedProblem(f"N = {n}: at most 65_535 tiles along N fit in a grid")
    if k != TILE_K:
        raise UnsupportedProblem(f"K = {k}: this kernel has no loop, K must be {TILE_K}")
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
