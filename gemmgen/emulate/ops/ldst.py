"""ld, st, atom, red: PTX ISA, "Data Movement and Conversion Instructions", "Parallel
Synchronization".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gemmgen.emulate.decode import Batch, Decoder, Handler, Run, op
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import DTYPES, WARP, Value, lane_of
from gemmgen.emulate.machine import Group
from gemmgen.emulate.ops.floating import Format
from gemmgen.emulate.ops.move import packer, part
from gemmgen.emulate.ops.spaces import loader, part_of, space_of, storer
from gemmgen.emulate.ops.types import resize, type_of
from gemmgen.emulate.ptx import Addr, Instr, Operand, Reg, Sink


def _elements(d: Decoder) -> tuple[str, int, int]:
    """Kind, bits and count of the elements that the opcode moves."""
    kind = type_of(d.mods[-1])
    if kind is None:
        raise d.unknown("the type")
    count = next((int(m[1:]) for m in d.mods if m in ("v2", "v4", "v8")), 1)
    return kind[0], kind[1], count


def element_writer(
    d: Decoder, operand: Operand, kind: str, bits: int
) -> Callable[[Group, Value], None]:
    """Write an element into a register that may be wider: sign or zero extended."""
    if isinstance(operand, Sink):
        return lambda g, value: None
    put = d.write(operand)
    width = operand.bits if isinstance(operand, Reg) else bits
    if width == bits:
        return put
    return lambda g, value: put(g, resize(value, bits, width, kind == "s"))


@op("ld", "ldu")
def load(d: Decoder) -> Callable[[Group], None]:
    kind, bits, count = _elements(d)
    address = d.address(d.ops[1])
    fetch = loader(d, space_of(d))
    if bits == 128:
        return _load_wide(d, address, fetch, count)
    size = bits // 8
    items = d.items(d.ops[0])
    if count == 1:
        put = element_writer(d, items[0], kind, bits)
        return lambda g: put(g, fetch(g, address(g), size, 1)[0])
    writers = [element_writer(d, item, kind, bits) for item in items]

    def run(g: Group) -> None:
        for put, value in zip(writers, fetch(g, address(g), size, count), strict=True):
            put(g, value)

    return run


def _load_wide(
    d: Decoder,
    address: Callable[[Group], Value],
    fetch: Callable[[Group, Value, int, int], list[Value]],
    count: int,
) -> Callable[[Group], None]:
    writers = [d.write(item) for item in d.items(d.ops[0])]
    join = packer(64, 128)

    def run(g: Group) -> None:
        halves = fetch(g, address(g), 8, 2 * count)
        for i, put in enumerate(writers):
            put(g, join(halves[2 * i], halves[2 * i + 1]))

    return run


def narrowed(value: Value, bits: int) -> Value:
    """The low ``bits`` of a register value."""
    if isinstance(value, np.ndarray):
        return value if value.dtype.itemsize * 8 == bits else value.astype(DTYPES[bits])
    return value & ((1 << bits) - 1)


@op("st")
def store(d: Decoder) -> Handler | Run:
    _, bits, _ = _elements(d)
    address = d.address(d.ops[0])
    put = storer(d, space_of(d))
    readers = [d.read(item, bits) for item in d.items(d.ops[1])]
    if bits == 128:

        def wide(g: Group) -> None:
            values = [r(g) for r in readers]
            put(g, address(g), 8, [part(v, i, 64, 128) for v in values for i in range(2)])

        return wide
    size = bits // 8
    slots = [i.slot for i in d.items(d.ops[1]) if isinstance(i, Reg) and i.bits == bits]
    if len(slots) == len(readers):

        def run(g: Group) -> None:
            regs = g.regs
            put(g, address(g), size, [regs[s] for s in slots])

        return Handler(run=run, batch=_global_batch(d, run, size, slots))
    return lambda g: put(g, address(g), size, [narrowed(r(g), bits) for r in readers])


@dataclass(frozen=True, slots=True)
class _Store:
    """One store to `[register + offset]` of global memory."""

    offset: int
    slots: tuple[int, ...]
    run: Run
    instr: Instr


def _global_batch(d: Decoder, run: Run, size: int, slots: Sequence[int]) -> Batch | None:
    where = d.ops[0]
    if space_of(d) != "global" or not isinstance(where, Addr) or not isinstance(where.base, Reg):
        return None
    base, count = where.base.slot, len(slots)
    item = _Store(where.offset, tuple(slots), run, d.instr)
    return Batch(("st.global", base, size, count), item, partial(_join_stores, base, size))


def _join_stores(base: int, size: int, items: Sequence[_Store]) -> Run:
    """Stores that follow each other in memory as one; anything else, and faults, one by one."""
    width = size * len(items[0].slots)
    first = items[0].offset
    follow = all(item.offset == first + i * width for i, item in enumerate(items))
    slots = [s for item in items for s in item.slots]

    def run(g: Group) -> None:
        regs, machine = g.regs, g.machine
        address = regs[base]
        if follow and isinstance(address, np.ndarray):
            values = [regs[s] for s in slots]
            start = address + first if first >= 0 else address - -first
            if machine.memory.store_run(g, start, width, size, values):
                machine.progress += len(items)
                if machine.hub.access:
                    total = size * len(slots)
                    instr = items[0].instr
                    machine.hub.on_access(g, instr, "global", g.cta, start, total, "write")
                return
        for item in items:
            try:
                item.run(g)
            except EmulationError as error:
                error.place = error.place or item.instr.place
                raise

    return run


# --- atomics ---

_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "exch": lambda a, b: b,
    "min": min,
    "max": max,
    "inc": lambda a, b: 0 if a >= b else a + 1,
    "dec": lambda a, b: b if a == 0 or a > b else a - 1,
}


def combine(d: Decoder, name: str, kind: str, bits: int) -> Callable[[int, int], int]:
    """The read-modify-write function on bit patterns."""
    if kind in ("f", "bf16", "f16x2", "bf16x2"):
        return _combine_floats(d, name, Format(kind, bits))
    function = _OPERATIONS.get(name)
    if function is None:
        raise d.unknown(f"operation {name}")
    mask = (1 << bits) - 1
    sign = 1 << (bits - 1)

    def run(a: int, b: int) -> int:
        if kind == "s":
            a, b = a - ((a & sign) << 1), b - ((b & sign) << 1)
        return function(a, b) & mask

    return run


def _combine_floats(d: Decoder, name: str, form: Format) -> Callable[[int, int], int]:
    functions = {"add": np.add, "min": np.fmin, "max": np.fmax}
    if name not in functions:
        raise d.unknown(f"operation {name}")
    function = functions[name]

    def run(a: int, b: int) -> int:
        out = form.store(form.round(function(form.load(a), form.load(b))))
        assert isinstance(out, int)
        return out

    return run


@op("atom", "red")
def atomic(d: Decoder) -> Callable[[Group], None]:
    returns = d.base == "atom"
    kind, bits, count = _elements(d)
    if bits == 128:
        raise d.unknown("128-bit type")
    names = (*_OPERATIONS, "cas")
    name = next((m for m in d.mods if m in names), "")
    if not name:
        raise d.unknown("the operation")
    operands = d.ops[1:] if returns else d.ops
    address = d.address(operands[0])
    fetch = loader(d, space_of(d), "atomic")
    put = storer(d, space_of(d), "atomic")
    sources = [
        [d.read(i, bits) for i in d.items(o)] for o in operands[1 : 3 if name == "cas" else 2]
    ]
    function = combine(d, name, kind, bits) if name != "cas" else None
    writers = [element_writer(d, i, kind, bits) for i in d.items(d.ops[0])] if returns else []
    size = bits // 8

    def update(old: int, k: int, g: Group, lane: int) -> int:
        values = [narrow_lane(s[k](g), lane, bits) for s in sources]
        if function is None:
            return values[1] if old == values[0] else old
        return function(old, values[0])

    def run(g: Group) -> None:
        where = address(g)
        olds = [np.zeros(WARP, dtype=DTYPES[bits]) for _ in range(count)]
        for lane in g.lanes.tolist():
            one = part_of(g, (lane,))
            place = lane_of(where, lane)
            held = [lane_of(v, lane) for v in fetch(one, place, size, count)]
            put(one, place, size, [update(held[k], k, g, lane) for k in range(count)])
            for k in range(count):
                olds[k][lane] = held[k]
        for write, old in zip(writers, olds, strict=False):
            write(g, old if g.mask & (g.mask - 1) else int(old[g.first]))

    return run


def narrow_lane(value: Value, lane: int, bits: int) -> int:
    """One lane of a register value, cut to ``bits``."""
    return lane_of(value, lane) & ((1 << bits) - 1)
