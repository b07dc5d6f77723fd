"""Floating-point arithmetic: PTX ISA, "Floating Point Instructions", "Half Precision", "Mixed
Precision".

Rounding is to nearest even; another rounding mode is refused except in cvt. fma is computed in
float64 and rounded once to float32. Approximate functions are computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gemmgen.emulate.decode import Decoder, Handler
from gemmgen.emulate.lanes import DTYPES, Lanes, Value
from gemmgen.emulate.ops.types import bf16_to_f32, f32_to_bf16, last_type, to_float, type_of

_REFUSED = ("rz", "rm", "rp")
_QUIET = {16: 0x7FFF, 32: 0x7FFFFFFF, 64: 0x7FF8000000000000}


class Format:
    """How values of one type become float arrays and back."""

    def __init__(self, kind: str, bits: int) -> None:
        self.kind = kind
        self.packed = kind.endswith("x2")
        self.brain = kind in ("bf16", "bf16x2")
        self.bits = bits
        self.element = bits // 2 if self.packed else 16 if self.brain else bits

    def load(self, value: Value) -> Lanes:
        """Bit patterns -> floats: one when uniform; packed pairs have shape (lanes, 2)."""
        raw = value if isinstance(value, np.ndarray) else np.array([value], dtype=DTYPES[self.bits])
        if self.packed:
            raw = raw.view(DTYPES[self.element]).reshape(-1, 2)
        if self.brain:
            return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return to_float(raw, self.element)

    def store(self, array: Lanes) -> Value:
        """Floats -> bit patterns, NaN canonical."""
        array = array.reshape(-1)
        if self.brain:
            raw = np.atleast_1d(np.asarray(_f32_to_bf16(array)))
        else:
            raw = array.view(DTYPES[self.element])
            nan = np.isnan(array)
            if nan.any():
                raw = np.where(nan, DTYPES[self.element](_QUIET[self.element]), raw)
        if self.packed:
            raw = raw.view(DTYPES[self.bits])
        return int(raw[0]) if raw.size == 1 else raw

    def round(self, array: Lanes) -> Lanes:
        """To the width that ``store`` takes."""
        if self.brain:
            return array.astype(np.float32)
        return array.astype({16: np.float16, 32: np.float32, 64: np.float64}[self.element])


def _f32_to_bf16(array: Lanes) -> Lanes:
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(array), np.uint32(0x7FFF), rounded).astype(np.uint16)


def flush(array: Lanes) -> Lanes:
    """Subnormal float32 -> zero of the same sign (`.ftz`)."""
    tiny = np.abs(array) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), array), array) if tiny.any() else array


def _plain(d: Decoder) -> Callable[[Lanes], Lanes]:
    for mod in _REFUSED:
        if d.has(mod):
            raise d.unknown(f"rounding .{mod}")
    return flush if d.has("ftz") else lambda a: a


def _maximum(a: Lanes, b: Lanes) -> Lanes:
    out = np.fmax(a, b)
    return np.where((a == 0) & (b == 0) & np.signbit(out), np.where(np.signbit(a), b, a), out)


def _minimum(a: Lanes, b: Lanes) -> Lanes:
    out = np.fmin(a, b)
    return np.where((a == 0) & (b == 0) & ~np.signbit(out), np.where(np.signbit(a), a, b), out)


_BINARY: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "copysign": lambda a, b: np.copysign(b, a),
    "min": _minimum,
    "max": _maximum,
}  # fmt: skip


def float_binary(d: Decoder, name: str) -> Handler:
    """add, sub, mul, div, min, max of one float type; also `add.f32.bf16`, whose first operand
    is narrower.
    """
    settle = _plain(d)
    kinds = [t for t in map(type_of, d.mods) if t is not None]
    out_format = Format(*_named(kinds[0]))
    first = Format(*_named(kinds[-1]))
    nan_wins, saturate = d.has("NaN"), d.has("sat")
    function = _BINARY[name]
    mixed = len(kinds) > 1

    def run(a: Value, b: Value) -> Value:
        x, y = settle(first.load(a)), settle(out_format.load(b))
        if mixed:
            x = x.astype(y.dtype)
        out = out_format.round(function(x, y))
        if nan_wins:
            out = np.where(np.isnan(x) | np.isnan(y), out.dtype.type(np.nan), out)
        if saturate:
            out = np.clip(np.where(np.isnan(out), out.dtype.type(0), out), 0, 1).astype(out.dtype)
        return out_format.store(settle(out))

    bits = out_format.bits
    texts = d.text(d.ops[1], first.bits), d.text(d.ops[2], bits)
    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(run)}({', '.join(texts)})")


def _named(kind: tuple[str, int]) -> tuple[str, int]:
    return ("bf16", 16) if kind == ("bf16", 16) else kind


def float_fma(d: Decoder) -> Handler:
    """fma and mad of one float type; also `fma.rn.f32.bf16`."""
    settle = _plain(d)
    kinds = [t for t in map(type_of, d.mods) if t is not None]
    out_format, first = Format(*kinds[0]), Format(*kinds[-1])
    relu, saturate = d.has("relu"), d.has("sat")
    wide = np.float64 if out_format.element < 64 else np.longdouble

    def run(a: Value, b: Value, c: Value) -> Value:
        x, y, z = settle(first.load(a)), settle(first.load(b)), settle(out_format.load(c))
        out = out_format.round(x.astype(wide) * y.astype(wide) + z.astype(wide))
        if relu:
            out = np.where(out > 0, out, out.dtype.type(0))
        if saturate:
            out = np.clip(np.where(np.isnan(out), out.dtype.type(0), out), 0, 1).astype(out.dtype)
        return out_format.store(settle(out))

    texts = [d.text(d.ops[i], first.bits if i < 3 else out_format.bits) for i in (1, 2, 3)]
    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(run)}({', '.join(texts)})")


_UNARY: dict[str, Callable[[Lanes], Lanes]] = {
    "rcp": lambda a: 1 / a,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sin": np.sin,
    "cos": np.cos,
    "lg2": np.log2,
    "ex2": np.exp2,
    "tanh": np.tanh,
}


def float_unary(d: Decoder, name: str) -> Handler:
    """neg and abs (bit operations), rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh."""
    kind, bits = last_type(d)
    form = Format(kind, bits)
    if name in ("neg", "abs"):
        sign = 1 << (bits - 1)
        if form.packed:
            sign |= 1 << (form.element - 1)
        a = d.text(d.ops[1], bits)
        text = f"{a} ^ {sign}" if name == "neg" else f"{a} & {sign ^ ((1 << bits) - 1)}"
        return d.inline(f"R[{d.slot(d.ops[0])}] = {text}")
    settle = _plain(d)
    function = _UNARY[name]

    def run(a: Value) -> Value:
        out: Any = function(settle(form.load(a)))
        return form.store(settle(form.round(out)))

    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(run)}({d.text(d.ops[1], bits)})")


__all__ = ["Format", "bf16_to_f32", "f32_to_bf16", "float_binary", "float_fma", "float_unary"]
