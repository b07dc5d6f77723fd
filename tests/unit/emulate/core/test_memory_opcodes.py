"""Loads, stores, atomics, address arithmetic and state spaces."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_bench import element, run

from gemmgen.emulate import EmulationError
from gemmgen.emulate.program import program


def _code(body: str, *arrays: np.ndarray, **options: object) -> EmulationError:
    with pytest.raises(EmulationError) as caught:
        run(body, *arrays, **options)  # type: ignore[arg-type]
    return caught.value


def test_vector_loads_and_stores_keep_the_order_of_elements() -> None:
    source = np.arange(128, dtype=np.uint32)
    out = np.zeros(128, np.uint32)
    run(
        f"{element(0, '%d1', 16)} {element(1, '%d2', 16)}"
        "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d1];"
        "st.global.v4.b32 [%d2], {%r4, %r3, %r2, %r1};",
        source,
        out,
    )
    assert (out.reshape(32, 4) == source.reshape(32, 4)[:, ::-1]).all()


def test_narrow_loads_extend_by_their_type() -> None:
    source = np.array([0x80, 0x7F, 0xFF, 1] * 8, np.uint8)
    out = np.zeros(64, np.uint32)
    run(
        f"{element(0, '%d1', 1)} {element(1, '%d2', 8)}"
        "ld.global.s8 %r1, [%d1]; ld.global.u8 %r2, [%d1];"
        "st.global.v2.b32 [%d2], {%r1, %r2};",
        source,
        out,
    )
    signed, unsigned = out[::2].view(np.int32), out[1::2]
    assert (signed == source.view(np.int8)).all()
    assert (unsigned == source).all()


def test_a_narrow_store_leaves_its_neighbours_alone() -> None:
    out = np.full(64, 7, np.uint8)
    run(
        f"{element(0, '%d1', 2)} mov.u32 %r1, 0x1FF; cvt.u16.u32 %h1, %r1;st.global.b8 [%d1], %h1;",
        out,
    )
    assert (out[::2] == 0xFF).all()
    assert (out[1::2] == 7).all()


def test_shared_memory_carries_values_between_warps() -> None:
    out = np.zeros(64, np.uint32)
    run(
        f"""mov.b32 %r1, smem; shl.b32 %r2, %tid, 2; add.s32 %r3, %r1, %r2;
        st.shared.b32 [%r3], %tid;
        bar.sync 0; xor.b32 %r4, %r2, 252; add.s32 %r5, %r1, %r4; ld.shared.b32 %r6, [%r5];
        {element(0, "%d1")} st.global.b32 [%d1], %r6;""",
        out,
        block=64,
    )
    assert (out == np.arange(64)[::-1]).all()


def test_static_shared_memory_lies_below_dynamic() -> None:
    out = np.zeros(2, np.uint32)
    run(
        "mov.b32 %r1, fixed; mov.b32 %r2, smem; st.global.v2.b32 [%a0], {%r1, %r2};",
        out,
        variables=".shared .align 16 .b8 fixed[40];",
    )
    assert out.tolist() == [0x400, 0x800]


def test_dynamic_shared_memory_begins_at_one_kibibyte() -> None:
    out = np.zeros(1, np.uint32)
    run("mov.b32 %r1, smem; st.global.b32 [%a0], %r1;", out)
    assert out.tolist() == [0x400]


def test_generic_addresses_reach_shared_and_global_memory() -> None:
    out = np.zeros(32, np.uint32)
    run(
        f"""mov.b32 %r1, smem; cvt.u64.u32 %d1, %r1; cvta.shared.u64 %d2, %d1;
        mul.wide.u32 %d3, %tid, 4;
        add.s64 %d4, %d2, %d3; st.u32 [%d4], %tid; ld.u32 %r2, [%d4]; {element(0, "%d5")}
        cvta.to.shared.u64 %d6, %d4; cvt.u32.u64 %r3, %d6; ld.shared.u32 %r4, [%r3];
        add.u32 %r5, %r2, %r4; st.u32 [%d5], %r5;""",
        out,
    )
    assert (out == 2 * np.arange(32)).all()


def test_local_memory_is_private_to_a_lane() -> None:
    out = np.zeros(32, np.uint32)
    run(
        f""".local .align 8 .b8 depot[16]; mov.b64 %d1, depot; add.s64 %d2, %d1, 8;
        st.local.u32 [%d2], %tid;
        cvta.local.u64 %d3, %d2; ld.u32 %r1, [%d3];
        {element(0, "%d4")} st.global.u32 [%d4], %r1;""",
        out,
    )
    assert (out == np.arange(32)).all()


@pytest.mark.parametrize("returns", [True, False])
def test_atomic_adds_of_all_lanes_count(returns: bool) -> None:
    total = np.zeros(1, np.uint32)
    olds = np.zeros(64, np.uint32)
    opcode = "atom.global.add.u32 %r1, [%a0], 2;" if returns else "red.global.add.u32 [%a0], 2;"
    body = f"mov.u32 %r1, 0; {opcode} {element(1, '%d1')} st.global.u32 [%d1], %r1;"
    run(body, total, olds, block=64)
    assert total.tolist() == [128]
    if returns:
        assert sorted(olds.tolist()) == list(range(0, 128, 2))


def test_compare_and_swap_takes_one_lane() -> None:
    cell = np.zeros(1, np.uint32)
    olds = np.zeros(32, np.uint32)
    body = f"add.u32 %r2, %tid, 1; atom.global.cas.b32 %r1, [%a0], 0, %r2; {element(1, '%d1')}"
    run(body + "st.global.u32 [%d1], %r1;", cell, olds)
    assert cell.tolist() == [1]
    assert olds.tolist() == [0] + [1] * 31


def test_a_float_atomic_adds_floats() -> None:
    total = np.zeros(1, np.float32)
    run("mov.b32 %r1, 0f3F000000; red.global.add.f32 [%a0], %r1;", total)
    assert total.tolist() == [16.0]


def test_one_access_may_span_two_buffers() -> None:
    first, second = (np.arange(16, dtype=np.uint32) + 100 * i for i in range(2))
    out = np.zeros(32, np.uint32)
    run(
        f"""setp.lt.u32 %p1, %tid, 16; selp.b64 %d1, %a0, %a1, %p1; and.b32 %r1, %tid, 15;
        mul.wide.u32 %d2, %r1, 4;
        add.s64 %d3, %d1, %d2; ld.global.u32 %r2, [%d3];
        {element(2, "%d4")} st.global.u32 [%d4], %r2;""",
        first,
        second,
        out,
    )
    assert (out == np.concatenate([first, second])).all()


def test_a_parameter_can_be_read_through_its_address() -> None:
    out = np.zeros(1, np.uint64)
    run(
        "mov.b64 %d1, p0; cvta.param.u64 %d2, %d1; ld.u64 %d3, [%d2]; st.global.u64 [%a0], %d3;",
        out,
    )
    assert out.tolist() == [0x7000_0000_0000]


# --- faults ---


def test_a_global_access_past_a_buffer_names_it_and_the_distance() -> None:
    error = _code(f"{element(0, '%d1')} st.global.u32 [%d1], %tid;", np.zeros(20, np.uint32))
    assert error.code == "E204"
    assert "past the end of `array0` (80 bytes)" in error.detail
    assert error.place is not None
    assert error.place.ptx_text.startswith("mul.wide.u32 %d1")


def test_a_write_to_an_input_is_refused() -> None:
    error = _code("st.global.u32 [%a0], %tid;", np.zeros(4, np.uint32), read_only=(0,))
    assert error.code == "E212"


def test_a_misaligned_access_is_refused() -> None:
    out = np.zeros(32, np.uint32)
    assert _code("add.s64 %d1, %a0, 2; ld.global.u32 %r1, [%d1];", out).code == "E206"
    assert (
        _code("add.s64 %d1, %a0, 8; ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%d1];", out).code == "E206"
    )
    assert _code("mov.b32 %r1, smem; st.shared.u32 [%r1+2], %r1;", out).code == "E206"


def test_shared_memory_has_bounds_on_both_sides() -> None:
    out = np.zeros(1, np.uint32)
    store = "mov.b32 %r1, smem; st.shared.u32 [%r1+{}], %r1;"
    assert _code(store.format(4096), out).code == "E205"
    assert _code(store.format(-4), out).code == "E205"
    run(store.format(4092), out)
    each = "mov.b32 %r1, smem; mad.lo.u32 %r2, %tid, 4, %r1; st.shared.u32 [%r2], %r1;"
    assert _code(each, out, smem=64).code == "E205"


def test_reading_shared_memory_that_nothing_wrote_is_refused() -> None:
    out = np.zeros(1, np.uint32)
    assert _code("mov.b32 %r1, smem; ld.shared.u32 %r2, [%r1];", out).code == "E207"
    half = "mov.b32 %r1, smem; st.shared.u16 [%r1], 1; ld.shared.u32 %r2, [%r1];"
    error = _code(half, out)
    assert error.code == "E207"
    assert "0x402" in error.detail
    each = """mov.b32 %r1, smem; mad.lo.u32 %r2, %tid, 4, %r1; setp.ne.u32 %p1, %tid, 5;
    @%p1 st.shared.u32 [%r2], %r1; ld.shared.u32 %r3, [%r2];"""
    assert "0x414" in _code(each, out).detail


def test_an_unknown_opcode_matters_only_where_it_runs() -> None:
    out = np.zeros(1, np.uint32)
    run("setp.eq.u32 %p1, %n, 0; @%p1 bra L; bra M; L: frobnicate.b32 %r1, %r2; M:", out)
    error = _code("frobnicate.b32 %r1, %r2;", out)
    assert error.code == "E203"
    assert error.ptx_line is not None
    assert "frobnicate.b32" in str(error)


def test_an_unknown_modifier_is_refused_by_name() -> None:
    error = _code("mbarrier.init.sideways.b64 [%r1], 1;", np.zeros(1, np.uint32))
    assert error.code == "E203"
    assert ".sideways" in error.detail


def test_an_error_names_the_source_line() -> None:
    error = _code(".loc 1 42 7\n trap;\n.loc 1 50 1", np.zeros(1, np.uint32))
    assert error.code == "E221"
    assert error.source == "kernel.py:42"
    assert "CTA (0,0,0), warp 0, all lanes" in str(error)


@pytest.mark.parametrize(("align", "place"), [(16, 0x410), (128, 0x480), (1024, 0x400)])
def test_dynamic_shared_memory_is_no_better_aligned_than_declared(align: int, place: int) -> None:
    declared = f".extern .shared .align {align} .b8 smem[];"
    head = ".version 8.7\n.target sm_90a\n.address_size 64\n"
    text = f"{head}{declared}\n.visible .entry k()\n{{\nret;\n}}\n"
    assert program(text, "k").dynamic_base == place


@pytest.mark.parametrize("body", ["st.shared.u32 [%r1+4], 1;", "ld.shared.u32 %r2, [%r1+4];"])
@pytest.mark.parametrize("lane", ["%r1", "%r3"])
def test_an_ordinary_access_to_a_barrier_is_a_fault(body: str, lane: str) -> None:
    """By one address for all lanes, and by an address a lane, of which the first is the barrier."""
    init = "mov.b32 %r1, smem; setp.eq.u32 %p1, %tid, 0; @%p1 mbarrier.init.shared.b64 [%r1], 1;"
    each = "mad.lo.u32 %r3, %tid, 8, %r1; bar.sync 0; "
    with pytest.raises(EmulationError) as caught:
        run(init + each + body.replace("%r1", lane), np.zeros(1, np.uint32))
    assert caught.value.code == "E222"
    run(init + each + "st.shared.u32 [%r1+8], 1;", np.zeros(1, np.uint32))
