"""mov and the address conversions: PTX ISA, "Data Movement and Conversion Instructions"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.lanes import DTYPES, WARP, Lanes, Value, lane_of, spread
from gemmgen.emulate.memory import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW
from gemmgen.emulate.ops.integer import call
from gemmgen.emulate.ops.types import last_type, resize
from gemmgen.emulate.ptx import Reg, Sink, Vec


@op("mov")
def move(d: Decoder) -> Handler:
    _, bits = last_type(d)
    target, source = d.ops
    if isinstance(source, Vec) and isinstance(target, Vec):
        return _move_each(d, target, source, bits // len(source.items))
    if isinstance(source, Vec):
        return _pack(d, target, source, bits // len(source.items), bits)
    if isinstance(target, Vec):
        return _unpack(d, target, bits // len(target.items), bits)
    return d.inline(f"R[{d.slot(target)}] = {d.text(source, bits)}")


def _move_each(d: Decoder, target: Vec, source: Vec, bits: int) -> Handler:
    names = [f"R[{d.slot(t)}]" for t in target.items]
    return d.inline(f"{', '.join(names)} = {', '.join(d.text(s, bits) for s in source.items)}")


def packer(bits: int, total: int) -> Callable[..., Value]:
    """Join parts of ``bits``, lowest first, to one value of ``total`` bits."""

    def pack(*parts: Value) -> Value:
        if not any(isinstance(p, np.ndarray) for p in parts):
            out = 0
            for i, part in enumerate(parts):
                out |= int(part) << i * bits
            return out
        if total == 128:
            rows = [[lane_of(p, i) for p in parts] for i in range(WARP)]
            joined = [sum(v << k * bits for k, v in enumerate(row)) for row in rows]
            return np.array(joined, dtype=np.object_)
        block = np.empty((WARP, len(parts)), dtype=DTYPES[bits])
        for i, part in enumerate(parts):
            block[:, i] = part
        return block.view(DTYPES[total])[:, 0].copy()

    return pack


def _pack(d: Decoder, target: object, source: Vec, bits: int, total: int) -> Handler:
    texts = [d.text(s, bits) for s in source.items]
    name = d.use(packer(bits, total))
    dst = d.slot(d.ops[0])
    if len(texts) == 2:
        a, b = texts
        made = d.inline(
            f"x = {a}",
            f"y = {b}",
            f"R[{dst}] = x | y << {bits} if x.__class__ is int and y.__class__ is int "
            f"else {name}(x, y)",
        )
    else:
        made = d.inline(f"R[{dst}] = {name}({', '.join(texts)})")
    slots = tuple(s.slot for s in source.items if isinstance(s, Reg))
    return replace(made, packs=slots) if len(slots) == len(texts) else made


def part(value: Value, index: int, bits: int, total: int) -> Value:
    """Part ``index`` of ``bits`` of a value of ``total`` bits."""
    if isinstance(value, np.ndarray):
        if total == 128:
            mask = (1 << bits) - 1
            return np.array([int(v) >> index * bits & mask for v in value], dtype=DTYPES[bits])
        return value.view(DTYPES[bits])[index :: total // bits].copy()
    return value >> index * bits & ((1 << bits) - 1)


def _unpack(d: Decoder, target: Vec, bits: int, total: int) -> Handler:
    name = d.use(part)
    lines = [f"x = {d.text(d.ops[1], total)}"]
    for i, item in enumerate(target.items):
        if isinstance(item, Sink):
            continue
        lines.append(
            f"R[{d.slot(item)}] = x >> {i * bits} & {(1 << bits) - 1} if x.__class__ is int "
            f"else {name}(x, {i}, {bits}, {total})"
        )
    if len(lines) == 1:
        return d.inline("pass")
    slots = tuple(i.slot if isinstance(i, Reg) else None for i in target.items)
    return replace(d.inline(*lines), unpacks=slots)


_WINDOWS = {
    "shared": SHARED_WINDOW,
    "param": PARAM_WINDOW,
    "local": LOCAL_WINDOW,
    "global": 0,
    "const": 0,
}


@op("cvta")
def convert_address(d: Decoder) -> Handler:
    """Generic and back. Parameter symbols already carry generic addresses, as do globals."""
    _, bits = last_type(d)
    space = next(m.split("::")[0] for m in d.mods if m.split("::")[0] in _WINDOWS)
    a = d.text(d.ops[1], bits)
    if space in ("global", "const", "param", "local"):
        return d.inline(f"R[{d.slot(d.ops[0])}] = {a}")
    mask = 0xFFFFFFFF
    sign = f"({a} & {mask})" if d.has("to") else f"{a} | {_WINDOWS[space]}"
    return d.inline(f"R[{d.slot(d.ops[0])}] = {sign}")


@op("mapa")
def map_address(d: Decoder) -> Handler:
    """The address of the same offset in another CTA of the cluster: PTX ISA, "mapa"."""
    _, bits = last_type(d)
    generic = not d.has("shared::cluster")

    def run(address: Value, rank: Value) -> Value:
        if isinstance(address, np.ndarray) or isinstance(rank, np.ndarray):
            wide = spread(resize(rank, 32, bits, False), bits)
            out: Lanes = spread(address, bits) & 0xFFFFFF | wide << 24
            return out | SHARED_WINDOW if generic else out
        moved = address & 0xFFFFFF | rank << 24
        return moved | SHARED_WINDOW if generic else moved

    return call(d, run, d.text(d.ops[1], bits), d.text(d.ops[2], 32))


@op("isspacep")
def is_space(d: Decoder) -> Handler:
    space = d.mods[0].split("::")[0]

    def one(address: int) -> bool:
        spaces = (
            ("local", LOCAL_WINDOW),
            ("param", PARAM_WINDOW),
            ("shared", SHARED_WINDOW),
            ("global", 0),
        )
        return next(name for name, start in spaces if address >= start) == space

    def run(address: Value) -> Value:
        if isinstance(address, np.ndarray):
            return np.array([one(int(a)) for a in address], dtype=np.bool_)
        return one(address)

    return call(d, run, d.text(d.ops[1], 64))
