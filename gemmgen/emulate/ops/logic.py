"""Logic, shifts, selection and comparison: PTX ISA, "Logic and Shift", "Comparison and
Selection".
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.lanes import DTYPES, Lanes, Value, merge, spread
from gemmgen.emulate.ops.integer import call, each
from gemmgen.emulate.ops.types import bf16_to_f32, last_type, signed, to_float, type_of, unsigned
from gemmgen.emulate.ptx import Imm, Pair, Sink


@op("and", "or", "xor")
def logic(d: Decoder) -> Handler:
    _, bits = last_type(d)
    sign = {"and": "&", "or": "|", "xor": "^"}[d.base]
    a, b = d.text(d.ops[1], bits), d.text(d.ops[2], bits)
    return d.inline(f"R[{d.slot(d.ops[0])}] = {a} {sign} {b}")


@op("not")
def invert(d: Decoder) -> Handler:
    _, bits = last_type(d)
    ones = True if bits == 1 else (1 << bits) - 1
    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.text(d.ops[1], bits)} ^ {ones}")


@op("cnot")
def logical_not(d: Decoder) -> Handler:
    _, bits = last_type(d)
    return call(d, each(lambda a: int(not a), "u", bits), d.text(d.ops[1], bits))


@op("lop3")
def lop3(d: Decoder) -> Handler:
    table = d.ops[4]
    if not isinstance(table, Imm):
        raise d.unknown("the table")
    full = 0xFFFFFFFF

    def run(a: Value, b: Value, c: Value) -> Value:
        out: Value = 0
        for i in range(8):
            if table.value >> i & 1:
                term = a if i & 4 else a ^ full
                term = term & (b if i & 2 else b ^ full)
                out = out | (term & (c if i & 1 else c ^ full))
        return out

    return call(d, run, *(d.text(o, 32) for o in d.ops[1:4]))


@op("shl", "shr")
def shift(d: Decoder) -> Handler:
    kind, bits = last_type(d)
    a = d.text(d.ops[1], bits)
    amount = d.ops[2]
    left = d.base == "shl"
    if isinstance(amount, Imm) and kind != "s":
        count = d.constant(amount, 32)
        dst = d.slot(d.ops[0])
        if count >= bits:
            return d.inline(f"R[{dst}] = 0")
        if not left:
            return d.inline(f"R[{dst}] = {a} >> {count}")
        return d.inline(
            f"x = {a} << {count}", f"R[{dst}] = x & {(1 << bits) - 1} if x.__class__ is int else x"
        )
    return call(d, shifter(left, kind, bits), a, d.text(amount, 32))


def shifter(left: bool, kind: str, bits: int) -> Callable[[Value, Value], Value]:
    """A shift with the amount clamped to the width."""
    mask = (1 << bits) - 1

    def run(a: Value, n: Value) -> Value:
        if not isinstance(a, np.ndarray) and not isinstance(n, np.ndarray):
            n = min(n, bits)
            if left:
                return a << n & mask
            return signed(a, bits) >> n & mask if kind == "s" else a >> n
        value = spread(a, bits)
        count = spread(n, 32)
        held = np.minimum(count, bits - 1).astype(value.dtype)
        if kind == "s" and not left:
            source: Any = signed(value, bits)
            return unsigned(source >> held.view(source.dtype), bits)
        moved: Lanes = value << held if left else value >> held
        return np.where(count >= bits, value.dtype.type(0), moved)

    return run


@op("shf")
def funnel(d: Decoder) -> Handler:
    left, clamp = d.mods[0] == "l", d.mods[1] == "clamp"

    def one(low: int, high: int, n: int) -> int:
        n = min(n, 32) if clamp else n & 31
        both = high << 32 | low
        return both << n >> 32 if left else both >> n

    return call(d, each(one, "u", 32), *(d.text(o, 32) for o in d.ops[1:4]))


@op("prmt")
def permute(d: Decoder) -> Handler:
    mode = d.mods[-1] if d.mods[-1] != "b32" else ""
    if mode:
        raise d.unknown(f"mode {mode}")

    def one(a: int, b: int, control: int) -> int:
        source = b << 32 | a
        out = 0
        for i in range(4):
            pick = control >> 4 * i & 0xF
            byte = source >> 8 * (pick & 7) & 0xFF
            if pick & 8:
                byte = 0xFF if byte & 0x80 else 0
            out |= byte << 8 * i
        return out

    return call(d, each(one, "u", 32), *(d.text(o, 32) for o in d.ops[1:4]))


# --- selection ---


def selector(bits: int) -> Callable[[Value, Value, Value], Value]:
    """`a if p else b` over lanes."""

    def run(p: Value, a: Value, b: Value) -> Value:
        if isinstance(p, np.ndarray):
            return merge(p, a, b, bits)
        return a if p else b

    return run


@op("selp")
def select(d: Decoder) -> Handler:
    _, bits = last_type(d)
    a, b, p = d.text(d.ops[1], bits), d.text(d.ops[2], bits), d.text(d.ops[3], 1)
    name = d.use(selector(bits))
    return d.inline(
        f"x = {p}",
        f"R[{d.slot(d.ops[0])}] = {a} if x is True else {b} if x is False else {name}(x, {a}, {b})",
    )


@op("slct")
def select_by_sign(d: Decoder) -> Handler:
    bits = (type_of(d.mods[-2]) or ("b", 32))[1]
    pick = selector(bits)
    is_float = d.mods[-1] == "f32"

    def run(a: Value, b: Value, c: Value) -> Value:
        if is_float:
            found = to_float(c, 32) >= 0
            return pick(found if found.size > 1 else bool(found[0]), a, b)
        return pick(c < (1 << 31), a, b)

    return call(d, run, d.text(d.ops[1], bits), d.text(d.ops[2], bits), d.text(d.ops[3], 32))


# --- comparison ---

_INTEGER = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
}  # fmt: skip
_FLOAT: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge,
}  # fmt: skip


def compare_text(d: Decoder, operands: tuple[Any, Any]) -> str:
    """Python text of the comparison that the opcode names."""
    kind, bits = last_type(d)
    name = d.mods[0]
    if kind in ("f", "bf"):
        function = float_compare(name, kind, bits)
        return f"{d.use(function)}({d.text(operands[0], bits)}, {d.text(operands[1], bits)})"
    sign = _INTEGER.get(name)
    if sign is None:
        raise d.unknown(f"comparison {name}")
    if kind != "s" or sign in ("==", "!="):
        return f"({d.text(operands[0], bits)} {sign} {d.text(operands[1], bits)})"
    top = 1 << (bits - 1)
    texts = [
        str(d.constant(o, bits) ^ top) if isinstance(o, Imm) else f"({d.text(o, bits)} ^ {top})"
        for o in operands
    ]
    return f"({texts[0]} {sign} {texts[1]})"


def float_compare(name: str, kind: str, bits: int) -> Callable[[Value, Value], Value]:
    """Ordered comparisons are false for NaN, the `…u` ones true: PTX ISA, "setp"."""

    def floats(value: Value) -> Lanes:
        return bf16_to_f32(value) if kind == "bf" else to_float(value, bits)

    def run(a: Value, b: Value) -> Value:
        x, y = floats(a), floats(b)
        nan = np.isnan(x) | np.isnan(y)
        if name in ("num", "nan"):
            out = ~nan if name == "num" else nan
        elif name.endswith("u") and name[:-1] in _FLOAT:
            out = _FLOAT[name[:-1]](x, y) | nan
        else:
            out = _FLOAT[name](x, y) & ~nan
        return out if out.size > 1 else bool(out[0])

    return run


@op("setp")
def set_predicate(d: Decoder) -> Handler:
    kind, _ = last_type(d)
    if kind.endswith("x2"):
        raise d.unknown("the packed type")
    first, second = (
        (d.ops[0].first, d.ops[0].second) if isinstance(d.ops[0], Pair) else (d.ops[0], None)
    )
    lines = [f"x = {compare_text(d, (d.ops[1], d.ops[2]))}"]
    joined = next((m for m in d.mods if m in ("and", "or", "xor")), None)
    sign = {"and": "&", "or": "|", "xor": "^"}.get(joined or "", "")
    extra = f" {sign} {d.text(d.ops[3], 1)}" if sign else ""
    if not isinstance(first, Sink):
        lines.append(f"y = x{extra}" if extra else "y = x")
    if second is not None and not isinstance(second, Sink):
        lines.append(f"R[{d.slot(second)}] = (x ^ True){extra}")
    if not isinstance(first, Sink):
        lines.append(f"R[{d.slot(first)}] = y")
    return d.inline(*lines)


@op("set")
def set_value(d: Decoder) -> Handler:
    kinds = [t for t in map(type_of, d.mods) if t is not None]
    kind, bits = kinds[0]
    text = compare_text(d, (d.ops[1], d.ops[2]))
    one = (1 << bits) - 1 if kind != "f" else 0x3F800000

    def run(found: Value) -> Value:
        if isinstance(found, np.ndarray):
            return np.where(found, DTYPES[bits](one), DTYPES[bits](0))
        return one if found else 0

    return call(d, run, text)
