"""Each rule of race detection finds a fault in a small kernel, and nothing in its mended twin.

The fault shows whatever the schedule: it is looked for in what orders the accesses, not in the
values that one run happens to see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from ptx import Kernel
from tensors import Mma, halves, instruction

from gemmgen.compile.launch import Launch
from gemmgen.emulate import EmulationError, Settings, emulate
from gemmgen.emulate.codes import CODES

SOURCE, TARGET = 0x1_0000_0000, 0x2_0000_0000
SYNC = "bar.sync 0;"
CLUSTER = "barrier.cluster.arrive; barrier.cluster.wait;"
INIT = "@%p0 mbarrier.init.shared.b64 [%r1], 1;"
INIT_FENCE = "fence.mbarrier_init.release.cluster;"
PROXY_FENCE = "fence.proxy.async.shared::cta;"
DATA = 64  # offset of the bytes that race
COPY_IN = f"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1+{DATA}], [%d0], 16"
COPY_OUT = f"cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1+{DATA}], 16"
READ_DONE = "@%p0 cp.async.bulk.wait_group.read 0;"
SECOND = "setp.ge.u32 %p1, %r0, 32;"  # %p1: the second warp
WRITE = f"@%p0 st.shared.v4.u32 [%r1+{DATA}], {{%r0, %r0, %r0, %r0}};"
PEER = "mov.u32 %r10, 1; mapa.shared::cluster.u32 %r11, %r1, %r10; setp.eq.u32 %p2, %r2, 0;"


def kernel(*lines: str) -> Kernel:
    """`%d0` points at 16 readable bytes, `%d1` at 256 writable ones."""
    k = Kernel()
    k.buffer(np.arange(4, dtype=np.uint32), SOURCE)
    k.buffer(np.zeros(64, dtype=np.uint32), TARGET)
    k(f"ld.param.u64 %d0, [p{k.param(SOURCE)}]; ld.param.u64 %d1, [p{k.param(TARGET)}];")
    for number, line in enumerate(lines, 1):
        k(f".loc 1 {number} 0")
        if line.startswith("wait "):
            k.wait(line.removeprefix("wait "))
        else:
            k(line)
    return k


def loaded(wait: str) -> Kernel:
    """A bulk copy lands where threads have written, and is then read."""
    return kernel(
        INIT, f"@%p0 st.shared.u32 [%r1+{DATA}], 7;", PROXY_FENCE, INIT_FENCE, SYNC,
        "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;", f"@%p0 {COPY_IN}, [%r1];",
        wait, f"ld.shared.u32 %r5, [%r1+{DATA}];", "wait %r1",
    )  # fmt: skip


def stored(fence: str, *after: str) -> Kernel:
    """Threads write, a bulk copy stores it, something comes after."""
    copy = (f"@%p0 {COPY_OUT};", "@%p0 cp.async.bulk.commit_group;")
    return kernel(WRITE, fence, *copy, *after)


def two_warps(between: str) -> Kernel:
    write = f"st.shared.u32 [%r1+{DATA}], 7;"
    return kernel(SECOND, f"@!%p1 {write}", between, f"@%p1 {write}")


def two_lanes(between: str) -> Kernel:
    address = "setp.eq.u32 %p3, %r0, 1;"
    write = f"st.shared.u32 [%r1+{DATA}], 7;"
    return kernel(address, f"@%p0 {write}", between, f"@%p3 {write}")


def through_memory(release: str, acquire: str) -> Kernel:
    """CTA 0 writes and raises a flag, CTA 1 waits for the flag and writes the same."""
    return kernel(
        "mov.u32 %r9, %ctaid.x; setp.eq.u32 %p4, %r9, 0; and.pred %p5, %p4, %p0;",
        "not.pred %p6, %p4; and.pred %p6, %p6, %p0;",
        f"@%p5 st.global.u32 [%d1], 1; @%p5 red.{release}.gpu.global.add.u32 [%d1+64], 1;",
        f"SPIN: mov.u32 %r5, 1; @%p6 ld.{acquire}.gpu.global.u32 %r5, [%d1+64];",
        "setp.eq.u32 %p7, %r5, 0; @%p7 bra SPIN;",
        "@%p6 st.global.u32 [%d1], 2;",
    )


def multiplied(wait: bool) -> Kernel:
    """Tensor Memory is read after a commit that is, or is not, waited for."""
    rng = np.random.default_rng(0)
    m = Mma([halves(rng, 128)], [halves(rng, 64)])
    m.k(".loc 1 9 0")
    m.k("tcgen05.fence::after_thread_sync;")
    m.k("shl.b32 %r20, %r4, 21; add.u32 %r20, %r20, %r3; mov.b32 %r21, 0;")
    zeros = ", ".join(["%r21"] * 64)
    m.k(f"tcgen05.st.sync.aligned.32x32b.x64.b32 [%r20], {{{zeros}}};")
    m.k("tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;")
    m.k("tcgen05.fence::after_thread_sync;")
    m.mma(instruction(128, 64))
    m.commit()
    m.read(64, wait=wait)
    m.k("tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;")
    m.k.wait("%r1+8")
    m.dealloc()
    return m.k


def announced(between: str) -> Kernel:
    """A barrier is initialised by one warp and used by another."""
    return kernel(SECOND, INIT, between, "@%p1 mbarrier.arrive.shared.b64 _, [%r1], 1;")


def announced_to_copies(fence: str) -> Kernel:
    return kernel(
        INIT, fence, SYNC, "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;",
        f"@%p0 {COPY_IN}, [%r1];", "wait %r1",
    )  # fmt: skip


def announced_to_peer(fence: str) -> Kernel:
    """The fence releases the init: the cluster barrier itself may be relaxed."""
    arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];"
    relaxed = CLUSTER.replace("arrive;", "arrive.relaxed;")
    return kernel(PEER, INIT, fence, relaxed, "and.pred %p2, %p2, %p0;", f"@%p2 {arrive}", CLUSTER)


def remote(scope: str) -> Kernel:
    arrive = f"mbarrier.arrive.release.{scope}.shared::cluster.b64 _, [%r11];"
    return kernel(
        PEER, INIT, INIT_FENCE, CLUSTER, "and.pred %p2, %p2, %p0;", f"@%p2 {arrive}", CLUSTER
    )  # fmt: skip


def leaves(last: str) -> Kernel:
    """CTA 0 arrives in its peer, which ends."""
    arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];"
    return kernel(
        PEER, INIT, INIT_FENCE, CLUSTER, "and.pred %p2, %p2, %p0;", f"@%p2 {arrive}", last
    )


def twice(offset: int) -> Kernel:
    k = kernel("@%p0 st.global.u32 [%d1], 1;", SYNC, f"@%p0 st.global.u32 [%d1+{offset}], 2;")
    k.buffers[1].once = True
    return k


FLAG = through_memory("release", "acquire")
PAIRS = {
    "E260 load": (loaded(""), loaded("wait %r1"), 1),
    "E260 store": (
        stored(PROXY_FENCE, WRITE, READ_DONE), stored(PROXY_FENCE, READ_DONE, WRITE), 1
    ),
    "E261": (stored("", READ_DONE), stored(PROXY_FENCE, READ_DONE), 1),
    "E262 warps": (two_warps(""), two_warps(SYNC), 1),
    "E262 lanes": (two_lanes(""), two_lanes("bar.warp.sync 0xffffffff;"), 1),
    "E263 release": (through_memory("relaxed", "acquire"), FLAG, -2),
    "E263 acquire": (through_memory("release", "relaxed"), FLAG, -2),
    "E264": (multiplied(wait=False), multiplied(wait=True), 1),
    "E266 warps": (announced(""), announced(SYNC), 1),
    "E266 copies": (announced_to_copies(""), announced_to_copies(INIT_FENCE), 1),
    "E266 CTAs": (announced_to_peer(""), announced_to_peer(INIT_FENCE), 2),
    "E267": (remote("cta"), remote("cluster"), 2),
    "E268 store": (stored(PROXY_FENCE), stored(PROXY_FENCE, READ_DONE), 1),
    "E268 CTAs": (leaves(""), leaves(CLUSTER), 2),
    "E269": (twice(0), twice(4), 1),
}  # fmt: skip


def told(k: Kernel, ctas: int, timing: str) -> str:
    """What race detection says; `ctas` below 0 are no cluster."""
    cluster = (max(ctas, 1), 1, 1)
    grid, smem = (abs(ctas), 1, 1), 1024 + 2 * 32768
    block = 128 if "tcgen05" in k.text() else 64
    launch = Launch(k.text(), "kernel", grid, (block, 1, 1), cluster, smem, tuple(k.params))
    try:
        emulate(launch, k.buffers, settings=Settings(timing=timing, races=True))
    except EmulationError as error:
        return str(error)
    return ""


def runs() -> Iterator[tuple[str, str]]:
    for name in PAIRS:
        for timing in ("lazy", "eager", "random"):
            # under random timing the peer is gone before it is reached: E211 says so first
            if (name, timing) not in (
                ("E268 CTAs", "random"),
                ("E264", "lazy"),
                ("E264", "random"),
            ):
                yield name, timing


@pytest.mark.parametrize(("name", "timing"), tuple(runs()))
def test_a_fault_is_found_and_its_mended_twin_passes(name: str, timing: str) -> None:
    faulty, mended, ctas = PAIRS[name]
    message = told(faulty, ctas, timing)
    assert message.startswith(f"error[{name[:4]}]"), message
    assert told(mended, ctas, timing) == ""


@pytest.mark.parametrize("name", [name for name in PAIRS if "E268" not in name])
def test_both_accesses_their_source_lines_and_the_missing_edge_are_named(name: str) -> None:
    faulty, _, ctas = PAIRS[name]
    message = told(faulty, ctas, "eager")
    for word in ("first", "then"):
        found = re.search(rf"{word}: .* by CTA .*\n\s+PTX line \d+: .*\(kernel.py:(\d+)\)", message)
        assert found, message
        assert int(found[1]) > 0
    assert re.search(r"missing: \S.*\n", message)


@pytest.mark.parametrize("code", sorted({name[:4] for name in PAIRS} | {"E265"}))
def test_every_race_code_is_explained(code: str) -> None:
    assert len(CODES[code]) > 60


def test_a_thread_cannot_wait_on_a_barrier_of_another_cta() -> None:
    wait = "mbarrier.try_wait.parity.b64 %p9, [%d9], 0;"
    generic = "cvt.u64.u32 %d9, %r11; cvta.shared.u64 %d9, %d9;"
    k = kernel(PEER, INIT, INIT_FENCE, CLUSTER, generic, f"@%p2 {wait}", CLUSTER)
    message = told(k, 2, "lazy")
    assert message.startswith("error[E267]"), message
    assert "waits on mbarrier at 0x400 of CTA (1,0,0) rank 1" in message
