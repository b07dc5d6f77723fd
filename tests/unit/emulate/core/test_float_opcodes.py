"""Floating-point opcodes and conversions against numpy, bit by bit where rounding is exact."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_bench import Array, map_lanes

HALF_INPUT = np.array(
    [
        0,
        -0.0,
        1,
        -1,
        65504,
        65519,
        65520,
        1e-8,
        6e-8,
        5.9e-8,
        1 / 3,
        np.inf,
        -np.inf,
        2049,
        2051,
        1e30,
    ]
    * 2,
    dtype=np.float32,
)


def _floats(dtype: type, seed: int = 1) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(32) * 100).astype(dtype)


ARITHMETIC = [
    (name, kind)
    for name in ("add", "sub", "mul", "div.rn", "min", "max")
    for kind in (np.float16, np.float32, np.float64)
    if (name, kind) != ("div.rn", np.float16)  # PTX has no half division
]


@pytest.mark.parametrize(("name", "kind"), ARITHMETIC)
def test_float_arithmetic_rounds_once(name: str, kind: type) -> None:
    bits = np.dtype(kind).itemsize * 8
    a, b = _floats(kind, 1), _floats(kind, 2)
    raw = f"u{bits // 8}"
    out = map_lanes(f"{name}.f{bits} {{d}}, {{0}}, {{1}};", (a.view(raw), b.view(raw)), bits, False)
    function = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div.rn": np.divide, "min": np.fmin,
        "max": np.fmax,
    }[name]  # fmt: skip
    assert (out.astype(raw).view(kind) == function(a, b)).all()


def test_fma_does_not_round_the_product() -> None:
    a = np.full(32, 1 + 2**-12, np.float32)
    c = np.full(32, -(1 + 2**-11), np.float32)
    out = map_lanes("fma.rn.f32 {d}, {0}, {0}, {1};", (a.view("u4"), c.view("u4")), 32, False)
    assert (out.view(np.float32) == np.float32(2**-24)).all()


def test_neg_and_abs_touch_the_sign_alone() -> None:
    a = HALF_INPUT.view("u4")
    assert (map_lanes("neg.f32 {d}, {0};", (a,), 32, False) == a ^ 0x80000000).all()
    assert (map_lanes("abs.f32 {d}, {0};", (a,), 32, False) == a & 0x7FFFFFFF).all()


def test_a_packed_pair_of_floats_multiplies_by_a_pair_that_all_lanes_share() -> None:
    a = np.arange(64, dtype=np.float32)
    out = map_lanes(
        "mov.b32 %r1, 0f40000000; mov.b32 %r2, 0fBF800000; mov.b64 %d3, {{%r1, %r2}};"
        "mul.rn.f32x2 %d4, {0}, %d3; fma.rn.f32x2 {d}, %d4, %d3, {0};",
        (a.view("u8"),),
        64,
        False,
    )
    assert (out.view(np.float32).reshape(32, 2) == a.reshape(32, 2) * [5, 2]).all()


def test_packed_half_adds_both_halves() -> None:
    a, b = (np.arange(64, dtype=np.float16) + i for i in range(2))
    out = map_lanes("add.rn.f16x2 {d}, {0}, {1};", (a.view("u4"), b.view("u4")), 32, False)
    assert (out.view(np.float16) == a + b).all()


@pytest.mark.parametrize("uniform", [False, True])
def test_two_floats_become_a_packed_half_with_the_first_on_top(uniform: bool) -> None:
    a, b = HALF_INPUT, np.roll(HALF_INPUT, 5)
    out = map_lanes(
        "cvt.rn.f16x2.f32 {d}, {0}, {1};", (a.view("u4"), b.view("u4")), 32, uniform
    ).view(np.uint16)
    with np.errstate(over="ignore"):
        high, low = a.astype(np.float16).view("u2"), b.astype(np.float16).view("u2")
    if uniform:
        high, low = np.full(32, high[0]), np.full(32, low[0])
    assert (out[1::2] == high).all()
    assert (out[0::2] == low).all()


def test_float_to_bf16_rounds_to_nearest_even() -> None:
    bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF] * 8, dtype=np.uint32)
    out = map_lanes("cvt.rn.bf16.f32 {d}, {0};", (bits,), 16, False)
    assert out[:4].tolist() == [0x3F80, 0x3F82, 0x3F81, 0x7F80]


def test_half_to_float_is_exact_for_every_class_of_value() -> None:
    a = np.array([0x0000, 0x8000, 0x0001, 0x3C00, 0x7BFF, 0x7C00, 0xFC00, 0x3555] * 4, np.uint16)
    out = map_lanes("cvt.f32.f16 {d}, {0};", (a,), 32, False)
    assert (out == a.view(np.float16).astype(np.float32).view("u4")).all()


def test_float_to_integer_truncates_and_saturates() -> None:
    a = np.array([1.9, -1.9, 3e9, -3e9, np.nan, np.inf, 0.5, 2.5] * 4, np.float32)
    out = map_lanes("cvt.rzi.s32.f32 {d}, {0};", (a.view("u4"),), 32, False).view(np.int32)
    low, high = -(2**31), 2**31 - 1
    assert out[:8].tolist() == [1, -1, high, low, low, high, 0, 2]
    out = map_lanes("cvt.rni.s32.f32 {d}, {0};", (a.view("u4"),), 32, False).view(np.int32)
    assert out[6:8].tolist() == [0, 2]


def test_integer_to_float_rounds_to_nearest() -> None:
    a = np.array([2**24 + 1, -(2**24) - 3, 7, 0] * 8, np.int32)
    out = map_lanes("cvt.rn.f32.s32 {d}, {0};", (a.view("u4"),), 32, False)
    assert (out.view(np.float32) == a.astype(np.float32)).all()


def test_tf32_keeps_ten_bits_of_mantissa() -> None:
    a = np.array([0x3F801000, 0x3F803000, 0x3F800FFF, 0x7F800000] * 8, np.uint32)
    out = map_lanes("cvt.rna.tf32.f32 {d}, {0};", (a,), 32, False)
    assert out[:4].tolist() == [0x3F802000, 0x3F804000, 0x3F800000, 0x7F800000]


def test_e4m3_saturates_and_rounds_to_even() -> None:
    high = np.array([448, 449, 1e9, 1, 17, 19, -0.001, 2**-10] * 4, np.float32)
    low = np.full(32, 2.0, np.float32)
    out = map_lanes(
        "cvt.rn.satfinite.e4m3x2.f32 {d}, {0}, {1};", (high.view("u4"), low.view("u4")), 16, False
    )
    assert (out & 0xFF == 0x40).all()
    assert (out[:8] >> 8).tolist() == [0x7E, 0x7E, 0x7E, 0x38, 0x58, 0x5A, 0x81, 0x00]


def test_a_comparison_with_nan_is_false_unless_unordered() -> None:
    a = np.array([1, np.nan] * 16, np.float32)
    b = np.ones(32, np.float32)
    raw = a.view("u4"), b.view("u4")
    assert map_lanes("setp.eq.f32 {d}, {0}, {1};", raw, 1, False)[:2].tolist() == [1, 0]
    assert map_lanes("setp.ne.f32 {d}, {0}, {1};", raw, 1, False)[:2].tolist() == [0, 0]
    assert map_lanes("setp.neu.f32 {d}, {0}, {1};", raw, 1, False)[:2].tolist() == [0, 1]
    assert map_lanes("setp.nan.f32 {d}, {0}, {1};", raw, 1, False)[:2].tolist() == [0, 1]


def test_a_mixed_precision_add_widens_its_narrow_operand() -> None:
    a = (np.arange(32, dtype=np.float32).view("u4") >> 16).astype(np.uint16)
    b = np.full(32, 0.25, np.float32)
    out = map_lanes("add.rn.f32.bf16 {d}, {0}, {1};", (a, b.view("u4")), 32, False)
    assert (out.view(np.float32) == np.arange(32) + 0.25).all()
