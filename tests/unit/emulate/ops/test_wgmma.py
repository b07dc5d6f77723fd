"""wgmma in whole kernels: operands byte by byte, accumulators register by register."""

import numpy as np
import pytest
from ptx import Kernel, registers
from tensors import SOURCE, TARGET, halves, k_major_128

from gemmgen.emulate import EmulationError, Hang

N = 16


class Wgmma:
    """128 threads; A (64, 64) and B (16, 64) arrive in shared memory; D is `%r100` to `%r107`."""

    def __init__(self, a: np.ndarray, b: np.ndarray, d: str = "f32") -> None:
        self.d = d
        self.count = N // 2 if d == "f32" else N // 4
        self.out = np.zeros((128, self.count), dtype=np.uint32)
        self.k = k = Kernel("sm_90a")
        image = np.concatenate([k_major_128(a), k_major_128(b)])
        k.buffer(image, SOURCE)
        k.buffer(self.out, TARGET)
        k(f"ld.param.u64 %d0, [p{k.param(SOURCE)}]; ld.param.u64 %d1, [p{k.param(TARGET)}];")
        k("@%p0 mbarrier.init.shared.b64 [%r1], 1; fence.mbarrier_init.release.cluster;")
        k("bar.sync 0;")
        k(f"@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {image.size};")
        k(
            "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
            f"[%r1+1024], [%d0], {image.size}, [%r1];"
        )
        k.wait("%r1")
        high = 1 << 62 | 64 << 32 | 1 << 16
        for register, at in (("%d10", 1024), ("%d11", 1024 + 8192)):
            k(f"add.u32 %r5, %r1, {at}; shr.u32 %r5, %r5, 4; cvt.u64.u32 {register}, %r5;")
            k(f"or.b64 {register}, {register}, {high};")
        for i in range(self.count):
            k(f"mov.b32 %r{100 + i}, 0;")
        k("mov.b32 %r9, 0;")

    def mma(self, k_block: int = 0, accumulate: int = 1, a: str = "", scale_a: int = 1) -> None:
        k = self.k
        k(f"add.u64 %d12, %d10, {2 * k_block}; add.u64 %d13, %d11, {2 * k_block};")
        k(f"setp.eq.u32 %p3, %r9, {1 - accumulate};")
        majors = "0" if a else "0, 0"
        k(
            f"wgmma.mma_async.sync.aligned.m64n{N}k16.{self.d}.f16.f16 "
            f"{registers(100, self.count)}, {a or '%d12'}, %d13, %p3, {scale_a}, 1, {majors};"
        )

    def finish(self, wait: bool = True) -> None:
        k = self.k
        k("wgmma.commit_group.sync.aligned;")
        if wait:
            k("wgmma.wait_group.sync.aligned 0;")
        k(f"mul.wide.u32 %d5, %r0, {self.count * 4}; add.u64 %d5, %d5, %d1;")
        for i in range(self.count):
            k(f"st.global.b32 [%d5+{4 * i}], %r{100 + i};")

    def run(self, **settings: object) -> np.ndarray:
        """Run and return D, put together from the threads' registers by the PTX ISA figure."""
        self.k.run(block=128, smem=16384, **settings)
        d = np.zeros((64, N), dtype=np.float32)
        per_thread = self.out.view(np.float32 if self.d == "f32" else np.float16)
        for thread in range(128):
            for i in range(N // 2):
                row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2)
                d[row, 2 * (thread % 4) + i % 2 + 8 * (i // 4)] = per_thread[thread, i]
        return d


def operands() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return halves(rng, 64), halves(rng, N)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32).T


@pytest.mark.parametrize("d", ["f32", "f16"])
@pytest.mark.parametrize("timing", ["lazy", "eager", "random"])
def test_k_blocks_add_up(d: str, timing: str) -> None:
    a, b = operands()
    w = Wgmma(a, b, d)
    w.k("wgmma.fence.sync.aligned;")
    for block in range(4):
        w.mma(block, accumulate=int(block > 0))
    w.finish()
    assert np.array_equal(w.run(timing=timing), product(a, b))


def test_registers_that_threads_wrote_are_added_to() -> None:
    a, b = operands()
    w = Wgmma(a, b)
    for i in range(w.count):
        w.k(f"cvt.rn.f32.u32 %r{100 + i}, %r0;")
    w.k("wgmma.fence.sync.aligned;")
    w.mma()
    w.finish()
    thread = np.arange(128).reshape(4, 8, 4)  # warp, row in 8, column pair
    start = np.empty((4, 2, 8, N // 8, 4, 2), dtype=np.float32)
    start[...] = thread[:, None, :, None, :, None]
    expected = product(a[:, :16], b[:, :16]) + start.reshape(64, N)
    assert np.array_equal(w.run(), expected)


def test_results_go_on_after_a_wait() -> None:
    a, b = operands()
    w = Wgmma(a, b)
    w.k("wgmma.fence.sync.aligned;")
    w.mma(0, accumulate=0)
    w.k("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;")
    for i in range(w.count):
        w.k(f"mov.b32 %r{200 + i}, %r{100 + i};")  # a copy that must not follow D
    w.k("wgmma.fence.sync.aligned;")
    w.mma(1)
    w.k("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;")
    for i in range(w.count):
        w.k(f"add.f32 %r{100 + i}, %r{100 + i}, %r{200 + i};")
    w.finish()
    expected = 2 * product(a[:, :16], b[:, :16]) + product(a[:, 16:32], b[:, 16:32])
    assert np.array_equal(w.run(), expected)


def test_a_from_registers_and_its_negation() -> None:
    a, b = operands()
    w = Wgmma(a, b)
    for j in range(4):
        # register j: row 16 w + t // 4 + 8 (j % 2), bytes 4 (t % 4) + 16 (j // 2) of k block 0
        w.k("shr.u32 %r20, %r0, 5; shl.b32 %r20, %r20, 4; and.b32 %r21, %r0, 31;")
        w.k("shr.u32 %r22, %r21, 2; add.u32 %r20, %r20, %r22;")
        w.k(f"add.u32 %r20, %r20, {8 * (j % 2)}; and.b32 %r22, %r0, 3; shl.b32 %r22, %r22, 2;")
        w.k("and.b32 %r23, %r20, 7;")
        w.k(f"xor.b32 %r23, %r23, {j // 2}; shl.b32 %r23, %r23, 4; add.u32 %r22, %r22, %r23;")
        w.k("shl.b32 %r20, %r20, 7; add.u32 %r20, %r20, %r22; add.u32 %r20, %r20, %r1;")
        w.k(f"ld.shared.b32 %r{300 + j}, [%r20+1024];")
    w.k("wgmma.fence.sync.aligned;")
    w.mma(0, accumulate=0, a=registers(300, 4), scale_a=-1)
    w.finish()
    assert np.array_equal(w.run(), -product(a[:, :16], b[:, :16]))


@pytest.mark.parametrize("wait", ["", "wgmma.wait_group.sync.aligned 0;"])
def test_results_used_before_the_wait_are_not_the_result(wait: str) -> None:
    a, b = operands()
    w = Wgmma(a, b)
    w.k("wgmma.fence.sync.aligned;")
    w.mma(0, accumulate=0)
    w.finish(wait=False)
    w.k(wait)
    with np.errstate(invalid="ignore"):
        assert np.isnan(w.run(timing="eager")).all()


@pytest.mark.parametrize("timing", ["lazy", "eager", "random"])
def test_pairs_of_f16_results_may_be_split_and_joined_before_the_wait(timing: str) -> None:
    a, b = operands()
    w = Wgmma(a, b, "f16")
    w.k("wgmma.fence.sync.aligned;")
    w.mma(0, accumulate=0)
    for i in range(w.count):
        w.k(f"mov.b32 {{%h0, %h1}}, %r{100 + i}; mov.b32 %r{200 + i}, {{%h0, %h1}};")
    w.k("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;")
    for i in range(w.count):
        w.k(f"mov.b32 %r{100 + i}, %r{200 + i};")
    w.finish()
    assert np.array_equal(w.run(timing=timing), product(a[:, :16], b[:, :16]))


def test_a_wgmma_without_a_fence_is_reported() -> None:
    w = Wgmma(*operands())
    w.mma(0)
    w.finish()
    with pytest.raises(EmulationError) as caught:
        w.run()
    assert caught.value.code == "E248"


def test_a_sum_that_begins_with_registers_that_nothing_wrote_is_reported() -> None:
    w = Wgmma(*operands())
    w.k.lines = [line for line in w.k.lines if not line.startswith("mov.b32 %r1")]
    w.k("wgmma.fence.sync.aligned;")
    w.mma(0)
    w.finish()
    with pytest.raises(EmulationError, match="registers that nothing has written") as caught:
        w.run()
    assert caught.value.code == "E248"


@pytest.mark.parametrize("timing", ["lazy", "eager", "random"])
def test_a_wgmma_knows_only_what_all_four_warps_know(timing: str) -> None:
    def stored(barrier: str) -> None:
        a, b = operands()
        w = Wgmma(a, b)
        w.k("add.u32 %r6, %r1, 1024; mad.lo.u32 %r6, %r0, 64, %r6; st.shared.u32 [%r6], %r9;")
        w.k(f"fence.proxy.async.shared::cta; {barrier} wgmma.fence.sync.aligned;")
        w.mma(0, accumulate=0)
        w.finish()
        w.run(timing=timing, races=True)

    stored("bar.sync 0;")
    with pytest.raises(EmulationError) as caught:
        stored("")
    assert caught.value.code in ("E260", "E261")


def test_warps_that_issue_different_wgmmas_are_reported() -> None:
    w = Wgmma(*operands())
    w.k("wgmma.fence.sync.aligned; setp.lt.u32 %p4, %r0, 64; @%p4 add.u64 %d11, %d11, 2;")
    w.mma(0, accumulate=0)
    w.finish()
    with pytest.raises(EmulationError, match="do not issue the same wgmma") as caught:
        w.run()
    assert caught.value.code == "E248"


def test_a_warp_that_never_issues_hangs_the_others_with_a_reason() -> None:
    w = Wgmma(*operands())
    w.k("wgmma.fence.sync.aligned; setp.lt.u32 %p4, %r0, 32; @%p4 bra OUT;")
    w.mma(0, accumulate=0)
    w.finish()
    w.k("OUT:")
    with pytest.raises(Hang) as caught:
        w.run()
    assert "the other warps" in caught.value.table()


def test_an_operand_that_nothing_wrote_is_reported() -> None:
    w = Wgmma(*operands())
    w.k("wgmma.fence.sync.aligned; add.u64 %d11, %d11, 64;")
    w.mma(0, accumulate=0)
    w.finish()
    with pytest.raises(EmulationError) as caught:
        w.run()
    assert caught.value.code == "E237"
