"""A tcgen05.fence holds for the thread that executes it: no barrier passes it on."""

from __future__ import annotations

import numpy as np
import pytest
from ptx import registers
from tensors import SMEM, Mma, halves, instruction

from gemmgen.compile.launch import Launch
from gemmgen.emulate import EmulationError, emulate
from gemmgen.emulate.race import RaceDetector, Rules

SYNC = "bar.sync 0;"
BEFORE, AFTER = "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"
READ = f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {registers(100, 8)}, [%r20];"
READ_DONE = "tcgen05.wait::ld.sync.aligned;"


def told(m: Mma) -> str:
    """What strict rules say of a kernel."""
    shape = (1, 1, 1)
    launch = Launch(m.k.text(), "kernel", shape, (128, 1, 1), shape, SMEM, tuple(m.k.params))
    try:
        emulate(launch, m.k.buffers, listeners=[RaceDetector(Rules())])
    except EmulationError as error:
        return str(error)
    return ""


def multiplied() -> Mma:
    """One MMA and its commit; nobody has waited yet."""
    rng = np.random.default_rng(0)
    m = Mma([halves(rng, 128)], [halves(rng, 64)])
    m.k(AFTER)
    m.mma(instruction(128, 64))
    m.commit()
    m.k("shl.b32 %r20, %r4, 21; add.u32 %r20, %r20, %r3;")
    return m


def freed(m: Mma) -> Mma:
    m.k(BEFORE + SYNC + AFTER)
    m.dealloc()
    return m


def read_after_one_warp(after: str, first: str = "") -> Mma:
    """Warp 0 waits for the MMA and meets the others, which read."""
    m = multiplied()
    m.k("@!%p1 bra MEET;")
    m.k.wait("%r1+8")
    m.k(f"{first} MEET: {SYNC} {after}")
    m.k(READ + READ_DONE)
    return freed(m)


def written_again(own: str, of_one: str = "") -> Mma:
    """All warps read the accumulator and meet warp 0, which signals; thread 0 multiplies again."""
    m = multiplied()
    m.k.wait("%r1+8")
    m.k(AFTER + READ + READ_DONE)
    m.k(f"{own} {SYNC}")
    m.k(f"@!%p1 bra ON; {of_one} ON: {SYNC} {AFTER}")
    m.mma(instruction(128, 64))
    m.commit()
    m.k.wait("%r1+8", 1)
    m.k(AFTER)
    return freed(m)


@pytest.mark.parametrize("first", ["", AFTER])
def test_the_thread_that_reads_has_its_own_fence_after_the_barrier(first: str) -> None:
    message = told(read_after_one_warp("", first))
    assert message.startswith("error[E265]"), message
    assert "missing: tcgen05.fence::after_thread_sync by the later thread" in message
    assert told(read_after_one_warp(AFTER, first)) == ""


@pytest.mark.parametrize("of_one", ["", BEFORE])
def test_the_thread_that_has_read_has_its_own_fence_before_the_barrier(of_one: str) -> None:
    message = told(written_again("", of_one))
    assert message.startswith("error[E265]"), message
    assert "missing: tcgen05.fence::before_thread_sync by the earlier thread" in message
    assert told(written_again(BEFORE, of_one)) == ""
