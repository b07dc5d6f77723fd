"""Basic blocks as Python functions: a block runs without returning to the scheduler.

A block function takes a group and returns the index of the next block, or one of the negative
codes below. Line numbers of the generated text lead back to instructions, so errors cost nothing
until they happen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np

from gemmgen.emulate.lanes import bit_mask, merge
from gemmgen.emulate.machine import Group
from gemmgen.emulate.program import Program
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.split import (
    LEFT,
    PARKED,
    SPLIT,
    diverge,
    leave,
    meet,
    park,
    settle,
    split_guard,
)
from gemmgen.emulate.step import Step

Function = Callable[[Group], int]
__all__ = ["LEFT", "PARKED", "SPLIT", "compile_block", "instruction_of"]


class _Text:
    """Lines of a block function, and which instruction each belongs to."""

    def __init__(self) -> None:
        self.lines = ["def block(g):", "    R = g.regs"]
        self.owner = [-1, -1]

    def add(self, index: int, *lines: str, depth: int = 1) -> None:
        for line in lines:
            self.lines.append("    " * depth + line)
            self.owner.append(index)


def compile_block(program: Program, start: int) -> Function:
    """Compile the block at an instruction index and keep it in the program."""
    text = _Text()
    env: dict[str, Any] = dict(_COMMON)
    end = program.ends[start]
    steps = program.steps[start:end]
    queue: list[Step] = []
    for step in steps:
        if queue and not _joins(step, queue):
            if _goes_before(step, queue):
                _emit(text, env, program, step)
                continue
            _flush(text, env, program, queue)
        if step.handler.batch is not None and step.instr.guard is None:
            queue.append(step)
        else:
            _emit(text, env, program, step)
    _flush(text, env, program, queue)
    last = steps[-1]
    if not last.ends_block or (last.instr.guard is not None and last.handler.ends):
        text.add(last.instr.index, f"return {end}")
    function = _build(text, env, program, f"block {start}")
    program.functions[start] = function
    return function


def _joins(step: Step, queue: list[Step]) -> bool:
    """Whether a step can run in one batch with those of the queue."""
    batch, first = step.handler.batch, queue[0].handler.batch
    if batch is None or first is None or step.instr.guard is not None or batch.key != first.key:
        return False
    return _independent(step, queue)


def _goes_before(step: Step, queue: list[Step]) -> bool:
    """Whether a step can run before those of the queue, which stand before it in the text."""
    plain = step.handler.source and step.instr.guard is None and not step.ends_block
    return bool(plain) and _independent(step, queue)


def _independent(step: Step, queue: list[Step]) -> bool:
    return not any(
        step.reads & q.writes or step.writes & q.reads or step.writes & q.writes for q in queue
    )


def _flush(text: _Text, env: dict[str, Any], program: Program, queue: list[Step]) -> None:
    """Emit the steps of the queue, as one batch when there are several, and empty it."""
    batch = queue[0].handler.batch if queue else None
    if len(queue) < 2 or batch is None:
        for step in queue:
            _emit(text, env, program, step)
    else:
        index = queue[0].instr.index
        items = [s.handler.batch.item for s in queue if s.handler.batch]
        env[f"b{index}"] = batch.join(items)
        text.add(index, f"b{index}(g)")
    queue.clear()


def _build(text: _Text, env: dict[str, Any], program: Program, what: str) -> Function:
    name = f"<{what} of {program.kernel.name}>"
    source = "\n".join(text.lines) + "\n"
    instrs = program.kernel.instrs
    program.owners[name] = [instrs[i] if i >= 0 else None for i in text.owner]
    exec(compile(source, name, "exec"), env)
    return env["block"]  # type: ignore[no-any-return]


def instruction_of(program: Program, trace: TracebackType | None) -> Instr | None:
    """The instruction at which an exception left a block function."""
    found = None
    while trace is not None:
        owners = program.owners.get(trace.tb_frame.f_code.co_filename)
        if owners is not None:
            found = owners[trace.tb_lineno - 1] or found
        trace = trace.tb_next
    return found


def _emit(text: _Text, env: dict[str, Any], program: Program, step: Step) -> None:
    handler, instr = step.handler, step.instr
    index = instr.index
    if handler.target is not None:
        _emit_branch(text, env, program, step)
        return
    if handler.ends:
        _emit_exit(text, step)
        return
    env.update(handler.env)
    depth = 1
    if instr.guard is not None:
        text.add(index, f"p = R[{instr.guard.slot}]{' ^ True' if instr.guard_negated else ''}")
        text.add(index, "if p.__class__ is ndarray: p = settle(g, p)")
        if step.starts_block:
            text.add(index, f"if p.__class__ is ndarray: return split_guard(g, p, {index})")
        text.add(index, "if p is True:")
        depth = 2
    if handler.meet is not None:
        env[f"m{index}"] = handler.meet
        check = f"g.warp.split and m{index}(g) & g.warp.live & ~g.mask"
        text.add(index, f"if {check}: return meet(g, {index})", depth=depth)
    if handler.source:
        text.add(index, *handler.source, depth=depth)
    else:
        env[f"h{index}"] = handler.run
        if handler.blocking:
            text.add(index, f"w = h{index}(g)", depth=depth)
            text.add(index, f"if w is not None: return park(g, {index}, w)", depth=depth)
        else:
            text.add(index, f"h{index}(g)", depth=depth)
    if instr.guard is not None and not step.starts_block:
        env[f"masked{index}"] = _masked(program, step)
        text.add(index, f"elif p is not False: masked{index}(g, p)")


def _emit_branch(text: _Text, env: dict[str, Any], program: Program, step: Step) -> None:
    instr, target = step.instr, step.handler.target
    after = instr.index + 1
    if instr.guard is None:
        text.add(instr.index, f"return {target}")
        return
    yes, no = (after, target) if instr.guard_negated else (target, after)
    text.add(
        instr.index,
        f"p = R[{instr.guard.slot}]",
        f"if p is True: return {yes}",
        f"if p is False: return {no}",
    )
    if no == after and program.skips.get(after) == target:
        name = f"s{instr.index}"
        env[name] = partial(_aside, program, after)
        text.add(instr.index, f"return {name}(g, p, {yes})")
    else:
        text.add(instr.index, f"return diverge(g, p, {yes}, {no})")


def _aside(program: Program, start: int, g: Group, p: Any, target: int) -> int:
    """A branch over one block: the lanes that do not take it run the block, then all go on.

    ``program.skips`` says that this is the same as parting and meeting again.
    """
    stay = bit_mask(~p & g.flags)
    if not stay:
        return target
    if stay == g.mask:
        return start
    part = Group(g.warp, stay, g.regs, start, g.serial)
    function = program.functions[start] or compile_block(program, start)
    g.machine.instructions += program.sizes[start]
    g.dirty |= program.written[start] if g.warp.split else 0
    function(part)
    return target


def _emit_exit(text: _Text, step: Step) -> None:
    instr = step.instr
    if instr.guard is None:
        text.add(instr.index, "return leave(g)")
        return
    text.add(instr.index, f"p = R[{instr.guard.slot}]{' ^ True' if instr.guard_negated else ''}")
    text.add(instr.index, "if p.__class__ is ndarray: p = settle(g, p)")
    text.add(instr.index, f"if p.__class__ is ndarray: return split_guard(g, p, {instr.index})")
    text.add(instr.index, "if p is True: return leave(g)")


def _masked(program: Program, step: Step) -> Callable[[Group, Any], None]:
    """Run an instruction for the lanes where the guard holds; the others keep their registers."""
    run: Callable[[Group], Any]
    if step.handler.source:
        text = _Text()
        text.add(step.instr.index, *step.handler.source)
        run = _build(text, {**_COMMON, **step.handler.env}, program, f"guarded {step.instr.index}")
    else:
        assert step.handler.run is not None
        run = step.handler.run
    slots = sorted(step.writes)
    bits = program.kernel.bits

    def masked(g: Group, p: Any) -> None:
        mask = int(np.packbits(p & g.flags, bitorder="little").view(np.uint32)[0])
        part = Group(g.warp, mask, g.regs, g.pc, g.serial)
        held = [g.regs[s] for s in slots]
        run(part)
        for slot, old in zip(slots, held, strict=True):
            g.regs[slot] = merge(part.flags, g.regs[slot], old, bits[slot])

    return masked


_COMMON: dict[str, Any] = {
    "ndarray": np.ndarray,
    "park": park,
    "meet": meet,
    "settle": settle,
    "split_guard": split_guard,
    "diverge": diverge,
    "leave": leave,
}
