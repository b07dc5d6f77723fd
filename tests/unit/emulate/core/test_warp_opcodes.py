"""elect, shfl, vote, match, redux and the special registers."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_bench import BASE, element, launch_of, run

from gemmgen.compile.launch import Launch
from gemmgen.emulate import Buffer, emulate

LANES = np.arange(32)


def _each(body: str, count: int = 32, **options: object) -> np.ndarray:
    out = np.zeros(count, np.uint32)
    run(f"{body} {element(0, '%d1')} st.global.u32 [%d1], %r9;", out, **options)  # type: ignore[arg-type]
    return out


def test_elect_chooses_one_lane_and_tells_all_which() -> None:
    body = "elect.sync %r1|%p1, -1; selp.u32 %r9, 100, 0, %p1; add.u32 %r9, %r9, %r1;"
    assert _each(body).tolist() == [100, *[0] * 31]


def test_elect_chooses_among_the_lanes_of_its_mask() -> None:
    body = """mov.u32 %r9, 0; setp.lt.u32 %p2, %tid, 4; @%p2 bra E; elect.sync _|%p1, 0xFFFFFFF0;
    selp.u32 %r9, 1, 0, %p1; E:"""
    assert np.flatnonzero(_each(body)).tolist() == [4]


@pytest.mark.parametrize(
    ("mode", "b", "c", "expected"),
    [
        ("idx", "7", "31", np.full(32, 7)),
        ("idx", "%tid", "31", LANES),
        ("up", "3", "0", np.where(LANES >= 3, LANES - 3, LANES)),
        ("down", "5", "31", np.where(LANES + 5 <= 31, LANES + 5, LANES)),
        ("bfly", "16", "31", LANES ^ 16),
        ("idx", "2", "0x181F", LANES // 8 * 8 + 2),
    ],
)
def test_shfl_reads_the_lane_that_its_mode_names(
    mode: str, b: str, c: str, expected: np.ndarray
) -> None:
    assert (_each(f"shfl.sync.{mode}.b32 %r9, %tid, {b}, {c}, -1;") == expected).all()


def test_shfl_says_which_lanes_were_in_range() -> None:
    body = "shfl.sync.up.b32 %r1|%p1, %tid, 4, 0, -1; selp.u32 %r9, 1, 0, %p1;"
    assert (_each(body) == (LANES >= 4)).all()


@pytest.mark.parametrize(("mode", "expected"), [("all", 0), ("any", 1), ("uni", 0)])
def test_a_vote_counts_all_lanes(mode: str, expected: int) -> None:
    body = f"setp.lt.u32 %p1, %tid, 4; vote.sync.{mode}.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;"
    assert (_each(body) == expected).all()


def test_a_ballot_has_a_bit_for_each_lane() -> None:
    body = "setp.lt.u32 %p1, %tid, 4; vote.sync.ballot.b32 %r9, %p1, 0xFFFFFFFE;"
    assert (_each(body.replace("0xFFFFFFFE", "-1")) == 0xF).all()


def test_match_groups_equal_values() -> None:
    body = "and.b32 %r1, %tid, 3; match.any.sync.b32 %r9, %r1, -1;"
    assert (_each(body)[:4] == [0x11111111, 0x22222222, 0x44444444, 0x88888888]).all()


def test_redux_folds_the_warp() -> None:
    assert (_each("redux.sync.add.u32 %r9, %tid, -1;") == 496).all()
    assert (_each("sub.s32 %r1, %tid, 5; redux.sync.min.s32 %r9, %r1, -1;") == 2**32 - 5).all()


def test_special_registers_describe_thread_cta_and_cluster() -> None:
    out = np.zeros((8, 10), np.uint32)
    body = """setp.ne.u32 %p1, %tid, 33; @%p1 ret; mov.u32 %r0, %laneid; mov.u32 %r1, %warpid;
    mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank; mov.u32 %r4, %clusterid.x;
    mov.u32 %r5, %nclusterid.x; mov.u32 %r6, %cluster_ctaid.x; mov.u32 %r7, %nctaid.x;
    mov.u32 %r8, %ntid.x;
    mov.u32 %r9, %ctaid.x; mul.wide.u32 %d1, %cta, 40; add.s64 %d1, %d1, %a0;
    st.global.v2.u32 [%d1], {%r0, %r1}; st.global.v2.u32 [%d1+8], {%r2, %r3};
    st.global.v2.u32 [%d1+16], {%r4, %r5}; st.global.v2.u32 [%d1+24], {%r6, %r7};
    st.global.v2.u32 [%d1+32], {%r8, %r9};"""
    run(body, out, grid=8, block=64, cluster=2)
    for cta in range(8):
        assert out[cta].tolist() == [1, 1, cta % 2, 2, cta // 2, 4, cta % 2, 8, 64, cta]


def test_thread_indices_count_x_first() -> None:
    body = """mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 8, %r2;
    mul.wide.u32 %d1, %r3, 4;
    add.s64 %d1, %d1, %a0; mad.lo.u32 %r4, %r1, 100, %r2; st.global.u32 [%d1], %r4;"""
    plain = launch_of(body, 1)
    launch = Launch(plain.ptx, "kernel", (1, 1, 1), (8, 4, 1), (1, 1, 1), 4096, plain.params)
    out = np.zeros(32, np.uint32)
    emulate(launch, [Buffer("out", BASE, out.view(np.uint8))])
    assert (out.reshape(4, 8) == np.arange(8) + 100 * np.arange(4)[:, None]).all()
