"""Integer arithmetic: PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.lanes import DTYPES, SIGNED, WARP, Lanes, Value, lane_of, spread
from gemmgen.emulate.ops.floating import float_binary, float_fma, float_unary
from gemmgen.emulate.ops.types import last_type, signed, unsigned

Binary = Callable[[Value, Value], Value]


def assign_wrapped(d: Decoder, expression: str, bits: int) -> Handler:
    """`dst = expression`, masked when it is a Python int; unsigned arrays wrap by themselves."""
    dst = d.slot(d.ops[0])
    return d.inline(
        f"x = {expression}", f"R[{dst}] = x & {(1 << bits) - 1} if x.__class__ is int else x"
    )


def call(d: Decoder, function: Callable[..., Value], *texts: str) -> Handler:
    """`dst = function(texts…)`."""
    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(function)}({', '.join(texts)})")


@op("add", "sub")
def add_sub(d: Decoder) -> Handler:
    kind, bits = last_type(d)
    if kind not in "bus" or d.has("sat"):
        return float_binary(d, d.base)
    a, b = d.text(d.ops[1], bits), d.text(d.ops[2], bits)
    return assign_wrapped(d, f"{a} {'+' if d.base == 'add' else '-'} {b}", bits)


@op("mul")
def mul(d: Decoder) -> Handler:
    kind, bits = last_type(d)
    if kind not in "bus":
        return float_binary(d, "mul")
    a, b = d.text(d.ops[1], bits), d.text(d.ops[2], bits)
    if d.has("lo"):
        return assign_wrapped(d, f"{a} * {b}", bits)
    if d.has("wide"):
        return call(d, _wide(kind, bits), a, b)
    return call(d, _high(kind, bits), a, b)


@op("mad")
def mad(d: Decoder) -> Handler:
    kind, bits = last_type(d)
    if kind not in "bus":
        return float_fma(d)
    a, b = d.text(d.ops[1], bits), d.text(d.ops[2], bits)
    if d.has("lo"):
        return assign_wrapped(d, f"{a} * {b} + {d.text(d.ops[3], bits)}", bits)
    wide = d.has("wide")
    product = _wide(kind, bits) if wide else _high(kind, bits)
    c = d.text(d.ops[3], bits * 2 if wide else bits)
    return assign_wrapped(d, f"{d.use(product)}({a}, {b}) + {c}", bits * 2 if wide else bits)


def _wide(kind: str, bits: int) -> Binary:
    double = bits * 2
    mask = (1 << double) - 1

    def wide(a: Value, b: Value) -> Value:
        if kind == "s":
            a, b = signed(a, bits), signed(b, bits)
        if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
            return a * b & mask
        dtype = SIGNED[double] if kind == "s" else DTYPES[double]
        left = a.astype(dtype) if isinstance(a, np.ndarray) else a
        right = b.astype(dtype) if isinstance(b, np.ndarray) else b
        return unsigned(left * right, double)

    return wide


def _high(kind: str, bits: int) -> Binary:
    if bits < 64:
        wide = _wide(kind, bits)

        def high(a: Value, b: Value) -> Value:
            product = wide(a, b)
            if isinstance(product, np.ndarray):
                upper: Lanes = product >> np.array(bits, product.dtype)
                return upper.astype(DTYPES[bits])
            return product >> bits

        return high
    return each(lambda a, b: (a * b) >> 64, kind, 64)


def each(function: Callable[..., int], kind: str, bits: int) -> Callable[..., Value]:
    """A function of Python ints over lanes: signed operands where the type is signed."""
    mask = (1 << bits) - 1

    def one(values: tuple[int, ...]) -> int:
        if kind == "s":
            values = tuple(v - (v >> (bits - 1) << bits) for v in values)
        return function(*values) & mask

    def run(*values: Value) -> Value:
        if not any(isinstance(v, np.ndarray) for v in values):
            return one(tuple(int(v) for v in values))
        rows = [[lane_of(v, i) for v in values] for i in range(WARP)]
        return np.array([one(tuple(row)) for row in rows], dtype=DTYPES[bits])

    return run


def _trunc_div(a: int, b: int) -> int:
    if not b:
        return -1
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def _trunc_rem(a: int, b: int) -> int:
    return a - b * _trunc_div(a, b) if b else a


@op("div", "rem")
def div_rem(d: Decoder) -> Handler:
    kind, bits = last_type(d)
    if kind not in "bus":
        return float_binary(d, "div")
    exact = _trunc_div if d.base == "div" else _trunc_rem
    slow = each(exact, kind, bits)
    fast: Any = np.floor_divide if d.base == "div" else np.remainder

    def run(a: Value, b: Value) -> Value:
        if (
            kind == "u"
            and isinstance(a, np.ndarray)
            and (np.all(b) if isinstance(b, np.ndarray) else b)
        ):
            return fast(a, b)  # type: ignore[no-any-return]
        return slow(a, b)

    return call(d, run, d.text(d.ops[1], bits), d.text(d.ops[2], bits))


@op("min", "max")
def min_max(d: Decoder) -> Handler:
    kind, bits = last_type(d)
    if kind not in "bus":
        return float_binary(d, d.base)
    least = d.base == "min"

    def run(a: Value, b: Value) -> Value:
        if kind == "s":
            a, b = signed(a, bits), signed(b, bits)
        if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
            return unsigned(min(a, b) if least else max(a, b), bits)
        out = np.minimum(a, b) if least else np.maximum(a, b)
        return unsigned(out, bits)

    result = call(d, run, d.text(d.ops[1], bits), d.text(d.ops[2], bits))
    if d.has("relu"):
        raise d.unknown("relu")
    return result


@op("neg", "abs")
def neg_abs(d: Decoder) -> Handler:
    kind, bits = last_type(d)
    if kind not in "bus":
        return float_unary(d, d.base)
    a = d.text(d.ops[1], bits)
    if d.base == "neg":
        return assign_wrapped(d, f"0 - {a}", bits)

    def absolute(a: Value) -> Value:
        value = signed(a, bits)
        return unsigned(np.abs(value) if isinstance(value, np.ndarray) else abs(value), bits)

    return call(d, absolute, a)


@op("popc", "clz", "brev", "bfind")
def bit_counts(d: Decoder) -> Handler:
    kind, bits = last_type(d)
    functions: dict[str, Callable[[int], int]] = {
        "popc": lambda a: a.bit_count(),
        "clz": lambda a: bits - a.bit_length(),
        "brev": lambda a: int(f"{a:0{bits}b}"[::-1], 2),
        "bfind": lambda a: a.bit_length() - 1,
    }
    function = functions[d.base]
    shift = d.has("shiftamt")
    width = bits if d.base == "brev" else 32

    def one(a: int) -> int:
        if d.base == "bfind":
            if kind == "s" and a >> (bits - 1):
                a ^= (1 << bits) - 1
            found = function(a)
            return bits - 1 - found if shift and found >= 0 else found
        return function(a)

    run = each(one, "u", max(bits, width))

    def trimmed(a: Value) -> Value:
        out = run(a)
        if isinstance(out, np.ndarray):
            return out.astype(DTYPES[width])
        return out & ((1 << width) - 1)

    return call(d, trimmed, d.text(d.ops[1], bits))


@op("bfe")
def bit_field_extract(d: Decoder) -> Handler:
    kind, bits = last_type(d)

    def one(a: int, position: int, length: int) -> int:
        position, length = position & 0xFF, length & 0xFF
        field = a >> position & ((1 << length) - 1)
        if kind == "s" and length:
            top = min(position + length - 1, bits - 1)
            if a >> top & 1:
                field |= -1 << min(length, max(bits - position, 0))
        return field

    run = each(one, "u", bits)
    texts = (d.text(d.ops[1], bits), d.text(d.ops[2], 32), d.text(d.ops[3], 32))
    return call(d, run, *texts)


@op("bfi")
def bit_field_insert(d: Decoder) -> Handler:
    _, bits = last_type(d)

    def one(a: int, b: int, position: int, length: int) -> int:
        position, length = position & 0xFF, length & 0xFF
        mask = ((1 << length) - 1) << position
        return b & ~mask | a << position & mask

    texts = [d.text(o, bits) for o in d.ops[1:3]] + [d.text(o, 32) for o in d.ops[3:5]]
    return call(d, each(one, "u", bits), *texts)


@op("sad")
def sad(d: Decoder) -> Handler:
    kind, bits = last_type(d)
    run = each(lambda a, b, c: c + abs(a - b), kind, bits)
    return call(d, run, *(d.text(o, bits) for o in d.ops[1:4]))


@op("dp4a")
def dp4a(d: Decoder) -> Handler:
    first, second = d.mods[-2][0], d.mods[-1][0]

    def part(value: int, index: int, kind: str) -> int:
        byte = value >> 8 * index & 0xFF
        return byte - 256 if kind == "s" and byte > 127 else byte

    def one(a: int, b: int, c: int) -> int:
        return c + sum(part(a, i, first) * part(b, i, second) for i in range(4))

    return call(d, each(one, "u", 32), *(d.text(o, 32) for o in d.ops[1:4]))


@op("add.cc", "addc", "sub.cc", "subc")
def carry_chain(d: Decoder) -> Handler:
    _, bits = last_type(d)
    uses, sets = d.base in ("addc", "subc"), d.base.endswith(".cc") or d.has("cc")
    minus = d.base.startswith("sub")
    a, b = d.read(d.ops[1], bits), d.read(d.ops[2], bits)
    write = d.write(d.ops[0])
    mask = (1 << bits) - 1

    def run(g: object) -> None:
        group: Any = g
        key = ("carry", group.serial)
        held = group.warp.ext.get(key, 0) if uses else 0
        left, right, carry = (spread(v, bits) for v in (a(group), b(group), held))
        totals = [
            int(p) - int(q) - int(c) if minus else int(p) + int(q) + int(c)
            for p, q, c in zip(left.tolist(), right.tolist(), carry.tolist(), strict=True)
        ]
        write(group, np.array([t & mask for t in totals], dtype=DTYPES[bits]))
        if sets:
            group.warp.ext[key] = np.array([not 0 <= t <= mask for t in totals], dtype=np.uint32)

    return Handler(run=run)
