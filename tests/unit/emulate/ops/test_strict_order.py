"""What the PTX ISA asks for and machines often forgive: race detection insists on it."""

from __future__ import annotations

import numpy as np
import pytest
from ptx import Kernel, registers
from tensors import SMEM, Mma, halves, instruction

from gemmgen.compile.launch import Launch
from gemmgen.emulate import EmulationError, emulate
from gemmgen.emulate.race import RaceDetector, Rules

FENCE_BEFORE = "tcgen05.fence::before_thread_sync;"
FENCE_AFTER = "tcgen05.fence::after_thread_sync;"
READ = f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {registers(100, 8)}, [%r20];"
WAIT = "tcgen05.wait::ld.sync.aligned;"


def code_of(kernel: Kernel, *, block: int = 128, ctas: int = 1, strict: bool = True) -> str:
    """The code of the fault that race detection finds, or nothing."""
    launch = Launch(
        ptx=kernel.text(),
        entry="kernel",
        grid=(ctas, 1, 1),
        block=(block, 1, 1),
        cluster=(ctas, 1, 1),
        smem_bytes=SMEM,
        params=tuple(kernel.params),
    )
    try:
        emulate(launch, kernel.buffers, listeners=[RaceDetector(Rules(strict=strict))])
    except EmulationError as error:
        return error.code
    return ""


def mma(*, after_load: str, after_commit: str) -> Mma:
    """Load operands, multiply, and wait for it, with fences to choose."""
    rng = np.random.default_rng(0)
    m = Mma([halves(rng, 128)], [halves(rng, 64)])
    m.k(after_load)
    m.mma(instruction(128, 64))
    m.commit()
    m.k.wait("%r1+8")
    m.k(after_commit)
    m.k("shl.b32 %r20, %r4, 21; add.u32 %r20, %r20, %r3;")
    return m


def reading(*lines: str, before_free: str = FENCE_BEFORE) -> Mma:
    """The same with every fence, then `lines`, a barrier, and dealloc."""
    m = mma(after_load=FENCE_AFTER, after_commit=FENCE_AFTER)
    for line in lines:
        m.k(line)
    m.k(before_free + "bar.sync 0; " + FENCE_AFTER)
    m.dealloc()
    return m


@pytest.mark.parametrize(("fence", "code"), [("", "E265"), (FENCE_AFTER, "")])
def test_an_mma_needs_a_fence_after_the_wait_for_its_operands(fence: str, code: str) -> None:
    m = mma(after_load=fence, after_commit=FENCE_AFTER)
    m.k(READ + WAIT + FENCE_BEFORE + "bar.sync 0;" + FENCE_AFTER)
    m.dealloc()
    assert code_of(m.k) == code
    assert not code_of(m.k, strict=False)


@pytest.mark.parametrize(("fence", "code"), [("", "E265"), (FENCE_AFTER, "")])
def test_a_load_needs_a_fence_after_the_wait_for_the_mma(fence: str, code: str) -> None:
    m = mma(after_load=FENCE_AFTER, after_commit=fence)
    m.k(READ + WAIT + FENCE_BEFORE + "bar.sync 0;" + FENCE_AFTER)
    m.dealloc()
    assert code_of(m.k) == code


@pytest.mark.parametrize(("fence", "code"), [("", "E265"), (FENCE_BEFORE, "")])
def test_what_was_read_and_waited_for_needs_a_fence_before_the_barrier(
    fence: str, code: str
) -> None:
    assert code_of(reading(READ, WAIT, before_free=fence).k) == code


@pytest.mark.parametrize(
    ("barrier", "code"),
    [("bar.sync 0;", "E264"), ("barrier.cluster.arrive; barrier.cluster.wait;", "")],
)
def test_a_pair_meets_before_it_frees_what_both_have_read(barrier: str, code: str) -> None:
    rng = np.random.default_rng(0)
    m = Mma([halves(rng, 128)] * 2, [halves(rng, 32)] * 2)
    m.k(FENCE_AFTER)
    m.mma(instruction(256, 64))
    m.commit()
    m.k.wait("%r1+8")
    m.k(FENCE_AFTER + "shl.b32 %r20, %r4, 21; add.u32 %r20, %r20, %r3;")
    m.k(READ + WAIT + FENCE_BEFORE + barrier + FENCE_AFTER)
    m.k("@!%p1 bra NOFREE; mov.b32 %r6, 64;")
    m.k("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, %r6; NOFREE:")
    m.k("barrier.cluster.arrive; barrier.cluster.wait;")
    assert code_of(m.k, ctas=2) == code
    assert not code_of(m.k, ctas=2, strict=False)


def test_registers_used_with_no_wait_in_the_kernel_are_undefined() -> None:
    use = "@%p0 st.global.b32 [%d1], %r101;"
    assert code_of(reading(READ, use).k) == "E247"
    assert not code_of(reading(READ, use).k, strict=False)
    assert not code_of(reading(READ, WAIT, use).k)


def test_registers_used_with_no_wait_before_the_branch_are_undefined() -> None:
    late = ("@%p0 st.global.b32 [%d1], %r101;", "bra.uni LATE; LATE:", WAIT)
    assert code_of(reading(READ, *late).k) == "E247"
    assert not code_of(reading(READ, *late).k, strict=False)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (["mbarrier.init.shared.b64 [%r1], 1;"], "E216"),
        (["@%p0 mbarrier.init.shared.b64 [%r1], 1;"] * 2, "E216"),
        (
            [
                "@%p0 mbarrier.init.shared.b64 [%r1], 1;",
                "@%p0 mbarrier.inval.shared.b64 [%r1];",
                "@%p0 mbarrier.init.shared.b64 [%r1], 1;",
            ],
            "",
        ),
    ],
    ids=["by all lanes", "twice", "after an inval"],
)
def test_a_barrier_is_initialised_over_nothing(lines: list[str], code: str) -> None:
    k = Kernel()
    for line in lines:
        k(line)
    assert code_of(k, block=32) == code
    assert not code_of(k, block=32, strict=False)
