"""Tensor copies in whole kernels: places, bounds, signals, and what goes wrong."""

import numpy as np
import pytest
from maps import tensor_map
from ptx import Kernel, swizzled

from gemmgen.emulate import EmulationError, Hang

SOURCE, TARGET = 0x1_0000_0000, 0x2_0000_0000


def numbers(rows: int, columns: int) -> np.ndarray:
    return np.arange(rows * columns, dtype=np.uint16).reshape(rows, columns)


def load_kernel(
    source: np.ndarray, box: tuple[int, int], at: tuple[int, int], code: int, expect: int
) -> tuple[Kernel, np.ndarray]:
    """One box to smem + 1024 (mbarrier at smem), then the box's bytes to global memory."""
    rows, columns = source.shape
    size = box[0] * box[1] * 2
    out = np.full(size, 0xEE, dtype=np.uint8)
    k = Kernel()
    k.buffer(source, SOURCE)
    k.buffer(out, TARGET)
    image = tensor_map(SOURCE, (columns, rows), (columns * 2,), box, swizzle=code)
    k.map_address("%d0", k.param(image))
    k(f"ld.param.u64 %d1, [p{k.param(TARGET)}];")
    k("@%p0 mbarrier.init.shared.b64 [%r1], 1; bar.sync 0;")
    k(f"@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {expect};")
    k(f"mov.b32 %r10, {at[0]}; mov.b32 %r11, {at[1]};")
    k(
        "@%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
        "[%r1+1024], [%d0, {%r10, %r11}], [%r1];"
    )
    k.wait("%r1")
    k.copy_out(1024, size, "%d1")
    return k, out


@pytest.mark.parametrize(
    ("code", "span", "inner"), [(0, 0, 64), (1, 32, 16), (2, 64, 32), (3, 128, 64)]
)
@pytest.mark.parametrize("timing", ["lazy", "eager", "random"])
def test_a_box_lands_swizzled_and_signals_its_bytes(
    code: int, span: int, inner: int, timing: str
) -> None:
    source = numbers(64, 128)
    k, out = load_kernel(source, (inner, 16), (32, 8), code, inner * 16 * 2)
    k.run(timing=timing)
    box = source[8:24, 32 : 32 + inner].copy().view(np.uint8)
    assert np.array_equal(out.reshape(16, -1), swizzled(box, span))


@pytest.mark.parametrize("at", [(-16, -3), (96, 56), (200, 0)])
def test_elements_outside_the_tensor_are_zero_and_counted(at: tuple[int, int]) -> None:
    source = numbers(64, 128) + 1
    k, out = load_kernel(source, (64, 16), at, 0, 64 * 16 * 2)
    k.run()
    padded = np.zeros((64 + 400, 128 + 600), dtype=np.uint16)
    padded[200:264, 300:428] = source
    expected = padded[200 + at[1] : 216 + at[1], 300 + at[0] : 364 + at[0]]
    assert np.array_equal(out.view(np.uint16).reshape(16, 64), expected)


@pytest.mark.parametrize("expect", [2048 - 16, 2048 + 16])
def test_a_wrong_byte_count_is_never_a_completed_phase(expect: int) -> None:
    k, _ = load_kernel(numbers(64, 128), (64, 16), (0, 0), 3, expect)
    with pytest.raises(Hang) as caught:
        k.run()
    assert f"and {expect - 2048} tx bytes pending" in caught.value.table()


def test_a_three_dimensional_box_is_outermost_first_in_memory() -> None:
    source = np.arange(4 * 6 * 16, dtype=np.uint16).reshape(4, 6, 16)
    out = np.zeros(2 * 3 * 8, dtype=np.uint16)
    k = Kernel()
    k.buffer(source, SOURCE)
    k.buffer(out, TARGET)
    image = tensor_map(SOURCE, (16, 6, 4), (32, 192), (8, 3, 2))
    k.map_address("%d0", k.param(image))
    k(f"ld.param.u64 %d1, [p{k.param(TARGET)}];")
    k("@%p0 mbarrier.init.shared.b64 [%r1], 1;")
    k("@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 96;")
    k("mov.b32 %r10, 8; mov.b32 %r11, 2; mov.b32 %r12, 1;")
    k(
        "@%p0 cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%r1+1024], [%d0, {%r10, %r11, %r12}], [%r1];"
    )
    k.wait("%r1")
    k.copy_out(1024, 96, "%d1")
    k.run()
    assert np.array_equal(out.reshape(2, 3, 8), source[1:3, 2:5, 8:16])


def multicast_kernel(mask: int, paired: bool) -> tuple[Kernel, np.ndarray]:
    """CTA 0 sends one box of 256 bytes to the CTAs of the mask; every CTA copies its memory out.

    Unpaired, each CTA of the mask waits on its own mbarrier; paired, CTA 0 waits for all.
    """
    source = numbers(8, 16)
    out = np.full((2, 256), 0xEE, dtype=np.uint8)
    k = Kernel()
    k.buffer(source, SOURCE)
    k.buffer(out, TARGET)
    k.map_address("%d0", k.param(tensor_map(SOURCE, (16, 8), (32,), (16, 8))))
    k(f"ld.param.u64 %d1, [p{k.param(TARGET)}];")
    k("cvt.u64.u32 %d2, %r2; shl.b64 %d2, %d2, 8; add.u64 %d1, %d1, %d2;")
    k("@%p0 mbarrier.init.shared.b64 [%r1], 1;")
    total = 256 * (mask.bit_count() if paired else 1)
    k(f"@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {total};")
    k("barrier.cluster.arrive; barrier.cluster.wait;")
    k("setp.eq.u32 %p1, %r2, 0; and.pred %p2, %p0, %p1;")
    k(f"mov.b16 %h1, {mask}; mov.b32 %r10, 0;")
    group = ".cta_group::2" if paired else ""
    k(
        "@%p2 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        f".multicast::cluster{group} [%r1+1024], [%d0, {{%r10, %r10}}], [%r1], %h1;"
    )
    if paired:
        k("@!%p1 bra SKIP;")
    else:
        k(f"mov.b32 %r11, {mask}; shr.u32 %r11, %r11, %r2; and.b32 %r11, %r11, 1;")
        k("setp.eq.u32 %p3, %r11, 0; @%p3 bra DONE;")
    k.wait("%r1")
    k("SKIP: barrier.cluster.arrive; barrier.cluster.wait;" if paired else "")
    k.copy_out(1024, 256, "%d1")
    k("DONE: barrier.cluster.arrive; barrier.cluster.wait;")
    return k, out


def test_multicast_lands_and_signals_in_each_cta_of_the_mask() -> None:
    k, out = multicast_kernel(0b11, paired=False)
    k.run(grid=2, cluster=2)
    assert np.array_equal(out.view(np.uint16).reshape(2, 8, 16), np.stack([numbers(8, 16)] * 2))


def test_multicast_leaves_other_ctas_alone() -> None:
    k, out = multicast_kernel(0b10, paired=False)
    k.run(grid=2, cluster=2)
    assert (out[0] == 0xEE).all()
    assert np.array_equal(out[1].view(np.uint16).reshape(8, 16), numbers(8, 16))


def test_a_pair_signals_the_leader_for_both_ctas() -> None:
    k, out = multicast_kernel(0b11, paired=True)
    k.run(grid=2, cluster=2)
    assert np.array_equal(out.view(np.uint16).reshape(2, 8, 16), np.stack([numbers(8, 16)] * 2))


def test_a_mask_beyond_the_cluster_is_refused() -> None:
    k, _ = multicast_kernel(0b101, paired=False)
    with pytest.raises(EmulationError, match="mask 0x5 in a cluster of 2") as caught:
        k.run(grid=2, cluster=2)
    assert caught.value.code == "E231"


def store_kernel(between: str, reduction: str = "") -> tuple[Kernel, np.ndarray]:
    """Each thread writes a word of a 4 x 16 box of ones (fp16); thread 0 stores it at (8, 2)."""
    target = np.full((4, 16), 2.0, dtype=np.float16)
    k = Kernel()
    k.buffer(target, TARGET)
    k.map_address("%d0", k.param(tensor_map(TARGET, (16, 4), (32,), (16, 4))))
    k("shl.b32 %r10, %r0, 2; add.u32 %r10, %r10, %r1; mov.b32 %r11, 0x3c003c00;")
    k("st.shared.b32 [%r10], %r11; fence.proxy.async.shared::cta; bar.sync 0;")
    k("mov.b32 %r12, 8; mov.b32 %r13, 2;")
    name = (
        f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{reduction}"
        if reduction
        else ("cp.async.bulk.tensor.2d.global.shared::cta")
    )
    k(f"@%p0 {name}.tile.bulk_group [%d0, {{%r12, %r13}}], [%r1];")
    k("@%p0 cp.async.bulk.commit_group;")
    k(between)
    k("mov.b32 %r11, 0; bar.sync 0; st.shared.b32 [%r10], %r11; bar.sync 0;")
    k("@%p0 cp.async.bulk.wait_group 0;")
    return k, target


@pytest.mark.parametrize("timing", ["lazy", "eager", "random"])
def test_a_store_writes_only_inside_the_tensor(timing: str) -> None:
    k, target = store_kernel("@%p0 cp.async.bulk.wait_group.read 0;")
    k.run(timing=timing)
    expected = np.full((4, 16), 2.0, dtype=np.float16)
    expected[2:, 8:] = 1
    assert np.array_equal(target, expected)


def stored_by(lanes: int) -> Kernel:
    """The first lanes store the box, each the whole of it, into what is written once."""
    k, _ = store_kernel("@%p0 cp.async.bulk.wait_group.read 0;")
    k.lines = [line.replace("@%p0", "@%p1") for line in k.lines]
    k.lines.insert(0, f"setp.lt.u32 %p1, %r0, {lanes};")
    k.buffers[0].once = True
    return k


def test_the_same_store_by_several_lanes_writes_its_output_again() -> None:
    stored_by(1).run(races=True)
    stored_by(3).run(races=False)
    with pytest.raises(
        EmulationError, match="by the same tensor store in 3 lanes at once"
    ) as caught:
        stored_by(3).run(races=True)
    assert caught.value.code == "E269"


def test_without_its_read_wait_a_store_sends_what_was_written_over_its_source() -> None:
    k, target = store_kernel("")
    k.run(timing="lazy")
    assert (target[2:, 8:] == 0).all()


@pytest.mark.parametrize(("reduction", "value"), [("add", 3.0), ("min", 1.0), ("max", 2.0)])
def test_a_reducing_store_combines_with_memory(reduction: str, value: float) -> None:
    k, target = store_kernel("@%p0 cp.async.bulk.wait_group.read 0;", reduction)
    k.run()
    assert (target[2:, 8:] == value).all()
    assert (target[:2] == 2).all()


def refused(k: Kernel) -> EmulationError:
    with pytest.raises(EmulationError) as caught:
        k.run()
    return caught.value


def test_a_map_that_reaches_outside_its_buffer_is_reported_with_its_box() -> None:
    k, _ = load_kernel(numbers(64, 128), (64, 16), (0, 32), 3, 2048)
    k.buffers[0].data = k.buffers[0].data[: 40 * 256]
    error = refused(k)
    assert error.code == "E232"
    assert "box at (0, 32)" in str(error)
    assert "cp.async.bulk.tensor" in str(error)


def test_garbage_for_a_map_is_reported() -> None:
    k, _ = load_kernel(numbers(64, 128), (64, 16), (0, 0), 3, 2048)
    k.params[0] = bytes(128)
    assert refused(k).code == "E230"


def test_a_box_beyond_shared_memory_is_reported() -> None:
    k, _ = load_kernel(numbers(256, 128), (64, 128), (0, 0), 3, 16384)
    assert refused(k).code == "E205"


def test_a_misaligned_box_is_reported() -> None:
    k, _ = load_kernel(numbers(64, 128), (64, 16), (0, 0), 3, 2048)
    k.lines = [line.replace("[%r1+1024]", "[%r1+1040]") for line in k.lines]
    assert refused(k).code == "E231"


def test_a_load_on_an_mbarrier_without_init_is_reported() -> None:
    k, _ = load_kernel(numbers(64, 128), (64, 16), (0, 0), 3, 2048)
    k.lines = [line.replace("[%r1];", "[%r1+8];") if "tensor" in line else line for line in k.lines]
    assert refused(k).code == "E208"


def test_storing_shared_memory_that_nothing_wrote_is_reported() -> None:
    k, _ = store_kernel("@%p0 cp.async.bulk.wait_group.read 0;")
    k.lines = [line.replace("st.shared.b32 [%r10], %r11; fence", "fence") for line in k.lines]
    assert refused(k).code == "E207"
