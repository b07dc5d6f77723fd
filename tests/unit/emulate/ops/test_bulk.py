"""Plain bulk copies and cluster launch control."""

import numpy as np
import pytest
from ptx import Kernel

from gemmgen.emulate import EmulationError

SOURCE, TARGET = 0x1_0000_0000, 0x2_0000_0000


def to_shared(size: int, destination: str = "%r1+1024") -> tuple[Kernel, np.ndarray, np.ndarray]:
    source = np.arange(256, dtype=np.uint8)
    out = np.zeros(256, dtype=np.uint8)
    k = Kernel()
    k.buffer(source, SOURCE)
    k.buffer(out, TARGET)
    k(f"ld.param.u64 %d0, [p{k.param(SOURCE)}]; ld.param.u64 %d1, [p{k.param(TARGET)}];")
    k("@%p0 mbarrier.init.shared.b64 [%r1], 1; bar.sync 0;")
    k(f"@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {size};")
    k(
        "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        f"[{destination}], [%d0], {size}, [%r1];"
    )
    k.wait("%r1")
    k.copy_out(1024, size, "%d1")
    return k, source, out


def test_bytes_go_from_global_to_shared_and_back() -> None:
    k, source, out = to_shared(192)
    k.run()
    assert np.array_equal(out[:192], source[:192])
    assert (out[192:] == 0).all()


@pytest.mark.parametrize(
    ("size", "destination", "code"),
    [(200, "%r1+1024", "E233"), (0, "%r1+1024", "E233"), (64, "%r1+1032", "E233"),
     (64, "%r1+8144", "E205"), (512, "%r1+1024", "E204")],
)  # fmt: skip
def test_sizes_and_places_that_cannot_be_copied_are_refused(
    size: int, destination: str, code: str
) -> None:
    k, _, _ = to_shared(size, destination)
    with pytest.raises(EmulationError) as caught:
        k.run()
    assert caught.value.code == code


def test_bytes_go_to_the_shared_memory_of_a_peer_and_signal_it() -> None:
    out = np.zeros(128, dtype=np.uint8)
    k = Kernel()
    k.buffer(out, TARGET)
    k(f"ld.param.u64 %d1, [p{k.param(TARGET)}];")
    k("@%p0 mbarrier.init.shared.b64 [%r1], 1;")
    k("@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 128;")
    k("shl.b32 %r10, %r0, 2; add.u32 %r11, %r10, %r1; st.shared.b32 [%r11+512], %r10;")
    k("barrier.cluster.arrive; barrier.cluster.wait; setp.eq.u32 %p1, %r2, 1; @%p1 bra GET;")
    k("mapa.shared::cluster.u32 %r12, %r1, 1;")
    k(
        "@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
        "[%r12+1024], [%r1+512], 128, [%r12]; bra END;"
    )
    k("GET:")
    k.wait("%r1")
    k.copy_out(1024, 128, "%d1")
    k("END: barrier.cluster.arrive; barrier.cluster.wait;")
    k.run(grid=2, cluster=2)
    assert np.array_equal(out.view(np.uint32), np.arange(0, 128, 4, dtype=np.uint32))


@pytest.mark.parametrize(
    ("element", "dtype", "operation"), [("f32", np.float32, "add"), ("u32", np.uint32, "xor")]
)
def test_a_bulk_reduction_combines_element_by_element(
    element: str, dtype: type, operation: str
) -> None:
    target = np.arange(32).astype(dtype)
    k = Kernel()
    k.buffer(target, TARGET)
    k(f"ld.param.u64 %d1, [p{k.param(TARGET)}];")
    value = int(np.array([3], dtype=dtype).view(np.uint32)[0])
    k(f"shl.b32 %r10, %r0, 2; add.u32 %r11, %r10, %r1; mov.b32 %r12, {value};")
    k("st.shared.b32 [%r11], %r12; bar.sync 0;")
    k(
        f"@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}.{element} "
        "[%d1], [%r1], 128;"
    )
    k("@%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0;")
    k.run()
    old = np.arange(32).astype(dtype)
    assert np.array_equal(target, old + 3 if operation == "add" else old ^ 3)


def test_persistent_clusters_take_over_each_waiting_cluster_once() -> None:
    counts = np.zeros(12, dtype=np.uint32)
    k = Kernel()
    k.buffer(counts, TARGET)
    k(f"ld.param.u64 %d0, [p{k.param(TARGET)}]; mov.u32 %r10, %ctaid.x; mov.b32 %r11, 0;")
    k("@!%p0 bra END; mbarrier.init.shared.b64 [%r1], 1;")
    k("WORK: mul.wide.u32 %d1, %r10, 4; add.u64 %d1, %d0, %d1; red.global.add.u32 [%d1], 1;")
    k("mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;")
    k(
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
        "[%r1+16], [%r1];"
    )
    k("W: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], %r11; @!%p2 bra W;")
    k("xor.b32 %r11, %r11, 1; ld.shared.v2.b64 {%d2, %d3}, [%r1+16]; mov.b128 %q0, {%d2, %d3};")
    k("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q0;")
    k("clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r10, %q0; @%p3 bra WORK;")
    k("END:")
    result = k.run(grid=12, sm_count=3)
    assert (counts == 1).all()
    assert result.ctas == 3
