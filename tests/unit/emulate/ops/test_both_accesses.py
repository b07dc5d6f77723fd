"""A fault between two accesses names both, where each stands, and the edge that is missing."""

from __future__ import annotations

import re

import numpy as np
import pytest
from ptx import Kernel, registers
from tensors import SMEM, Mma, halves, instruction

from gemmgen.compile.launch import Launch
from gemmgen.emulate import EmulationError, emulate
from gemmgen.emulate.race import RaceDetector

READ = f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {registers(100, 8)}, [%r20];"
ADDRESS = "shl.b32 %r20, %r4, 21; add.u32 %r20, %r20, %r3;"
RELINQUISH = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"


def single() -> Mma:
    rng = np.random.default_rng(0)
    return Mma([halves(rng, 128)], [halves(rng, 64)])


def fault(m: Mma) -> EmulationError:
    with pytest.raises(EmulationError) as caught:
        m.run()
    return caught.value


def told(error: EmulationError) -> tuple[str, int, str]:
    """The first access, the PTX line at which it stands, and what is missing."""
    found = re.search(
        r"\n  first: (.*)\n    PTX line (\d+): .*(?:\n.*)*\n  missing: (.*)", error.detail
    )
    assert found, error.detail
    return found[1], int(found[2]), found[3]


def alloc(k: Kernel, columns: int) -> None:
    k(f"mov.b32 %r6, {columns};")
    k("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], %r6;")
    k("ld.shared.b32 %r3, [%r1];")


def dealloc(k: Kernel, columns: int) -> None:
    k(f"mov.b32 %r6, {columns};")
    k("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, %r6;")


def failure(k: Kernel, *, block: int = 32, ctas: int = 1, races: bool = False) -> EmulationError:
    launch = Launch(
        ptx=k.text(),
        entry="kernel",
        grid=(ctas, 1, 1),
        block=(block, 1, 1),
        cluster=(ctas, 1, 1),
        smem_bytes=SMEM,
        params=tuple(k.params),
    )
    with pytest.raises(EmulationError) as caught:
        emulate(launch, k.buffers, listeners=[RaceDetector()] if races else [])
    return caught.value


def test_a_load_before_the_commit_names_the_mma_and_the_commit_it_should_wait_for() -> None:
    m = single()
    m.mma(instruction(128, 64))
    m.commit()
    m.read(64, wait=False)
    error = fault(m)
    first, line, missing = told(error)
    assert error.code == "E243"
    assert first == "tcgen05.mma by CTA (0,0,0), warp 0, lane 0"
    assert error.ptx_line is not None
    assert line < error.ptx_line
    assert missing.startswith("a wait on barrier mbarrier at 0x408 of CTA (0,0,0) that ends after")
    assert "tcgen05.commit.cta_group::1" in error.detail.splitlines()[-1]


def test_a_load_of_an_mma_that_nothing_commits_says_so() -> None:
    m = single()
    m.mma(instruction(128, 64))
    m.read(64, wait=False)
    first, _, missing = told(fault(m))
    assert first == "tcgen05.mma by CTA (0,0,0), warp 0, lane 0"
    assert missing.startswith("tcgen05.commit after the MMA")
    assert missing.endswith("(no such commit has been issued)")


def test_a_commit_for_a_stage_is_not_taken_for_the_one_of_the_tile() -> None:
    m = single()
    m.k("@%p0 mbarrier.init.shared.b64 [%r1+64], 1;")
    m.mma(instruction(128, 64))
    m.k("@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1+64];")
    m.commit()
    m.read(64, wait=False)
    assert told(fault(m))[2].startswith("a wait on barrier mbarrier at 0x408 of CTA")


def test_freeing_under_an_mma_names_the_mma() -> None:
    m = single()
    m.mma(instruction(128, 64))
    m.dealloc()
    error = fault(m)
    assert error.code == "E241"
    assert told(error)[0].startswith("tcgen05.mma by CTA (0,0,0), warp 0")


def test_freeing_other_columns_under_an_mma_names_one_thing_that_came_first() -> None:
    m = single()
    m.mma(instruction(128, 64))
    m.dealloc(32)
    error = fault(m)
    assert told(error)[0].startswith("tcgen05.alloc by CTA (0,0,0), warp 0")
    assert error.detail.count("first: ") == error.detail.count("missing: ") == 1


def test_an_mma_over_a_load_names_the_load_and_the_wait() -> None:
    m = single()
    m.mma(instruction(128, 64))
    m.commit()
    m.k.wait("%r1+8")
    m.k(ADDRESS + READ + "bar.sync 0;")
    m.mma(instruction(128, 64))
    m.k("tcgen05.wait::ld.sync.aligned;")
    error = fault(m)
    first, _, missing = told(error)
    assert error.code == "E243"
    assert first.startswith("tcgen05.ld by CTA (0,0,0), warp")
    assert missing.startswith("tcgen05.wait::ld in warp")


def test_a_second_dealloc_names_the_first() -> None:
    k = Kernel()
    alloc(k, 64)
    dealloc(k, 64)
    dealloc(k, 64)
    error = failure(k)
    first, line, missing = told(error)
    assert error.code == "E241"
    assert first == "tcgen05.dealloc by CTA (0,0,0), warp 0, all lanes"
    assert error.ptx_line is not None
    assert line < error.ptx_line
    assert missing == "one dealloc an alloc: a single warp of the CTA frees, once"


def test_a_dealloc_of_other_columns_names_the_allocation() -> None:
    k = Kernel()
    alloc(k, 64)
    dealloc(k, 32)
    first, _, missing = told(failure(k))
    assert first == "tcgen05.alloc by CTA (0,0,0), warp 0, all lanes"
    assert missing == "the address and the number of columns of one tcgen05.alloc"


def test_an_alloc_after_the_permit_names_where_it_was_relinquished() -> None:
    k = Kernel()
    alloc(k, 64)
    k(RELINQUISH)
    alloc(k, 32)
    error = failure(k)
    first, _, missing = told(error)
    assert error.code == "E240"
    assert first == "tcgen05.relinquish_alloc_permit by CTA (0,0,0), warp 0, all lanes"
    assert missing == "every tcgen05.alloc of the CTA comes before it relinquishes"


def test_a_leak_names_the_allocation() -> None:
    k = Kernel()
    alloc(k, 64)
    error = failure(k)
    first, _, missing = told(error)
    assert error.code == "E245"
    assert first == "tcgen05.alloc by CTA (0,0,0), warp 0, all lanes"
    assert missing.startswith("tcgen05.dealloc by one warp")


def test_a_pair_that_disagrees_names_the_other_allocation() -> None:
    k = Kernel()
    k("setp.eq.u32 %p1, %r2, 0; mov.b32 %r6, 64; @%p1 mov.b32 %r6, 32;")
    k("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], %r6;")
    k("barrier.cluster.arrive; barrier.cluster.wait;")
    error = failure(k, ctas=2)
    assert error.code == "E240"
    assert told(error)[0].startswith("tcgen05.alloc by CTA (")
    assert error.where.split(", warp")[0] not in told(error)[0]


def test_an_init_over_a_barrier_names_the_first_init() -> None:
    k = Kernel()
    k("@%p0 mbarrier.init.shared.b64 [%r1], 1;")
    k("@%p0 mbarrier.init.shared.b64 [%r1], 1;")
    error = failure(k, races=True)
    first, line, missing = told(error)
    assert error.code == "E216"
    assert first == "mbarrier.init by CTA (0,0,0), warp 0, lane 0"
    assert error.ptx_line is not None
    assert line < error.ptx_line
    assert missing.startswith("mbarrier.inval of the first one")


def test_an_init_under_way_names_the_first_init_without_race_detection_too() -> None:
    k = Kernel()
    k("@%p0 mbarrier.init.shared.b64 [%r1], 2; @%p0 mbarrier.arrive.shared.b64 _, [%r1];")
    k("@%p0 mbarrier.init.shared.b64 [%r1], 1;")
    error = failure(k)
    assert error.code == "E216"
    assert told(error)[0] == "mbarrier.init by CTA (0,0,0), warp 0, lane 0"


def test_an_inval_under_a_wait_names_the_wait() -> None:
    k = Kernel()
    k("@%p0 mbarrier.init.shared.b64 [%r1], 1; bar.sync 0;")
    k("setp.ge.u32 %p1, %r0, 32; @%p1 bra LATE;")
    k.wait("%r1")
    k("bra END; LATE: mov.b32 %r10, 0;")
    k("SPIN: add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 3000; @%p2 bra SPIN;")
    k("setp.eq.u32 %p2, %r0, 32; @%p2 mbarrier.inval.shared.b64 [%r1]; END:")
    error = failure(k, block=64)
    assert error.code == "E216"
    assert told(error)[0].startswith("mbarrier wait by CTA (0,0,0), warp 0")
