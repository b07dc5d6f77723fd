"""Recognises `L: try_wait p; @p bra done; bra L` and its kin: loops that do nothing but wait."""

from __future__ import annotations

from gemmgen.emulate.ptx import Imm, Instr, Kernel, Label, Not, Operand, Reg

_STEPS = 12


def is_wait_loop(kernel: Kernel, instr: Instr) -> bool:
    """Whether a failing wait leads back to itself through branches and predicate moves alone."""
    target = instr.operands[0]
    assert isinstance(target, Reg)
    known: dict[int, int] = {target.slot: 0}
    index = instr.index + 1
    for _ in range(_STEPS):
        if index == instr.index:
            return True
        if index >= len(kernel.instrs):
            return False
        step = kernel.instrs[index]
        taken = _guard(step, known)
        if taken is None:
            return False
        name = step.opcode.split(".")[0]
        if not taken or name == "nanosleep":
            index += 1
        elif name == "bra":
            label = step.operands[-1]
            assert isinstance(label, Label)
            index = label.index
        elif _fold(step, name, known):
            index += 1
        else:
            return False
    return False


def _guard(step: Instr, known: dict[int, int]) -> bool | None:
    if step.guard is None:
        return True
    value = known.get(step.guard.slot)
    return None if value is None else bool(value) != step.guard_negated


def _value(operand: Operand, known: dict[int, int]) -> int | None:
    if isinstance(operand, Imm):
        return operand.value
    if isinstance(operand, Reg):
        return known.get(operand.slot)
    if isinstance(operand, Not):
        found = known.get(operand.reg.slot)
        return None if found is None else int(not found)
    return None


def _fold(step: Instr, name: str, known: dict[int, int]) -> bool:
    """Evaluate not, selp and setp.eq/ne on what is known; False when that is not possible."""
    if not step.operands:
        return False
    target, *rest = step.operands
    values = [_value(o, known) for o in rest]
    if not isinstance(target, Reg) or None in values:
        return False
    numbers = [v for v in values if v is not None]
    if name == "not" and step.opcode == "not.pred":
        known[target.slot] = int(not numbers[0])
    elif name == "selp":
        known[target.slot] = numbers[0] if numbers[2] else numbers[1]
    elif name == "setp" and step.opcode.split(".")[1] in ("eq", "ne") and len(numbers) == 2:
        equal = numbers[0] == numbers[1]
        known[target.slot] = int(equal == (step.opcode.split(".")[1] == "eq"))
    elif name == "mov":
        known[target.slot] = numbers[0]
    else:
        return False
    return True
