"""The parsed form of PTX: plain frozen records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from gemmgen.emulate.errors import Place


@dataclass(frozen=True, slots=True)
class Reg:
    """A register: its slot in the register list and its width in bits (1 for a predicate)."""

    name: str
    slot: int
    bits: int


@dataclass(frozen=True, slots=True)
class Imm:
    """A constant as written: a Python int (negative when so written), or float bits of ``bits``
    width.
    """

    value: int
    bits: int = 0  # 32 or 64 for `0f…`/`0d…` literals, else 0


@dataclass(frozen=True, slots=True)
class Sym:
    """A named variable: shared, parameter or global."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """A special register such as `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target, resolved to an instruction index by the parser."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Sink:
    """The operand `_`."""


@dataclass(frozen=True, slots=True)
class Not:
    """A negated predicate operand, `!%p`."""

    reg: Reg


@dataclass(frozen=True, slots=True)
class Addr:
    """`[base + offset]` with one base."""

    base: Reg | Imm | Sym
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vec:
    """`{a, b, …}`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Bracket:
    """`[a, {x, y}, …]`: a bracket of more than one operand; the first is an address without its
    own bracket.
    """

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`d|p`: two destinations."""

    first: Operand
    second: Operand


Operand: TypeAlias = Reg | Imm | Sym | Special | Label | Sink | Not | Addr | Vec | Bracket | Pair


@dataclass(frozen=True, slots=True)
class Instr:
    """One instruction.

    ``opcode`` is the whole dotted name; ``guard`` the predicate register of `@p` with
    ``guard_negated``; ``index`` its position in the kernel.
    """

    index: int
    opcode: str
    operands: tuple[Operand, ...]
    guard: Reg | None
    guard_negated: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel parameter: byte offset in the parameter space and size."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class SharedVar:
    """A shared (or local) variable; ``size`` is None for `extern` (dynamic shared memory)."""

    name: str
    align: int
    size: int | None


@dataclass(frozen=True)
class Kernel:
    """One entry. ``registers`` is how many slots a thread needs; ``names[slot]`` the PTX name;
    ``min_ctas`` the CTAs an SM that it promises to leave room for, 0 where it promises none.
    """

    name: str
    params: tuple[Param, ...]
    instrs: tuple[Instr, ...]
    registers: int
    names: tuple[str, ...]
    bits: tuple[int, ...]
    shared: tuple[SharedVar, ...]
    local: tuple[SharedVar, ...]
    reqntid: tuple[int, int, int] | None = None
    min_ctas: int = 0


@dataclass(frozen=True)
class Module:
    """All kernels of one PTX text."""

    target: str
    kernels: dict[str, Kernel] = field(default_factory=dict)
