"""Integer, logic, shift and compare opcodes against numpy or Python integers, on uniform and
varying lanes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ptx_bench import Array, map_lanes

Function = Callable[..., int]


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _division(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def _clamp(n: int, bits: int) -> int:
    return min(n, bits)


CASES: list[tuple[str, int, int, bool, Function]] = [
    # instruction, input bits, output bits, signed, function
    ("add.s32 {d}, {0}, {1};", 32, 32, True, lambda a, b: a + b),
    ("add.u64 {d}, {0}, {1};", 64, 64, False, lambda a, b: a + b),
    ("add.s16 {d}, {0}, {1};", 16, 16, True, lambda a, b: a + b),
    ("sub.s32 {d}, {0}, {1};", 32, 32, True, lambda a, b: a - b),
    ("sub.s64 {d}, {0}, {1};", 64, 64, True, lambda a, b: a - b),
    ("mul.lo.s32 {d}, {0}, {1};", 32, 32, True, lambda a, b: a * b),
    ("mul.lo.u64 {d}, {0}, {1};", 64, 64, False, lambda a, b: a * b),
    ("mul.hi.u32 {d}, {0}, {1};", 32, 32, False, lambda a, b: a * b >> 32),
    ("mul.hi.s32 {d}, {0}, {1};", 32, 32, True, lambda a, b: a * b >> 32),
    ("mul.hi.u64 {d}, {0}, {1};", 64, 64, False, lambda a, b: a * b >> 64),
    ("mul.wide.u32 {d}, {0}, {1};", 32, 64, False, lambda a, b: a * b),
    ("mul.wide.s32 {d}, {0}, {1};", 32, 64, True, lambda a, b: a * b),
    ("mul.wide.u16 {d}, {0}, {1};", 16, 32, False, lambda a, b: a * b),
    ("mad.lo.s32 {d}, {0}, {1}, {0};", 32, 32, True, lambda a, b: a * b + a),
    ("mad.hi.s32 {d}, {0}, {1}, {0};", 32, 32, True, lambda a, b: (a * b >> 32) + a),
    ("mad.lo.s64 {d}, {0}, {1}, -7;", 64, 64, True, lambda a, b: a * b - 7),
    ("div.u32 {d}, {0}, {1};", 32, 32, False, lambda a, b: a // b),
    ("div.s32 {d}, {0}, {1};", 32, 32, True, _division),
    ("rem.s32 {d}, {0}, {1};", 32, 32, True, lambda a, b: a - b * _division(a, b)),
    ("rem.u64 {d}, {0}, {1};", 64, 64, False, lambda a, b: a % b),
    ("min.s32 {d}, {0}, {1};", 32, 32, True, min),
    ("max.s32 {d}, {0}, {1};", 32, 32, True, max),
    ("min.u32 {d}, {0}, {1};", 32, 32, False, min),
    ("max.u64 {d}, {0}, {1};", 64, 64, False, max),
    ("neg.s32 {d}, {0};", 32, 32, True, lambda a, b: -a),
    ("abs.s32 {d}, {0};", 32, 32, True, lambda a, b: abs(a)),
    ("sad.s32 {d}, {0}, {1}, 5;", 32, 32, True, lambda a, b: 5 + abs(a - b)),
    ("popc.b32 {d}, {0};", 32, 32, False, lambda a, b: a.bit_count()),
    ("popc.b64 {d}, {0};", 64, 32, False, lambda a, b: a.bit_count()),
    ("clz.b32 {d}, {0};", 32, 32, False, lambda a, b: 32 - a.bit_length()),
    ("brev.b32 {d}, {0};", 32, 32, False, lambda a, b: int(f"{a:032b}"[::-1], 2)),
    ("bfind.u32 {d}, {0};", 32, 32, False, lambda a, b: a.bit_length() - 1),
    ("bfe.u32 {d}, {0}, 5, 9;", 32, 32, False, lambda a, b: a >> 5 & 0x1FF),
    ("bfe.s32 {d}, {0}, 5, 9;", 32, 32, False, lambda a, b: _signed(a >> 5, 9)),
    (
        "bfi.b32 {d}, {0}, {1}, 4, 8;",
        32,
        32,
        False,
        lambda a, b: b & ~0xFF0 | (a & 0xFF) << 4,
    ),
    ("and.b32 {d}, {0}, {1};", 32, 32, False, lambda a, b: a & b),
    ("or.b64 {d}, {0}, {1};", 64, 64, False, lambda a, b: a | b),
    ("xor.b32 {d}, {0}, -16777224;", 32, 32, False, lambda a, b: a ^ 0xFEFFFFF8),
    ("not.b16 {d}, {0};", 16, 16, False, lambda a, b: ~a),
    ("shl.b32 {d}, {0}, 5;", 32, 32, False, lambda a, b: a << 5),
    ("shl.b32 {d}, {0}, 32;", 32, 32, False, lambda a, b: 0),
    ("shl.b64 {d}, {0}, 40;", 64, 64, False, lambda a, b: a << 40),
    ("shr.u32 {d}, {0}, 7;", 32, 32, False, lambda a, b: a >> 7),
    ("shr.s32 {d}, {0}, 7;", 32, 32, True, lambda a, b: a >> 7),
    ("shr.s32 {d}, {0}, 40;", 32, 32, True, lambda a, b: a >> 31),
    ("shr.s64 {d}, {0}, 33;", 64, 64, True, lambda a, b: a >> 33),
    ("shl.b32 {d}, {0}, {1};", 32, 32, False, lambda a, b: a << _clamp(b, 32)),
    ("shr.u32 {d}, {0}, {1};", 32, 32, False, lambda a, b: a >> _clamp(b, 32)),
    ("shf.l.wrap.b32 {d}, {0}, {1}, 8;", 32, 32, False, lambda a, b: b << 8 | a >> 24),
    ("shf.r.wrap.b32 {d}, {0}, {1}, 8;", 32, 32, False, lambda a, b: (b << 32 | a) >> 8),
    ("lop3.b32 {d}, {0}, {1}, {0}, 0x3C;", 32, 32, False, lambda a, b: a ^ b),
    (
        "prmt.b32 {d}, {0}, {1}, 0x7610;",
        32,
        32,
        False,
        lambda a, b: b >> 16 << 16 | a & 0xFFFF,
    ),
    ("setp.lt.s32 {d}, {0}, {1};", 32, 1, True, lambda a, b: int(a < b)),
    ("setp.lt.s32 {d}, {0}, -5;", 32, 1, True, lambda a, b: int(a < -5)),
    ("setp.lt.u32 {d}, {0}, {1};", 32, 1, False, lambda a, b: int(a < b)),
    ("setp.ge.s64 {d}, {0}, {1};", 64, 1, True, lambda a, b: int(a >= b)),
    ("setp.eq.b32 {d}, {0}, {0};", 32, 1, False, lambda a, b: 1),
    ("setp.ne.b16 {d}, {0}, {1};", 16, 1, False, lambda a, b: int(a != b)),
    (
        "setp.gt.s32 %p2, {1}, 0; setp.lt.and.s32 {d}, {0}, {1}, %p2;",
        32,
        1,
        True,
        lambda a, b: int(a < b and b > 0),
    ),
    (
        "setp.gt.s32 %p2, {1}, 0; selp.b32 {d}, {0}, {1}, %p2;",
        32,
        32,
        True,
        lambda a, b: a if b > 0 else b,
    ),
    ("cvt.s64.s32 {d}, {0};", 32, 64, True, lambda a, b: a),
    ("cvt.u64.u32 {d}, {0};", 32, 64, False, lambda a, b: a),
    ("cvt.u32.u64 {d}, {0};", 64, 32, False, lambda a, b: a),
    ("cvt.u16.u32 {d}, {0};", 32, 16, False, lambda a, b: a),
    ("cvt.s32.s16 {d}, {0};", 16, 32, True, lambda a, b: a),
    ("cvt.s32.s8 {d}, {0};", 32, 32, False, lambda a, b: _signed(a, 8)),
    ("cvt.sat.s16.s32 {d}, {0};", 32, 16, True, lambda a, b: min(max(a, -32768), 32767)),
    ("mov.b64 {d}, {{{0}, {1}}};", 32, 64, False, lambda a, b: a | b << 32),
    ("mov.b64 {{_, {d}}}, {0};", 64, 32, False, lambda a, b: a >> 32),
    ("mov.b64 {{{d}, _}}, {0};", 64, 32, False, lambda a, b: a),
    ("mov.b32 {{%h1, {d}}}, {0};", 32, 16, False, lambda a, b: a >> 16),
    (
        "mov.b128 %q1, {{{0}, {1}}}; mov.b128 {{_, {d}}}, %q1;",
        64,
        64,
        False,
        lambda a, b: b,
    ),
]


def _inputs(bits: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(bits)
    a, b = (rng.integers(0, 1 << 63, 32, dtype=np.uint64) * 2 + 1 for _ in range(2))
    edges = np.array([0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1], np.uint64)
    a[: len(edges)] = edges
    b[8 : 8 + len(edges)] = edges | np.uint64(1)
    b[20:24] = [1, 31, 32, 77]
    kind = f"u{bits // 8}"
    return a.astype(kind), b.astype(kind)


@pytest.mark.parametrize("uniform", [False, True], ids=["varying", "uniform"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].split("{d}")[0].strip()[:60])
def test_an_opcode_computes_what_the_isa_says(
    case: tuple[str, int, int, bool, Function], uniform: bool
) -> None:
    text, bits, out_bits, is_signed, function = case
    a, b = _inputs(bits)
    if uniform:
        a, b = a[10:], b[10:]
        a, b = (np.resize(x, 32) for x in (a, b))
    out = map_lanes(text, (a, b), out_bits, uniform)
    for lane in range(32):
        x, y = (int(v[0 if uniform else lane]) for v in (a, b))
        if is_signed:
            x, y = _signed(x, bits), _signed(y, bits)
        expected = function(x, y) & ((1 << out_bits) - 1)
        assert int(out[lane]) == expected, (lane, hex(x), hex(y))


def test_a_carry_chain_adds_wide_numbers() -> None:
    a, b = _inputs(64)
    out = map_lanes(
        "mov.b64 {{%r1, %r2}}, {0}; mov.b64 {{%r3, %r4}}, {1}; add.cc.u32 %r5, %r1, %r3;"
        "addc.u32 %r6, %r2, %r4; mov.b64 {d}, {{%r5, %r6}};",
        (a, b),
        64,
        False,
    )
    assert (out == a + b).all()
