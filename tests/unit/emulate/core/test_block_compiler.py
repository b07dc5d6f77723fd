"""What the block compiler does for speed must not be seen in results."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_bench import element, launch_of, run

from gemmgen.emulate import Buffer, EmulationError, Listener, emulate
from gemmgen.emulate.program import Program, program

PAIR = """ld.global.v2.b32 {%r1, %r2}, [%d1]; mov.b64 %d2, {%r1, %r2};"""


def _program(body: str, arrays: int = 1) -> Program:
    launch = launch_of(body, arrays)
    return program(launch.ptx, launch.entry)


def _joins_left(body: str) -> int:
    """How many joins of the body still do any work."""
    steps = _program(body).steps
    return sum(bool(s.handler.packs) and s.instr.opcode == "mov.b64" for s in steps)


def _pairs() -> np.ndarray:
    return np.arange(64, dtype=np.uint32) * 3


def test_a_pair_that_is_only_carried_costs_no_join() -> None:
    body = f"""{element(0, "%d1", 8)} {PAIR} bar.sync 0; mov.b64 {{%r3, %r4}}, %d2;
    st.global.v2.b32 [%d1], {{%r4, %r3}};"""
    assert _joins_left(body) == 0
    data = _pairs()
    run(body, data)
    assert (data.reshape(32, 2) == _pairs().reshape(32, 2)[:, ::-1]).all()


def test_a_pair_that_is_also_read_whole_is_joined() -> None:
    body = f"""{element(0, "%d1", 8)} {PAIR} add.s64 %d3, %d2, 1; mov.b64 {{%r3, _}}, %d2;
    mov.b64 {{%r5, %r6}}, %d3; add.u32 %r5, %r5, %r3; st.global.v2.b32 [%d1], {{%r5, %r6}};"""
    assert _joins_left(body) == 1
    data = _pairs()
    run(body, data)
    old = _pairs().reshape(32, 2)
    assert (data.reshape(32, 2) == np.stack([2 * old[:, 0] + 1, old[:, 1]], axis=1)).all()


def test_a_pair_whose_parts_change_before_its_use_keeps_its_old_value() -> None:
    body = f"""{element(0, "%d1", 8)} {PAIR} mov.u32 %r1, 5; mov.u32 %r2, 6;
    mov.b64 {{%r3, %r4}}, %d2;
    st.global.v2.b32 [%d1], {{%r3, %r4}};"""
    data = _pairs()
    run(body, data)
    assert (data == _pairs()).all()


def test_a_pair_read_before_its_parts_are_joined_again_keeps_its_old_value() -> None:
    """Second round of the loop: %r1 and %r2 are new while %d2 is still that of the first round."""
    body = f"""{element(0, "%d1", 8)} mov.b64 %d2, 0; mov.u32 %r8, 0;
    L: ld.global.v2.b32 {{%r1, %r2}}, [%d1];
    mov.b64 {{%r3, %r4}}, %d2; mov.b64 %d2, {{%r1, %r2}}; add.u32 %r5, %r1, 1000;
    st.global.v2.b32 [%d1], {{%r5, %r2}}; add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 2; @%p1 bra L;
    st.global.v2.b32 [%d1], {{%r3, %r4}};"""
    data = _pairs()
    run(body, data)
    assert (data == _pairs()).all()


def test_conversions_in_a_row_equal_conversions_one_by_one() -> None:
    source = np.linspace(-70000, 70000, 128, dtype=np.float32)
    out = np.zeros(64, np.uint32)
    run(
        f"""{element(0, "%d1", 16)} {element(1, "%d2", 8)}
        ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%d1];
        mov.b32 %r5, %r2; cvt.rn.f16x2.f32 %r6, %r5, %r1; mov.b32 %r7, %r4;
        cvt.rn.f16x2.f32 %r8, %r7, %r3;
        st.global.v2.b32 [%d2], {{%r6, %r8}};""",
        source,
        out,
    )
    with np.errstate(over="ignore"):
        assert (out.view(np.uint16) == source.astype(np.float16).view(np.uint16)).all()


def test_a_conversion_that_needs_another_waits_for_it() -> None:
    out = np.zeros(32, np.uint32)
    run(
        f"""{element(0, "%d1")} mov.b32 %r1, 0f3F800000; cvt.rn.f32.u32 %r9, %tid;
        cvt.rn.f16x2.f32 %r2, %r1, %r9; mov.b32 %r3, %r2; cvt.rn.f16x2.f32 %r2, %r3, %r1;
        xor.b32 %r4, %r3, %r2; st.global.b32 [%d1], %r4;""",
        out,
    )
    lanes = np.arange(32, dtype=np.float32)
    first = np.float16(1).view("u2").astype(np.uint32) << 16 | lanes.astype(np.float16).view("u2")
    second = first.view(np.float32).astype(np.float16).view("u2").astype(np.uint32) << 16 | 0x3C00
    assert (out == first ^ second).all()


STORES = f"""{element(0, "%d1", 32)} mov.u32 %r1, %tid; add.u32 %r2, %r1, 100; mov.u32 %r3, 7;
    st.global.v2.b32 [%d1], {{%r1, %r2}}; st.global.v2.b32 [%d1+8], {{%r2, %r3}};
    st.global.v2.b32 [%d1+16], {{%r3, %r1}}; st.global.v2.b32 [%d1+24], {{%r1, %r1}};"""


def _stored() -> np.ndarray:
    lanes = np.arange(32)
    seven = np.full(32, 7)
    rows = [lanes, lanes + 100, lanes + 100, seven, seven, lanes, lanes, lanes]
    return np.stack(rows, axis=1).reshape(-1)


def test_stores_in_a_row_are_one_store() -> None:
    out = np.zeros(256, np.uint32)
    run(STORES, out)
    assert (out == _stored()).all()


def test_stores_in_a_row_reach_the_active_lanes_alone() -> None:
    out = np.zeros(256, np.uint32)
    run(f"setp.lt.u32 %p1, %tid, 9; @%p1 bra S; ret; S: {STORES}", out)
    assert (out[:72] == _stored()[:72]).all()
    assert (out[72:] == 0).all()


def test_a_listener_sees_a_row_of_stores_as_one() -> None:
    sizes: list[int] = []

    class Sizes(Listener):
        def on_access(self, *event: object) -> None:
            sizes.append(event[5])  # type: ignore[arg-type]

    run(STORES, np.zeros(256, np.uint32), listeners=[Sizes()])
    assert sizes == [4 * 8]


def test_a_fault_in_a_row_of_stores_names_the_store_that_fails() -> None:
    body = STORES.replace("st.global", "\nst.global")
    with pytest.raises(EmulationError) as caught:
        run(body, np.zeros(254, np.uint32))
    assert caught.value.code == "E204"
    assert caught.value.place is not None
    assert "[%d1+24]" in caught.value.place.ptx_text


def test_loads_between_stores_see_the_stores_before_them() -> None:
    out = np.zeros(64, np.uint32)
    run(
        f"""{element(0, "%d1", 8)} mov.u32 %r1, %tid; st.global.b32 [%d1], %r1;
        ld.global.b32 %r2, [%d1];
        add.u32 %r2, %r2, 1; st.global.b32 [%d1+4], %r2;""",
        out,
    )
    assert (out.reshape(32, 2) == np.stack([np.arange(32), np.arange(32) + 1], axis=1)).all()


def test_a_later_store_to_the_same_place_wins() -> None:
    out = np.zeros(32, np.uint32)
    run(
        f"""{element(0, "%d1")} mov.u32 %r1, 1; mov.u32 %r2, 2; st.global.b32 [%d1], %r1;
        st.global.b32 [%d1], %r2;""",
        out,
    )
    assert (out == 2).all()


def test_a_buffer_at_an_odd_address_is_stored_to_all_the_same() -> None:
    launch = launch_of(
        f"{element(0, '%d1')} add.s64 %d1, %d1, 4; st.global.b32 [%d1], %tid;"
        "ld.global.b32 %r1, [%d1]; add.u32 %r1, %r1, 1; st.global.b32 [%d1], %r1;",
        1,
    )
    out = np.zeros(32, np.uint32)
    emulate(launch, [Buffer("out", 0x7000_0000_0004, out.view(np.uint8))])
    assert (out == np.arange(32) + 1).all()


def test_a_program_is_decoded_once_for_equal_text() -> None:
    body = "mov.u32 %r1, 1;"
    assert _program(body) is _program(body)
