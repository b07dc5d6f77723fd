"""Named barriers, barrier.cluster and mbarriers."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_bench import element, run

from gemmgen.emulate import BarrierInfo, EmulationError, Hang, Settings

POLICIES = ["lazy", "eager", "random", "pct", "starve", "delay"]
OUT = np.zeros(1, np.uint32)


def _code(body: str, **options: object) -> EmulationError:
    with pytest.raises(EmulationError) as caught:
        run(body, OUT, **options)  # type: ignore[arg-type]
    return caught.value


# --- named barriers ---


@pytest.mark.parametrize("timing", POLICIES)
def test_a_named_barrier_holds_its_warps_until_the_count_is_full(timing: str) -> None:
    """Warp 0 writes, warps 0 and 1 meet at barrier 3, warp 1 reads; warp 2 takes no part."""
    out = np.zeros(96, np.uint32)
    run(
        f"""mov.b32 %r1, smem; setp.ge.u32 %p1, %tid, 64; mov.u32 %r9, 5; @%p1 bra END;
        setp.ge.u32 %p2, %tid, 32;
        @%p2 bra MEET; st.shared.u32 [%r1], 77; MEET: bar.sync 3, 64; ld.shared.u32 %r9, [%r1]; END:
        {element(0, "%d1")} st.global.u32 [%d1], %r9;""",
        out,
        block=96,
        settings=Settings(timing=timing, quantum=1),
    )
    assert out.tolist() == [77] * 64 + [5] * 32


def test_bar_arrive_does_not_wait() -> None:
    out = np.zeros(64, np.uint32)
    run(
        f"""mov.b32 %r1, smem; setp.ge.u32 %p2, %tid, 32; @%p2 bra READ; st.shared.u32 [%r1], 8;
        bar.arrive 1, 64; mov.u32 %r9, 1; bra END; READ: bar.sync 1, 64; ld.shared.u32 %r9, [%r1];
        END:
        {element(0, "%d1")} st.global.u32 [%d1], %r9;""",
        out,
        block=64,
    )
    assert out.tolist() == [1] * 32 + [8] * 32


def test_a_barrier_reduction_counts_threads() -> None:
    out = np.zeros(64, np.uint32)
    run(
        f"""setp.lt.u32 %p1, %tid, 40; barrier.cta.red.popc.aligned.u32 %r1, 2, 64, %p1;
        bar.red.and.pred %p2, 2, 64, %p1; selp.u32 %r2, 1000, 0, %p2; add.u32 %r1, %r1, %r2;
        {element(0, "%d1")} st.global.u32 [%d1], %r1;""",
        out,
        block=64,
    )
    assert (out == 40).all()


def test_named_barriers_with_counts_that_do_not_fit_are_refused() -> None:
    assert _code("bar.sync 1, 48;").code == "E219"
    assert _code("bar.sync 16;").code == "E219"
    two = "setp.ge.u32 %p1, %tid, 32; @%p1 bra B; bar.arrive 1, 96; bra E; B: bar.arrive 1, 64; E:"
    error = _code(two, block=64)
    assert error.code == "E219"
    assert "expects" in error.detail


# --- barrier.cluster ---


@pytest.mark.parametrize("timing", POLICIES)
def test_the_cluster_barrier_orders_writes_to_a_peer(timing: str) -> None:
    """Each CTA writes its id to its right neighbour's shared memory; all read after the barrier."""
    out = np.zeros(4, np.uint32)
    run(
        """mov.u32 %r1, %cluster_ctarank; add.u32 %r2, %r1, 1; and.b32 %r2, %r2, 3;
        mov.b32 %r3, smem;
        mapa.shared::cluster.u32 %r4, %r3, %r2; setp.ne.u32 %p1, %tid, 0; @%p1 bra M;
        st.shared::cluster.u32 [%r4], %r1; M: barrier.cluster.arrive.release;
        barrier.cluster.wait.acquire;
        @%p1 ret; ld.shared.u32 %r5, [%r3]; mul.wide.u32 %d1, %cta, 4; add.s64 %d1, %d1, %a0;
        st.global.u32 [%d1], %r5;""",
        out,
        grid=4,
        cluster=4,
        block=64,
        settings=Settings(timing=timing, seed=2),
    )
    assert out.tolist() == [3, 0, 1, 2]


def test_addresses_carry_the_rank_in_bit_24() -> None:
    out = np.zeros(4, np.uint32)
    run(
        """mov.b32 %r1, smem; mapa.shared::cluster.u32 %r2, %r1, 1; and.b32 %r3, %r2, -16777224;
        mul.wide.u32 %d1, %cta, 8; add.s64 %d1, %d1, %a0; st.global.v2.u32 [%d1], {%r1, %r3};""",
        out,
        grid=2,
        cluster=2,
    )
    assert out.tolist() == [0x400, 0x400, 0x1000400, 0x400]


def test_arriving_twice_or_waiting_without_an_arrive_is_refused() -> None:
    assert _code("barrier.cluster.wait;").code == "E219"
    twice = """setp.eq.u32 %p1, %tid, 0; @%p1 bra A; ret;
    A: barrier.cluster.arrive; barrier.cluster.arrive;"""
    assert _code(twice, block=64, grid=2, cluster=2).code == "E219"


def test_the_own_cta_form_refuses_a_peer_address() -> None:
    body = """mov.b32 %r1, smem; mapa.shared::cluster.u32 %r2, %r1, 1; setp.ne.u32 %p1, %cta, 0;
    @%p1 bra M;
    st.shared.u32 [%r2], 1; M: barrier.cluster.arrive; barrier.cluster.wait;"""
    assert _code(body, grid=2, cluster=2).code == "E205"
    beyond = (
        "mov.b32 %r1, smem; mapa.shared::cluster.u32 %r2, %r1, 2; st.shared::cluster.u32 [%r2], 1;"
    )
    assert _code(beyond, grid=2, cluster=2).code == "E205"


# --- mbarriers ---

RING = """mov.b32 %r1, smem; setp.ne.u32 %p1, %tid, 0; @%p1 bra R;
mbarrier.init.shared.b64 [%r1], 1;
    mbarrier.init.shared.b64 [%r1+8], 32; R: bar.sync 0;"""


@pytest.mark.parametrize("timing", POLICIES)
def test_a_producer_and_a_consumer_hand_a_slot_back_and_forth(timing: str) -> None:
    """`full` (1 arrival) and `empty` (32): warp 0 sends 1 to 5, every lane of warp 1 adds them
    up.
    """
    out = np.zeros(64, np.uint32)
    body = f"""{RING} mov.u32 %r9, 0; mov.u32 %r2, 1; mov.u32 %r3, 0; setp.ge.u32 %p2, %tid, 32;
    @%p2 bra C;
    P: xor.b32 %r4, %r3, 1;
    WE: mbarrier.try_wait.parity.shared.b64 %p3, [%r1+8], %r4; @!%p3 bra WE;
    @%p1 bra PN; st.shared.u32 [%r1+64], %r2; mbarrier.arrive.shared.b64 _, [%r1];
    PN: xor.b32 %r3, %r3, 1; add.u32 %r2, %r2, 1; setp.le.u32 %p4, %r2, 5; @%p4 bra P; bra END;
    C: mbarrier.test_wait.parity.shared.b64 %p3, [%r1], %r3; @%p3 bra G; bra C;
    G: ld.shared.u32 %r5, [%r1+64]; add.u32 %r9, %r9, %r5; mbarrier.arrive.shared.b64 _, [%r1+8];
    xor.b32 %r3, %r3, 1; add.u32 %r2, %r2, 1; setp.le.u32 %p4, %r2, 5; @%p4 bra C;
    END: {element(0, "%d1")} st.global.u32 [%d1], %r9;"""
    run(body, out, block=64, settings=Settings(timing=timing, seed=5))
    assert out.tolist() == [0] * 32 + [15] * 32


def test_transaction_bytes_hold_the_phase_open() -> None:
    out = np.zeros(4, np.uint32)
    probe = "mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0; selp.u32 %r{0}, 1, 0, %p2;"
    run(
        f"""{RING} @%p1 ret; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 96; {probe.format(2)}
        mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 64; {probe.format(3)}
        mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 32; {probe.format(4)}
        mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 16;
        mbarrier.arrive.expect_tx.shared.b64 %d3, [%r1], 16;
        mbarrier.test_wait.shared.b64 %p2, [%r1], %d3; selp.u32 %r5, 1, 0, %p2;
        st.global.v4.u32 [%a0], {{%r2, %r3, %r4, %r5}};""",
        out,
    )
    assert out.tolist() == [0, 0, 1, 1]


def test_a_fresh_barrier_has_passed_the_odd_phase() -> None:
    out = np.zeros(2, np.uint32)
    run(
        f"""{RING} mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 1; selp.u32 %r2, 1, 0, %p2;
        mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0; selp.u32 %r3, 1, 0, %p2;
        st.global.v2.u32 [%a0], {{%r2, %r3}};""",
        out,
    )
    assert out.tolist() == [1, 0]


@pytest.mark.parametrize("timing", POLICIES)
def test_a_peer_arrives_across_the_cluster(timing: str) -> None:
    out = np.zeros(2, np.uint32)
    run(
        f"""{RING} barrier.cluster.arrive; barrier.cluster.wait; setp.ne.u32 %p2, %cta, 0;
        @%p2 bra PEER;
        W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r1], 0; @!%p3 bra W;
        st.global.u32 [%a0], 9; bra END; PEER: @%p1 bra END; mapa.shared::cluster.u32 %r2, %r1, 0;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2]; END:
        barrier.cluster.arrive; barrier.cluster.wait;""",
        out,
        grid=2,
        cluster=2,
        settings=Settings(timing=timing),
    )
    assert out.tolist() == [9, 0]


def test_an_asynchronous_store_lands_with_its_bytes() -> None:
    out = np.zeros(1, np.uint32)
    run(
        f"""{RING} barrier.cluster.arrive; barrier.cluster.wait;
        mapa.shared::cluster.u32 %r2, %r1, 1;
        @%p1 bra END; setp.ne.u32 %p2, %cta, 0; @%p2 bra GET; add.u32 %r3, %r2, 64;
        mov.u32 %r4, 123;
        st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r3], %r4, [%r2]; bra END;
        GET: mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 4;
        W: mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0; @!%p3 bra W;
        ld.shared.u32 %r5, [%r1+64]; st.global.u32 [%a0], %r5; END: barrier.cluster.arrive;
        barrier.cluster.wait;""",
        out,
        grid=2,
        cluster=2,
    )
    assert out.tolist() == [123]


def test_arrive_drop_lowers_the_count_of_later_phases() -> None:
    out = np.zeros(2, np.uint32)
    run(
        """mov.b32 %r1, smem; setp.ne.u32 %p1, %tid, 0; @%p1 ret; mbarrier.init.shared.b64 [%r1], 2;
        mbarrier.arrive_drop.shared.b64 _, [%r1]; mbarrier.arrive.shared.b64 _, [%r1];
        mbarrier.arrive.shared.b64 %d3, [%r1]; mbarrier.test_wait.shared.b64 %p2, [%r1], %d3;
        selp.u32 %r2, 1, 0, %p2; st.global.u32 [%a0], %r2;""",
        out,
    )
    assert out[0] == 1


def test_barrier_faults_have_their_codes() -> None:
    alone = "mov.b32 %r1, smem; setp.ne.u32 %p1, %tid, 0; @%p1 ret; "
    init = alone + "mbarrier.init.shared.b64 [%r1], 1; "
    assert _code(alone + "mbarrier.arrive.shared.b64 _, [%r1];").code == "E208"
    assert _code(alone + "mbarrier.init.shared.b64 [%r1+4], 1;").code == "E206"
    assert _code(alone + "mbarrier.init.shared.b64 [%r1], 0;").code == "E209"
    assert _code(init + "mbarrier.arrive.shared.b64 _, [%r1], 2;").code == "E209"
    full = (
        "mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 8; mbarrier.arrive.shared.b64 _, [%r1]; "
    )
    error = _code(init + full + "mbarrier.arrive.shared.b64 _, [%r1];")
    assert error.code == "E209"
    assert "tx bytes still expected: 8" in error.detail
    assert _code(init + "mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 1048576;").code == "E210"
    assert _code(init + full + "mbarrier.init.shared.b64 [%r1], 1;").code == "E216"
    assert (
        _code(init + "mbarrier.inval.shared.b64 [%r1]; mbarrier.arrive.shared.b64 _, [%r1];").code
        == "E208"
    )


def test_a_signal_into_a_cta_that_has_left_is_refused() -> None:
    body = f"""{RING} barrier.cluster.arrive; barrier.cluster.wait; setp.eq.u32 %p2, %cta, 0;
    @%p2 ret;
    mapa.shared::cluster.u32 %r2, %r1, 0; SPIN: ld.volatile.global.u32 %r3, [%a0]; mov.u32 %r4, 0;
    L: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 50; @%p3 bra L;
    mbarrier.arrive.shared::cluster.b64 _, [%r2];"""
    error = _code(body, grid=2, cluster=2, settings=Settings(quantum=2))
    assert error.code == "E211"
    assert "CTA (0,0,0) rank 0, which has exited" in error.detail


# --- hangs ---


def test_a_deadlock_table_names_barrier_slot_phase_and_what_is_missing() -> None:
    body = """mov.b32 %r1, smem; setp.ne.u32 %p1, %tid, 0; @%p1 bra R;
    mbarrier.init.shared.b64 [%r1], 1;
    mbarrier.init.shared.b64 [%r1+8], 2; R: bar.sync 0; setp.ge.u32 %p2, %tid, 32; @%p2 bra B;
    @%p1 bra W; mbarrier.arrive.expect_tx.shared.b64 _, [%r1+8], 4096;
    .loc 1 77 3
    W: mbarrier.try_wait.parity.shared.b64 %p3, [%r1+8], 0; @!%p3 bra W; B: bar.sync 1, 64;"""
    names = {"ab_full": BarrierInfo(offset=0, slots=2)}
    with pytest.raises(Hang) as caught:
        run(body, OUT, block=64, barriers=names)
    table = caught.value.table()
    rows = table.splitlines()
    assert caught.value.code == "E201"
    assert len(rows) == 3
    assert "ab_full[1], phase 0" in rows[1]
    assert "1 of 2 arrivals and 4096 tx bytes pending" in rows[1]
    assert "kernel.py:77" in rows[1]
    assert "mbarrier.try_wait.parity" in rows[1]
    assert "barrier 1: 32 of 64 threads arrived" in rows[2]


def test_an_exit_before_a_barrier_leaves_the_others_hanging() -> None:
    body = "setp.ge.u32 %p1, %tid, 32; @%p1 ret; bar.sync 1, 64;"
    with pytest.raises(Hang, match="1 warps have exited"):
        run(body, OUT, block=64)


def test_a_barrier_without_a_count_lets_exited_warps_go() -> None:
    run("setp.ge.u32 %p1, %tid, 32; @%p1 ret; bar.sync 0;", OUT, block=64)


def test_lanes_that_never_meet_are_shown_as_such() -> None:
    body = """mov.b32 %r1, smem; setp.eq.u32 %p1, %tid, 0; @!%p1 bra M;
    mbarrier.init.shared.b64 [%r1], 1;
    W: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra W; M: bar.warp.sync -1;"""
    with pytest.raises(Hang) as caught:
        run(body, OUT)
    assert "other lanes of its warp (lane 0)" in caught.value.table()


def test_a_peek_that_fails_does_not_wait() -> None:
    """try_wait outside a loop answers at once: the program arrives itself afterwards."""
    out = np.zeros(1, np.uint32)
    run(
        f"""{RING} @%p1 ret; mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;
        selp.u32 %r2, 1, 5, %p2;
        mbarrier.arrive.shared.b64 _, [%r1]; st.global.u32 [%a0], %r2;""",
        out,
    )
    assert out.tolist() == [5]


def test_a_phase_that_completes_again_before_its_waiter_looks_is_a_fault() -> None:
    """Warp 1 waits for phase 0 while lanes of warp 0 arrive on a count of one."""

    def body(arrivals: str) -> str:
        return f"""mov.b32 %r1, smem; setp.eq.u32 %p1, %tid, 0; setp.ge.u32 %p2, %tid, 32;
        @%p1 mbarrier.init.shared.b64 [%r1], 1; bar.sync 0;
        @%p2 bra WAITS; bar.sync 1, 32; {arrivals} mbarrier.arrive.shared.b64 _, [%r1]; bra END;
        WAITS: mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0; @!%p3 bra WAITS; END:"""

    codes = set()
    for seed in range(8):
        settings = Settings(timing="random", seed=seed, quantum=1)
        codes.add(_code(body(""), block=64, settings=settings).code)
        run(body("@%p1"), OUT, block=64, settings=settings)
    assert codes == {"E201", "E223"}  # a hang where the wait begins after the last of them
