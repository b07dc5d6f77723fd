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


def used_before(
    instrs: Sequence[Instr], start: int, slots: set[int], wait: str
) -> tuple[Instr | None, bool]:
    """Return the first instruction that uses the registers between `start` and the next `wait`, and
    whether that wait comes before the next branch.

    Moves are followed. A kernel without a wait there may leave it to the register dependencies that
    ptxas keeps, and wait elsewhere before it gives the memory up (quack's epilogue does).
    """
    tainted = set(slots)
    user: Instr | None = None
    for instr in instrs[start + 1 :]:
        name = instr.opcode
        if name.startswith(wait):
            return user, True
        if name.startswith(("bra", "ret", "exit", "brx")):
            return user, False
        if user is not None:
            continue
        target, *sources = instr.operands or (None,)
        writes_first = isinstance(target, Reg | Vec | Pair) and not name.startswith(("st", "red"))
        reads = sources if writes_first else instr.operands
        if not registers_of(reads) & tainted:
            continue
        if not name.startswith("mov."):
            user = instr
        elif target is not None:
            tainted |= registers_of((target,))
    return user, False
