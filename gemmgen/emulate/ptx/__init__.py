"""PTX text -> :class:`Module`: entries with their parameters, registers, labels and
instructions.
"""

from gemmgen.emulate.ptx.model import (
    Addr,
    Bracket,
    Imm,
    Instr,
    Kernel,
    Label,
    Module,
    Not,
    Operand,
    Pair,
    Param,
    Reg,
    SharedVar,
    Sink,
    Special,
    Sym,
    Vec,
)
from gemmgen.emulate.ptx.parser import parse

__all__ = [
    "Addr",
    "Bracket",
    "Imm",
    "Instr",
    "Kernel",
    "Label",
    "Module",
    "Not",
    "Operand",
    "Pair",
    "Param",
    "Reg",
    "SharedVar",
    "Sink",
    "Special",
    "Sym",
    "Vec",
    "parse",
]
