"""Looks ahead in the PTX: what the compiler does with a register before a wait.

NVVM keeps asynchronous results and their waits in order, but it puts plain register moves (`mov`,
also splitting and joining) of the results before the wait. Such moves are no use of a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gemmgen.emulate.ptx import Addr, Bracket, Instr, Not, Operand, Pair, Reg, Vec


def registers_of(operands: Iterable[Operand]) -> set[int]:
    """Return the slots of all registers in the operands."""
    found: set[int] = set()
    for operand in operands:
        if isinstance(operand, Reg):
            found.add(operand.slot)
        elif isinstance(operand, Not):
            found.add(operand.reg.slot)
        elif isinstance(operand, Addr) and isinstance(operand.base, Reg):
            found.add(operand.base.slot)
        elif isinstance(operand, Vec | Bracket):
            found |= registers_of(operand.items)
        elif isinstance(operand, Pair):
            found |= registers_of((operand.first, operand.second))
    return found


def splits_before(instrs: Sequence[Instr], start: int, slots: set[int], wait: str) -> bool:
    """Whether a `mov` splits or joins the registers after `start` and before the next `wait`."""
    moved = False
    for instr in instrs[start + 1 :]:
        if instr.opcode.startswith(wait):
            return moved
        if instr.opcode.startswith("mov.") and any(isinstance(o, Vec) for o in instr.operands):
            moved = moved or bool(registers_of(instr.operands) & slots)
    return False


def used_before(instrs: Sequence[Instr], start: int, slots: set[int], wait: str) -> Instr | None:
    """Return the first instruction after `start` that uses the registers before a `wait`.

    Moves are followed. Nothing is found beyond a branch, where the order is not known.
    """
    tainted = set(slots)
    for instr in instrs[start + 1 :]:
        name = instr.opcode
        if name.startswith((wait, "bra", "ret", "exit", "brx")):
            return None
        target, *sources = instr.operands or (None,)
        writes_first = isinstance(target, Reg | Vec | Pair) and not name.startswith(("st", "red"))
        reads = sources if writes_first else instr.operands
        if not registers_of(reads) & tainted:
            continue
        if not name.startswith("mov."):
            return instr
        if target is not None:
            tainted |= registers_of((target,))
    return None
