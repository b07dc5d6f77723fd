"""tcgen05.mma, commit and Tensor Memory in whole kernels."""

import numpy as np
import pytest
from ptx import Kernel, registers
from tensors import TARGET, Mma, halves, instruction

from gemmgen.emulate import EmulationError, Hang

TIMINGS = ["lazy", "eager", "random"]


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32).T


def fault_of(m: Mma) -> EmulationError:
    with pytest.raises(EmulationError) as caught:
        m.run()
    return caught.value


@pytest.mark.parametrize("timing", TIMINGS)
def test_k_blocks_add_up_and_a_commit_tells_when(timing: str) -> None:
    rng = np.random.default_rng(0)
    a, b = halves(rng, 128), halves(rng, 64)
    m = Mma([a], [b])
    for block in range(4):
        m.mma(instruction(128, 64), accumulate=int(block > 0), k_block=block)
    m.commit()
    m.read(64)
    m.dealloc()
    assert np.array_equal(m.run(timing=timing)[0], product(a, b))


@pytest.mark.parametrize("timing", TIMINGS)
def test_a_pair_computes_256_rows_from_both_shared_memories(timing: str) -> None:
    rng = np.random.default_rng(1)
    a = [halves(rng, 128) for _ in range(2)]
    b = [halves(rng, 32) for _ in range(2)]
    m = Mma(a, b)
    for block in range(4):
        m.mma(instruction(256, 64), accumulate=int(block > 0), k_block=block)
    m.commit()
    m.read(64)
    m.dealloc()
    found = m.run(timing=timing)
    for rank in range(2):
        assert np.array_equal(found[rank], product(a[rank], np.concatenate(b)))


def test_a_pair_computes_128_rows_with_columns_folded() -> None:
    rng = np.random.default_rng(2)
    a = [halves(rng, 64) for _ in range(2)]
    b = [halves(rng, 32) for _ in range(2)]
    m = Mma(a, b, d_width=32)
    for block in range(4):
        m.mma(instruction(128, 64), accumulate=int(block > 0), k_block=block)
    m.commit()
    m.read(32)
    m.dealloc()
    found = m.run()
    for rank in range(2):
        full = product(a[rank], np.concatenate(b))
        assert np.array_equal(found[rank], np.concatenate([full[:, :32], full[:, 32:]]))


def test_m_64_fills_half_of_each_quarter() -> None:
    rng = np.random.default_rng(3)
    a, b = halves(rng, 64), halves(rng, 16)
    m = Mma([a], [b], d_width=16)
    m.k("shl.b32 %r20, %r4, 21; add.u32 %r20, %r20, %r3; mov.b32 %r21, 0x42280000;")
    m.k(f"tcgen05.st.sync.aligned.32x32b.x16.b32 [%r20], {{{', '.join(['%r21'] * 16)}}};")
    m.k("tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;")
    m.mma(instruction(64, 16))
    m.commit()
    m.read(16)
    m.dealloc()
    found = m.run()[0].reshape(4, 2, 16, 16)
    expected = product(a[:, :16], b[:, :16])
    assert np.array_equal(found[:, 0].reshape(64, 16), expected)
    assert (found[:, 1] == 42).all()


def test_an_f16_accumulator_is_read_with_packing() -> None:
    rng = np.random.default_rng(4)
    a, b = halves(rng, 128), halves(rng, 16)
    m = Mma([a], [b], d_width=8)
    m.mma(instruction(128, 16, d=0))
    m.commit()
    m.k.wait("%r1+8")
    m.k("shl.b32 %r20, %r4, 21; add.u32 %r20, %r20, %r3;")
    m.k(f"tcgen05.ld.sync.aligned.32x32b.x8.pack::16b.b32 {registers(100, 8)}, [%r20];")
    m.k("tcgen05.wait::ld.sync.aligned; mul.wide.u32 %d5, %r0, 32; add.u64 %d5, %d5, %d1;")
    for i in range(8):
        m.k(f"st.global.b32 [%d5+{4 * i}], %r{100 + i};")
    m.dealloc()
    found = m.run()[0].view(np.float16)
    assert np.array_equal(found, product(a[:, :16], b[:, :16]).astype(np.float16))


def test_scale_input_d_divides_the_old_accumulator() -> None:
    ones = np.ones((128, 64), dtype=np.float16)
    m = Mma([ones], [ones[:16]], d_width=16)
    m.mma(instruction(128, 16))
    m.mma(instruction(128, 16), accumulate=1, more=", 3")
    m.commit()
    m.read(16)
    m.dealloc()
    assert (m.run() == 16 / 8 + 16).all()


def simple(columns: int = 64) -> Mma:
    rng = np.random.default_rng(5)
    return Mma([halves(rng, 128)], [halves(rng, 64)], columns)


def test_reading_before_the_commit_is_reported() -> None:
    m = simple()
    m.mma(instruction(128, 64))
    m.commit()
    m.read(64, wait=False)
    m.dealloc()
    error = fault_of(m)
    assert error.code == "E243"
    assert "tcgen05.ld" in str(error)


def test_accumulating_on_what_nothing_wrote_is_reported() -> None:
    m = simple()
    m.mma(instruction(128, 64), accumulate=1)
    m.commit()
    m.read(64)
    m.dealloc()
    assert fault_of(m).code == "E244"


def test_an_accumulator_beyond_the_allocation_is_reported() -> None:
    m = simple(columns=32)
    m.mma(instruction(128, 64))
    assert fault_of(m).code == "E242"


def test_an_operand_outside_shared_memory_is_reported() -> None:
    m = simple()
    m.k("add.u64 %d11, %d11, 3584;")
    m.mma(instruction(128, 64))
    error = fault_of(m)
    assert error.code == "E236"
    assert "B of 64 rows" in str(error)


def test_an_operand_that_nothing_wrote_is_reported() -> None:
    m = simple()
    m.k("add.u64 %d11, %d11, 1024;")
    m.mma(instruction(128, 64))
    m.commit()
    m.read(64)
    m.dealloc()
    assert fault_of(m).code == "E237"


def test_a_descriptor_without_its_version_is_reported() -> None:
    m = simple()
    m.k(f"and.b64 %d11, %d11, {(1 << 64) - 1 - (7 << 46)};")
    m.mma(instruction(128, 64))
    assert fault_of(m).code == "E234"


def test_leaving_columns_allocated_is_reported() -> None:
    m = simple()
    m.mma(instruction(128, 64))
    m.commit()
    m.read(64)
    error = fault_of(m)
    assert error.code == "E245"
    assert "64 from column 0" in str(error)


def test_freeing_while_an_mma_is_unfinished_is_reported() -> None:
    m = simple()
    m.mma(instruction(128, 64))
    m.dealloc()
    assert fault_of(m).code == "E241"


def test_freeing_other_columns_than_allocated_is_reported() -> None:
    m = simple()
    m.dealloc(32)
    assert fault_of(m).code == "E241"


def load_without_wait() -> Mma:
    m = simple()
    m.mma(instruction(128, 64))
    m.commit()
    m.k.wait("%r1+8")
    m.k("shl.b32 %r20, %r4, 21; add.u32 %r20, %r20, %r3;")
    m.k(f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {registers(100, 8)}, [%r20];")
    return m


def test_overwriting_columns_whose_load_was_not_waited_for_is_reported() -> None:
    m = load_without_wait()
    m.k("bar.sync 0;")
    m.mma(instruction(128, 64))
    m.k("tcgen05.wait::ld.sync.aligned;")
    error = fault_of(m)
    assert error.code == "E243"
    assert "has not been waited for" in str(error)


def test_loaded_registers_used_before_their_wait_are_reported() -> None:
    m = load_without_wait()
    m.k("mov.b64 %d20, {%r100, %r101}; mov.b64 {%r200, %r201}, %d20; st.global.b32 [%d1], %r201;")
    m.k("tcgen05.wait::ld.sync.aligned;")
    error = fault_of(m)
    assert error.code == "E247"
    assert "st.global.b32" in str(error)


def test_moving_loaded_registers_before_their_wait_is_no_use() -> None:
    m = load_without_wait()
    m.k("mov.b64 %d20, {%r100, %r101}; tcgen05.wait::ld.sync.aligned;")
    m.k("mov.b64 {%r200, %r201}, %d20; setp.eq.u32 %p5, %r0, 9; @%p5 st.global.b32 [%d1], %r201;")
    m.dealloc()
    rng = np.random.default_rng(5)
    a, b = halves(rng, 128), halves(rng, 64)
    assert m.run()[0, 0, 0] == product(a[:, :16], b[:, :16])[9, 1]


def test_a_commit_waits_only_for_the_mmas_of_its_own_thread() -> None:
    m = simple()
    m.mma(instruction(128, 64))
    m.k("setp.eq.u32 %p2, %r0, 32;")
    m.commit()
    m.read(64)
    m.dealloc()
    with pytest.raises(EmulationError) as caught:
        m.run(timing="starve", target="mma")
    assert caught.value.code == "E243"


def test_one_kernel_cannot_mix_cta_groups() -> None:
    m = simple()
    m.group = 2
    m.mma(instruction(256, 64))
    assert fault_of(m).code == "E249"


def allocate(k: Kernel, columns: int, slot: int) -> None:
    k(f"mov.b32 %r6, {columns}; add.u32 %r7, %r1, {slot};")
    k("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r7], %r6;")
    k(f"ld.shared.b32 %r3, [%r1+{slot}];")


def free(k: Kernel, columns: int, register: str = "%r3") -> None:
    k(f"mov.b32 %r6, {columns};")
    k(f"tcgen05.dealloc.cta_group::1.sync.aligned.b32 {register}, %r6;")


def test_an_allocation_waits_until_columns_are_free() -> None:
    out = np.zeros(2, dtype=np.uint32)
    k = Kernel()
    k.buffer(out, TARGET)
    k(f"ld.param.u64 %d1, [p{k.param(TARGET)}]; setp.lt.u32 %p1, %r0, 32; @!%p1 bra OTHER;")
    allocate(k, 512, 0)
    k("mov.b32 %r10, 7; @%p0 st.global.b32 [%d1], %r10; bar.sync 1, 64;")
    free(k, 512)
    k("bra END; OTHER: bar.sync 1, 64;")
    allocate(k, 256, 4)
    k("setp.eq.u32 %p2, %r0, 32; @%p2 st.global.b32 [%d1+4], %r3;")
    free(k, 256)
    k("END:")
    k.run(block=64)
    assert out.tolist() == [7, 0]


def test_an_allocation_that_can_never_be_had_is_a_hang_that_says_so() -> None:
    k = Kernel()
    allocate(k, 512, 0)
    allocate(k, 32, 4)
    with pytest.raises(Hang) as caught:
        k.run()
    assert "32 free tensor memory columns" in caught.value.table()


@pytest.mark.parametrize("columns", [48, 1024])
def test_an_illegal_number_of_columns_is_reported(columns: int) -> None:
    k = Kernel()
    allocate(k, columns, 0)
    with pytest.raises(EmulationError) as caught:
        k.run()
    assert caught.value.code == "E240"


def test_a_pair_waits_for_a_peer_that_never_allocates() -> None:
    k = Kernel()
    k("setp.eq.u32 %p1, %r2, 1; @%p1 bra END; mov.b32 %r6, 64;")
    k("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], %r6;")
    k("ld.shared.b32 %r3, [%r1]; mov.b32 %r6, 64;")
    k("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, %r6;")
    k("END: barrier.cluster.arrive; barrier.cluster.wait;")
    with pytest.raises(Hang) as caught:
        k.run(grid=2, cluster=2)
    assert "rank 1 to allocate 64 columns too" in caught.value.table()


def test_freeing_before_the_peer_has_allocated_is_reported() -> None:
    k = Kernel()
    k("setp.eq.u32 %p1, %r2, 0; @%p1 bra GO; mov.b32 %r10, 0;")
    k("SPIN: add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 3000; @%p2 bra SPIN;")
    k("GO: mov.b32 %r6, 64;")
    k("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], %r6;")
    k("ld.shared.b32 %r3, [%r1];")
    k("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, %r6;")
    k("barrier.cluster.arrive; barrier.cluster.wait;")
    with pytest.raises(EmulationError) as caught:
        k.run(grid=2, cluster=2, timing="eager")
    assert caught.value.code == "E241"
    assert "first: tcgen05.alloc by CTA (0,0,0) rank 0, warp 0" in caught.value.detail
    assert "missing: a cluster barrier after the allocations" in caught.value.detail


SHAPES = [("32x32b", 1, 8, 8), ("16x64b", 1, 4, 8), ("16x128b", 2, 4, 16), ("16x256b", 4, 2, 16)]


@pytest.mark.parametrize(("shape", "per", "repeat", "columns"), SHAPES)
def test_a_store_and_a_load_of_one_shape_are_inverses_and_agree_with_32x32b(
    shape: str, per: int, repeat: int, columns: int
) -> None:
    """Warp 0 stores with 32x32b, loads with the other shape, which must find the same cells."""
    count = per * repeat
    out = np.zeros((count, 32), dtype=np.uint32)
    k = Kernel()
    k.buffer(out, TARGET)
    k(f"ld.param.u64 %d1, [p{k.param(TARGET)}];")
    allocate(k, 32, 0)
    for i in range(columns):
        k(f"mad.lo.u32 %r{100 + i}, %r0, 1000, {i};")  # lane * 1000 + column
    k(f"tcgen05.st.sync.aligned.32x32b.x{columns}.b32 [%r3], {registers(100, columns)};")
    k("tcgen05.wait::st.sync.aligned;")
    k(f"tcgen05.ld.sync.aligned.{shape}.x{repeat}.b32 {registers(200, count)}, [%r3];")
    k("tcgen05.wait::ld.sync.aligned;")
    k(f"tcgen05.st.sync.aligned.{shape}.x{repeat}.b32 [%r3], {registers(200, count)};")
    k("tcgen05.wait::st.sync.aligned;")
    k(f"tcgen05.ld.sync.aligned.{shape}.x{repeat}.b32 {registers(300, count)}, [%r3];")
    k("tcgen05.wait::ld.sync.aligned;")
    for i in range(count):
        k("mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d2, %d1;")
        k(f"st.global.b32 [%d2+{128 * i}], %r{300 + i};")
    free(k, 32)
    k.run()
    for register in range(count):
        for thread in range(32):
            lane, column = {
                "32x32b": (thread, register),
                "16x64b": (thread // 4 + 8 * (thread % 2), thread // 2 % 2 + 2 * register),
                "16x128b": (thread // 4 + 8 * (register % 2), thread % 4 + 4 * (register // 2)),
                "16x256b": (
                    thread // 4 + 8 * (register // 2 % 2),
                    2 * (thread % 4) + register % 2 + 8 * (register // 4),
                ),
            }[shape]
            assert out[register, thread] == lane * 1000 + column


def test_a_warp_cannot_reach_the_lanes_of_another() -> None:
    k = Kernel()
    allocate(k, 32, 0)
    k("add.u32 %r4, %r3, 0x200000;")
    k("tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r0};")
    with pytest.raises(EmulationError) as caught:
        k.run()
    assert caught.value.code == "E246"


def test_loading_what_nothing_wrote_is_reported() -> None:
    k = Kernel()
    allocate(k, 32, 0)
    k("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r3];")
    with pytest.raises(EmulationError) as caught:
        k.run()
    assert caught.value.code == "E244"
