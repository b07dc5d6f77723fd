"""cvt: PTX ISA, "Data Movement and Conversion Instructions: cvt"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from gemmgen.emulate.decode import Batch, Decoder, Handler, Run, op
from gemmgen.emulate.lanes import DTYPES, SIGNED, WARP, Lanes, Value, spread
from gemmgen.emulate.machine import Group
from gemmgen.emulate.ops import minifloat
from gemmgen.emulate.ops.floating import Format, flush
from gemmgen.emulate.ops.types import resize, type_of
from gemmgen.emulate.ptx import Reg

_INTEGER = "bus"
_ROUND: dict[str, Callable[[Lanes], Lanes]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip


@op("cvt")
def convert(d: Decoder) -> Handler:
    if d.mods[0] == "pack":
        raise d.unknown("pack")
    to, source = d.mods[-2], d.mods[-1]
    if to in minifloat.FORMATS or source in minifloat.FORMATS:
        return minifloat.convert(d, to, source)
    if to in ("f16x2", "bf16x2") and source == "f32":
        return _pair(d, to)
    if to == "tf32":
        return _tf32(d)
    (to_kind, to_bits), (kind, bits) = (type_of(m) or _unknown(d, m) for m in (to, source))
    if to_kind in _INTEGER and kind in _INTEGER:
        return _integers(d, to_kind, to_bits, kind, bits)
    if kind in _INTEGER:
        return _to_float(d, to, kind, bits)
    if to_kind in _INTEGER:
        return _to_integer(d, to_kind, to_bits, source)
    return _floats(d, to, source)


def _unknown(d: Decoder, mod: str) -> tuple[str, int]:
    raise d.unknown(f"type .{mod}")


def _register_bits(d: Decoder, default: int) -> int:
    return d.ops[0].bits if isinstance(d.ops[0], Reg) else default


def _source_bits(d: Decoder, default: int) -> int:
    return d.ops[1].bits if isinstance(d.ops[1], Reg) else default


def _integers(d: Decoder, to_kind: str, to_bits: int, kind: str, bits: int) -> Handler:
    out_bits, in_bits = _register_bits(d, to_bits), _source_bits(d, bits)
    a, dst = d.text(d.ops[1], bits), d.slot(d.ops[0])
    if d.has("sat"):
        low = -(1 << to_bits - 1) if to_kind == "s" else 0
        high = (1 << to_bits - (to_kind == "s")) - 1
        return d.inline(
            f"R[{dst}] = {d.use(_saturate(low, high, kind, bits, in_bits, out_bits))}({a})"
        )
    signs, sign_out = kind == "s", to_kind == "s"

    def run(value: Value) -> Value:
        held = resize(value, in_bits, bits, False)
        held = resize(held, bits, to_bits, signs)
        return resize(held, to_bits, out_bits, sign_out)

    name = d.use(run)
    if not signs and to_bits >= in_bits and bits == in_bits and out_bits >= to_bits:
        return d.inline(f"x = {a}", f"R[{dst}] = x if x.__class__ is int else {name}(x)")
    return d.inline(f"R[{dst}] = {name}({a})")


def _saturate(
    low: int, high: int, kind: str, bits: int, in_bits: int, out_bits: int
) -> Callable[[Value], Value]:
    mask = (1 << out_bits) - 1

    def one(value: int) -> int:
        value &= (1 << bits) - 1
        if kind == "s":
            value -= value >> (bits - 1) << bits
        return min(max(value, low), high) & mask

    def run(value: Value) -> Value:
        if isinstance(value, np.ndarray):
            return np.array([one(int(v)) for v in value], dtype=DTYPES[out_bits])
        return one(value)

    return run


def _form(name: str) -> Format:
    kind = type_of(name)
    assert kind is not None
    return Format(*kind)


def _to_float(d: Decoder, to: str, kind: str, bits: int) -> Handler:
    form = _form(to)
    in_bits = _source_bits(d, bits)

    def run(value: Value) -> Value:
        held = resize(value, in_bits, bits, False)
        raw = held if isinstance(held, np.ndarray) else np.array([held], dtype=DTYPES[bits])
        array = raw.view(SIGNED[bits]) if kind == "s" else raw
        return form.store(form.round(array))

    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(run)}({d.text(d.ops[1], bits)})")


def _to_integer(d: Decoder, to_kind: str, to_bits: int, source: str) -> Handler:
    form = _form(source)
    rounding = next((_ROUND[m] for m in d.mods if m in _ROUND), np.trunc)
    low = -(1 << to_bits - 1) if to_kind == "s" else 0
    high = (1 << to_bits - (to_kind == "s")) - 1
    out_bits = _register_bits(d, to_bits)
    mask = (1 << out_bits) - 1
    flushed = d.has("ftz")

    def one(value: float) -> int:
        if value != value:  # NaN: 0 for narrow types, else the largest negative (PTX ISA, cvt)
            return 0 if to_bits < 32 or to_kind == "u" else low & mask
        return (high if value >= high else low if value <= low else int(value)) & mask

    def run(value: Value) -> Value:
        array = form.load(value)
        array = rounding(flush(array) if flushed else array)
        out = [one(float(v)) for v in array]
        return np.array(out, dtype=DTYPES[out_bits]) if len(out) == WARP else out[0]

    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(run)}({d.text(d.ops[1], form.bits)})")


def _floats(d: Decoder, to: str, source: str) -> Handler:
    out, form = _form(to), _form(source)
    rounding = next((_ROUND[m] for m in d.mods if m in _ROUND), None)
    if any(d.has(m) for m in ("rz", "rm", "rp")):
        raise d.unknown("the rounding")
    flushed, saturate, relu = d.has("ftz"), d.has("sat"), d.has("relu")

    def run(value: Value) -> Value:
        array = form.load(value)
        array = flush(array) if flushed else array
        if rounding is not None:
            array = rounding(array)
        if saturate:
            array = np.clip(np.where(np.isnan(array), array.dtype.type(0), array), 0, 1)
        if relu:
            array = np.where(array > 0, array, array.dtype.type(0))
        return out.store(out.round(array))

    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(run)}({d.text(d.ops[1], form.bits)})")


def _pair(d: Decoder, to: str) -> Handler:
    """cvt.rn.f16x2.f32 d, a, b: a becomes the upper half."""
    half = Format("bf16" if to == "bf16x2" else "f", 16)
    if any(d.has(m) for m in ("rz", "rs")):
        raise d.unknown("the rounding")
    relu, finite = d.has("relu"), d.has("satfinite")
    largest = np.float32(3.3895313892515355e38 if half.brain else 65504.0)
    single = Format("f", 32)
    fast = not (relu or finite or half.brain)

    def run(a: Value, b: Value) -> Value:
        both = np.empty((WARP, 2), dtype=np.float32)
        both[:, 0] = single.load(b)
        both[:, 1] = single.load(a)
        if relu:
            both = np.where(both > 0, both, np.float32(0))
        if finite:
            both = np.clip(both, -largest, largest)
        if fast:
            out = both.astype(np.float16).view(np.uint32)[:, 0]
        else:
            out = np.asarray(half.store(half.round(both.reshape(-1)))).view(np.uint32)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return np.ascontiguousarray(out)
        return int(out[0])

    texts = d.text(d.ops[1], 32), d.text(d.ops[2], 32)
    made = d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(run)}({', '.join(texts)})")
    item = tuple(o.slot for o in d.ops if isinstance(o, Reg))
    if not fast or len(item) != 3:
        return made
    return replace(made, batch=Batch("cvt.rn.f16x2.f32", item, partial(_join_pairs, run)))


def _join_pairs(one: Callable[[Value, Value], Value], items: Sequence[tuple[int, int, int]]) -> Run:
    """Many conversions of two float32 to a packed half at once; items: target, upper, lower."""
    count = len(items)
    slots = [i[2] for i in items] + [i[1] for i in items]
    targets = [i[0] for i in items]

    def run(g: Group) -> None:
        registers = g.regs
        sources = [registers[s] for s in slots]
        if not all(isinstance(v, np.ndarray) for v in sources):
            for target, a, b in items:
                registers[target] = one(registers[a], registers[b])
            return
        halves = np.concatenate(sources).view(np.float32).astype(np.float16).view(np.uint16)
        out = np.empty((count, WARP, 2), dtype=np.uint16)
        out[:, :, 0] = halves[: count * WARP].reshape(count, WARP)
        out[:, :, 1] = halves[count * WARP :].reshape(count, WARP)
        for target, row in zip(targets, out.view(np.uint32)[:, :, 0], strict=True):
            registers[target] = row

    return run


def _tf32(d: Decoder) -> Handler:
    away = d.has("rna")

    def run(value: Value) -> Value:
        bits = spread(value, 32).astype(np.uint64)
        low = bits & np.uint64(0x1FFF)
        half = np.uint64(0x1000)
        odd = bits >> np.uint64(13) & np.uint64(1)
        up = low >= half if away else (low > half) | ((low == half) & (odd == 1))
        rounded = (bits & np.uint64(0xFFFFE000)) + np.where(up, np.uint64(0x2000), np.uint64(0))
        special = (bits & np.uint64(0x7F800000)) == 0x7F800000
        out = np.where(special, bits, rounded).astype(np.uint32)
        return out if isinstance(value, np.ndarray) else int(out[0])

    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(run)}({d.text(d.ops[1], 32)})")
