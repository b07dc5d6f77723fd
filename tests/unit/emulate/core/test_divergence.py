"""Branches that part the lanes of a warp, and how they come together again."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_bench import element, run

from gemmgen.emulate import Hang, Settings


def _each(body: str, count: int = 32, **options: object) -> np.ndarray:
    """Run a body that leaves its result in %r9."""
    out = np.zeros(count, np.uint32)
    run(f"{body} {element(0, '%d1')} st.global.u32 [%d1], %r9;", out, **options)  # type: ignore[arg-type]
    return out


def test_both_sides_of_a_branch_run_and_meet_again() -> None:
    body = """setp.lt.u32 %p1, %tid, 10; @%p1 bra A; mov.u32 %r9, 2; bra B; A: mov.u32 %r9, 1; B:
    add.u32 %r9, %r9, 10; activemask.b32 %r1; setp.ne.u32 %p2, %r1, -1; @%p2 mov.u32 %r9, 99;"""
    assert (_each(body) == np.where(np.arange(32) < 10, 11, 12)).all()


def test_a_negated_guard_takes_the_other_lanes() -> None:
    body = "setp.lt.u32 %p1, %tid, 10; mov.u32 %r9, 0; @!%p1 add.u32 %r9, %r9, %tid;"
    lanes = np.arange(32)
    assert (_each(body) == np.where(lanes >= 10, lanes, 0)).all()


def test_a_guarded_load_keeps_the_registers_of_the_other_lanes() -> None:
    source = np.arange(8, dtype=np.uint32) + 100
    out = np.zeros(32, np.uint32)
    run(
        f"""setp.lt.u32 %p1, %tid, 8; mov.u32 %r9, 7;
        {element(0, "%d1")} @%p1 ld.global.u32 %r9, [%d1];
        {element(1, "%d2")} st.global.u32 [%d2], %r9;""",
        source,
        out,
    )
    assert out.tolist() == [*source.tolist(), *[7] * 24]


def test_lanes_leave_a_loop_after_their_own_number_of_rounds() -> None:
    body = """mov.u32 %r9, 0; mov.u32 %r1, 0; L: setp.ge.u32 %p1, %r1, %tid; @%p1 bra D;
    add.u32 %r9, %r9, %r1; add.u32 %r1, %r1, 1; bra L; D:"""
    lanes = np.arange(32)
    assert (_each(body) == lanes * (lanes - 1) // 2).all()


def test_nested_branches_part_a_warp_more_than_once() -> None:
    body = """and.b32 %r1, %tid, 1; setp.eq.u32 %p1, %r1, 0; and.b32 %r2, %tid, 2;
    setp.eq.u32 %p2, %r2, 0;
    @%p1 bra EVEN; @%p2 bra A; mov.u32 %r9, 3; bra END; A: mov.u32 %r9, 1; bra END;
    EVEN: @%p2 bra B; mov.u32 %r9, 2; bra END; B: mov.u32 %r9, 0;
    END: shfl.sync.bfly.b32 %r3, %r9, 3, 31, -1;
    mad.lo.u32 %r9, %r3, 10, %r9;"""
    lanes = np.arange(32)
    assert (_each(body) == (lanes % 4 ^ 3) * 10 + lanes % 4).all()


def test_a_shuffle_waits_for_the_lanes_of_its_mask() -> None:
    body = """setp.lt.u32 %p1, %tid, 3; mov.u32 %r1, %tid; @%p1 bra J; add.u32 %r1, %r1, 100; J:
    shfl.sync.idx.b32 %r9, %r1, 31, 31, -1;"""
    assert (_each(body) == 131).all()


def test_lanes_that_exit_early_do_not_hold_up_the_others() -> None:
    out = np.zeros(32, np.uint32)
    run(
        f"""setp.lt.u32 %p1, %tid, 7; @%p1 ret; mov.u32 %r1, 5;
        shfl.sync.idx.b32 %r2, %r1, 31, 31, -1;
        bar.sync 0; {element(0, "%d1")} st.global.u32 [%d1], %r2;""",
        out,
    )
    assert out.tolist() == [0] * 7 + [5] * 25


def test_the_last_warp_may_be_partial() -> None:
    out = np.zeros(64, np.uint32)
    run(
        f"bar.sync 0; {element(0, '%d1')} add.u32 %r1, %tid, 1; st.global.u32 [%d1], %r1;",
        out,
        block=40,
    )
    assert out.tolist() == [*range(1, 41), *[0] * 24]


@pytest.mark.parametrize("timing", ["lazy", "eager", "random", "pct", "starve", "delay"])
def test_a_waiting_lane_does_not_block_the_others_of_its_warp(timing: str) -> None:
    """Lane 0 waits for an mbarrier that lane 1 of the same warp arrives on later in the program."""
    body = """mov.b32 %r1, smem; setp.eq.u32 %p1, %tid, 0; @!%p1 bra REST;
    mbarrier.init.shared.b64 [%r1], 1;
    REST: bar.warp.sync -1; mov.u32 %r9, 1; @!%p1 bra OTHERS;
    W: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @%p2 bra G; bra W; G: mov.u32 %r9, 2;
    bra END;
    OTHERS: setp.ne.u32 %p3, %tid, 1; @%p3 bra END; mbarrier.arrive.shared.b64 %d3, [%r1];
    mov.u32 %r9, 3;
    END: bar.warp.sync -1;"""
    settings = Settings(timing=timing, seed=3)
    assert _each(body, settings=settings).tolist() == [2, 3, *[1] * 30]


@pytest.mark.parametrize("timing", ["lazy", "random"])
def test_a_lane_that_spins_on_memory_lets_its_neighbour_write_it(timing: str) -> None:
    flag = np.zeros(1, np.uint32)
    run(
        """setp.eq.u32 %p1, %tid, 0; @!%p1 bra OTHERS; S: ld.acquire.gpu.global.u32 %r1, [%a0];
        setp.eq.u32 %p2, %r1, 0; @%p2 bra S; bra END;
        OTHERS: setp.ne.u32 %p3, %tid, 5; @%p3 bra END; st.release.gpu.global.u32 [%a0], 1;
        END: bar.warp.sync -1;""",
        flag,
        settings=Settings(timing=timing),
    )
    assert flag.tolist() == [1]


def test_warps_that_spin_on_each_other_make_progress() -> None:
    flags = np.zeros(2, np.uint32)
    run(
        """setp.eq.u32 %p1, %cta, 0; @%p1 bra FIRST; S: ld.volatile.global.u32 %r1, [%a0];
        setp.ne.u32 %p2, %r1, 1; @%p2 bra S; st.global.u32 [%a0+4], 2; bra END;
        FIRST: st.global.u32 [%a0], 1; T: ld.volatile.global.u32 %r1, [%a0+4];
        setp.ne.u32 %p2, %r1, 2;
        @%p2 bra T; END:""",
        flags,
        grid=2,
    )
    assert flags.tolist() == [1, 2]


def test_an_endless_spin_is_a_hang_at_once() -> None:
    flag = np.zeros(1, np.uint32)
    with pytest.raises(Hang) as caught:
        run("S: ld.volatile.global.u32 %r1, [%a0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra S;", flag)
    assert caught.value.code == "E201"
    assert "spins at line" in caught.value.table()


def test_a_loop_that_changes_nothing_but_registers_ends_as_a_livelock() -> None:
    settings = Settings(livelock_instructions=50_000)
    with pytest.raises(Hang) as caught:
        run(
            "mov.u32 %r1, 0; S: add.u32 %r1, %r1, 1; bra S;",
            np.zeros(1, np.uint32),
            settings=settings,
        )
    assert caught.value.code == "E202"


def test_the_instruction_limit_ends_a_run() -> None:
    out = np.zeros(1, np.uint32)
    settings = Settings(max_instructions=5000)
    with pytest.raises(Exception, match="E218"):
        run("S: st.global.u32 [%a0], %tid; bra S;", out, settings=settings)


def test_nested_scopes_have_labels_and_registers_of_their_own() -> None:
    body = """mov.u32 %r9, 0; mov.u32 %r1, 0; L: { .reg .pred P; .reg .b32 t; mov.b32 t, 3;
    setp.eq.u32 P, t, 3;
    @P bra.uni L; add.u32 %r9, %r9, 100; L: add.u32 %r9, %r9, t; } add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 2; @%p1 bra L;"""
    assert (_each(body) == 6).all()


def test_a_vector_register_has_named_parts() -> None:
    body = ".reg .v4 .b32 vec; mov.b32 vec.x, 1; mov.b32 vec.w, %tid; add.u32 %r9, vec.x, vec.w;"
    assert (_each(body) == np.arange(32) + 1).all()
