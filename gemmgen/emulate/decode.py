"""Opcode registration, and what an opcode file sees of an instruction while it turns it into a
handler.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gemmgen.emulate.asyncops import Wait
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import FULL, Lanes, Value, spread
from gemmgen.emulate.machine import Group
from gemmgen.emulate.memory import PARAM_WINDOW
from gemmgen.emulate.ptx import (
    Addr,
    Bracket,
    Imm,
    Instr,
    Kernel,
    Label,
    Not,
    Operand,
    Pair,
    Reg,
    Sink,
    Special,
    Sym,
    Vec,
)

Run = Callable[[Group], Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """How to run several instructions of one ``key`` at once: ``join`` makes one function of their
    items, in the order of the program.
    """

    key: Hashable
    item: Any
    join: Callable[[Sequence[Any]], Run]


@dataclass(frozen=True, slots=True)
class Handler:
    """What an instruction does.

    ``run(group)`` executes it. With ``blocking`` it may return a :class:`Wait`: nothing has
    happened then, and it is called again when the channel is notified. With ``meet`` (group ->
    lanes as bits) all those lanes of the warp that have not exited must be together first.
    ``source`` in place of ``run`` is Python text for the block compiler: it sees ``R``
    (registers), ``g`` (group) and the names in ``env``. ``target`` is the instruction index of a
    branch; ``ends`` marks exit.

    For speed: ``batch`` lets the block compiler run several of a kind at once. ``packs`` says that
    the instruction only joins these registers to its destination, ``unpacks`` that it only takes
    its source apart into these (None: dropped).
    """

    run: Run | None = None
    blocking: bool = False
    meet: Callable[[Group], int] | None = None
    source: tuple[str, ...] = ()
    env: dict[str, Any] = field(default_factory=dict)
    target: int | None = None
    ends: bool = False
    batch: Batch | None = None
    packs: tuple[int, ...] = ()
    unpacks: tuple[int | None, ...] = ()


Decode = Callable[["Decoder"], Handler | Run]
REGISTRY: dict[str, Decode] = {}


def op(*names: str) -> Callable[[Decode], Decode]:
    """Register a decoder for opcodes by dotted prefix; the longest registered prefix of an
    opcode wins.
    """

    def register(decode: Decode) -> Decode:
        for name in names:
            if name in REGISTRY:
                raise ValueError(f"opcode {name} is registered twice")
            REGISTRY[name] = decode
        return decode

    return register


def lookup(opcode: str) -> tuple[str, Decode] | None:
    """The longest registered dotted prefix of ``opcode`` and its decoder."""
    name = opcode
    while name:
        found = REGISTRY.get(name)
        if found is not None:
            return name, found
        name = name.rpartition(".")[0]
    return None


class Decoder:
    """One instruction while it is decoded. ``ops`` are its operands, ``mods`` the dotted parts
    after ``base``.

    Readers and writers made here also record which registers the instruction reads and writes.
    """

    def __init__(self, kernel: Kernel, instr: Instr, base: str, symbols: dict[str, int]) -> None:
        self.kernel = kernel
        self.instr = instr
        self.ops = instr.operands
        self.base = base
        rest = instr.opcode[len(base) + 1 :]
        self.mods: tuple[str, ...] = tuple(rest.split(".")) if rest else ()
        self.symbols = symbols
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.env: dict[str, Any] = {}

    # --- modifiers ---

    def has(self, mod: str) -> bool:
        """Whether a dotted part stands in the opcode."""
        return mod in self.mods

    def allow(self, *mods: str) -> None:
        """Raise E203 when the opcode has a part that is not among ``mods``."""
        for mod in self.mods:
            if mod not in mods:
                raise self.unknown(f"modifier .{mod}")

    def unknown(self, what: str) -> EmulationError:
        """E203 for this instruction."""
        return EmulationError(
            "E203", f"{what} of `{self.instr.opcode}` is not known", place=self.instr.place
        )

    # --- operands as functions of a group ---

    def read(self, operand: Operand, bits: int = 32) -> Callable[[Group], Value]:
        """The value: an int when uniform, else 32 lanes. Constants become unsigned ``bits``
        wide.
        """
        if isinstance(operand, Reg):
            slot = operand.slot
            self.reads.add(slot)
            return lambda g: g.regs[slot]
        if isinstance(operand, Not):
            slot = operand.reg.slot
            self.reads.add(slot)
            return lambda g: g.regs[slot] ^ True
        if isinstance(operand, Imm):
            value = operand.value & ((1 << bits) - 1) if bits > 1 else bool(operand.value)
            return lambda g: value
        if isinstance(operand, Sym):
            return self._symbol(operand)
        if isinstance(operand, Special):
            return special(operand.name, self)
        if isinstance(operand, Addr):
            return self.address(operand)
        raise self.unknown(f"operand {operand}")

    def _symbol(self, operand: Sym) -> Callable[[Group], Value]:
        value = self.symbols.get(operand.name)
        if value is None:
            raise self.unknown(f"symbol {operand.name}")
        value += operand.offset
        if value >= PARAM_WINDOW:
            return lambda g: value
        return lambda g: value + g.cta.base

    def lanes(self, operand: Operand, bits: int = 32) -> Callable[[Group], Lanes]:
        """The value spread over 32 lanes."""
        read = self.read(operand, bits)
        return lambda g: spread(read(g), bits)

    def uniform(self, operand: Operand, bits: int = 32) -> Callable[[Group], int]:
        """The value that all active lanes agree on. Raises E213 when they do not."""
        read = self.read(operand, bits)

        def one(g: Group) -> int:
            value = read(g)
            if not isinstance(value, np.ndarray):
                return value
            active = value[g.lanes]
            if (active != active[0]).any():
                raise EmulationError("E213", f"lanes hold {active.tolist()}")
            return int(active[0])

        return one

    def address(self, operand: Operand) -> Callable[[Group], Value]:
        """The address of `[base+offset]` (or of a bare operand), base plus offset in the base's
        width.
        """
        if not isinstance(operand, Addr):
            return self.read(operand)
        offset = operand.offset
        if isinstance(operand.base, Reg):
            slot = operand.base.slot
            self.reads.add(slot)
            if not offset:
                return lambda g: g.regs[slot]
            mask = (1 << operand.base.bits) - 1
            step = offset & mask

            def offset_address(g: Group) -> Value:
                moved: Value = g.regs[slot] + step
                return moved if isinstance(moved, np.ndarray) else moved & mask

            return offset_address
        if isinstance(operand.base, Sym):
            return self._symbol(Sym(operand.base.name, operand.base.offset + offset))
        value = operand.base.value + offset
        return lambda g: value

    def uniform_address(self, operand: Operand) -> Callable[[Group], int]:
        """Like :meth:`address` for addresses that all active lanes agree on. Raises E213."""
        read = self.address(operand)

        def one(g: Group) -> int:
            value = read(g)
            if not isinstance(value, np.ndarray):
                return value
            active = value[g.lanes]
            if (active != active[0]).any():
                raise EmulationError(
                    "E213", f"lanes hold addresses {[hex(a) for a in active.tolist()]}"
                )
            return int(active[0])

        return one

    def write(self, operand: Operand) -> Callable[[Group, Value], None]:
        """Store a value into a destination register. The value must fit the register's width."""
        if isinstance(operand, Sink):
            return lambda g, value: None
        if not isinstance(operand, Reg):
            raise self.unknown(f"destination {operand}")
        slot = operand.slot
        self.writes.add(slot)

        def put(g: Group, value: Value) -> None:
            g.regs[slot] = value

        return put

    def slot(self, operand: Operand) -> int:
        """Slot of one destination register."""
        return self.slots(operand)[0]

    def slots(self, operand: Operand) -> list[int]:
        """Slots of a vector of destination registers, for handlers that fill ``g.regs``
        themselves.
        """
        items: Sequence[Operand] = operand.items if isinstance(operand, Vec) else (operand,)
        out = []
        for item in items:
            if not isinstance(item, Reg):
                raise self.unknown(f"destination {item}")
            out.append(item.slot)
            self.writes.add(item.slot)
        return out

    def items(self, operand: Operand) -> tuple[Operand, ...]:
        """The parts of `{…}` or of a bracket of several operands; a lone operand as a tuple of
        one.
        """
        if isinstance(operand, Vec | Bracket):
            return operand.items
        return (operand,)

    # --- Python text for the block compiler ---

    def text(self, operand: Operand, bits: int = 32) -> str:
        """Python expression of the operand's value; constants become unsigned ``bits`` wide."""
        if isinstance(operand, Reg):
            self.reads.add(operand.slot)
            return f"R[{operand.slot}]"
        if isinstance(operand, Imm):
            return repr(self.constant(operand, bits))
        return f"{self.use(self.read(operand, bits))}(g)"

    def constant(self, operand: Imm, bits: int) -> int:
        """A constant as unsigned ``bits``; a truth value for one bit."""
        return operand.value & ((1 << bits) - 1) if bits > 1 else bool(operand.value)

    def use(self, value: Any) -> str:
        """A name by which the Python text of this instruction can use a value."""
        name = f"k{self.instr.index}_{len(self.env)}"
        self.env[name] = value
        return name

    def inline(self, *lines: str) -> Handler:
        """A handler made of Python text: ``R`` is the register list, ``g`` the group; ``x`` and
        ``y`` are free.
        """
        return Handler(source=lines, env=self.env)

    # --- kinds of handler ---

    @staticmethod
    def blocking(run: Callable[[Group], Wait | None]) -> Handler:
        """A handler that may wait."""
        return Handler(run=run, blocking=True)

    @staticmethod
    def collective(run: Callable[[Group], Any], *, blocking: bool = False) -> Handler:
        """A handler for `.sync.aligned`: all lanes of the warp that have not exited come
        together first.
        """
        return Handler(run=run, blocking=blocking, meet=lambda g: FULL)


def special(name: str, d: Decoder) -> Callable[[Group], Value]:
    """Reader of a special register."""
    from gemmgen.emulate.ops.special import SPECIAL

    found = SPECIAL.get(name)
    if found is None:
        raise d.unknown(f"special register {name}")
    return found


__all__ = ["REGISTRY", "Decoder", "Handler", "Label", "Pair", "lookup", "op", "special"]
