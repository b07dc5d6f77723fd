"""A kernel decoded once: handlers, basic blocks, liveness. Shared by all runs of the same PTX."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gemmgen.emulate.decode import Decoder, Handler, lookup
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.forward import forward
from gemmgen.emulate.lanes import UNWRITTEN
from gemmgen.emulate.machine import Group
from gemmgen.emulate.memory import LOCAL_WINDOW, PARAM_WINDOW, SHARED_START
from gemmgen.emulate.ops import load_all
from gemmgen.emulate.ptx import (
    Addr,
    Bracket,
    Instr,
    Kernel,
    Module,
    Not,
    Operand,
    Pair,
    Reg,
    Vec,
    parse,
)
from gemmgen.emulate.step import Step


class Program:
    """``steps`` by instruction index; ``starts`` are the indices at which blocks begin;
    ``live[start]`` the registers (as bits) whose values matter there; ``written[start]`` those
    that the block writes.
    """

    def __init__(self, module: Module, kernel: Kernel) -> None:
        self.module = module
        self.kernel = kernel
        self.symbols, self.dynamic_base, self.local_bytes = _layout(kernel)
        self.steps = [_decode(kernel, instr, self.symbols) for instr in kernel.instrs]
        self.starts = _starts(self.steps)
        forward(self.steps, self.starts)
        self.ends = _ends(self.starts, self.steps)
        self.written = {s: _bits_written(self.steps[s : self.ends[s]]) for s in self.starts}
        self.live = _liveness(self.steps, self.starts, self.ends)
        self.skips = self._skips()
        self.functions: list[Callable[[Group], int] | None] = [None] * len(self.steps)
        self.sizes = [self.ends.get(i, i + 1) - i for i in range(len(self.steps))]
        self.owners: dict[str, list[Instr | None]] = {}
        self.blank: list[Any] = [False if bits == 1 else UNWRITTEN for bits in kernel.bits]

    def reaches(self, start: int, instr: Instr) -> bool:
        """Whether control at index `start` may come to an instruction of the kernel."""
        seen: set[int] = set()
        ahead = [start]
        while ahead:
            index = ahead.pop()
            if index in seen:
                continue
            if self.steps[index].instr is instr:
                return True
            seen.add(index)
            ahead += _successors(self.steps[index], index + 1, len(self.steps))
        return False

    def _skips(self) -> dict[int, int]:
        """Blocks that lanes can run aside: first instruction -> where they end. None of their
        instructions waits, and what they write does not matter afterwards.
        """
        found = {}
        for start in self.starts:
            steps = self.steps[start : self.ends[start]]
            last = steps[-1]
            after = _successors(last, self.ends[start], len(self.steps))
            plain = not any(s.starts_block or s.handler.ends for s in steps)
            if plain and len(after) == 1 and not self.written[start] & self.live[after[0]]:
                found[start] = after[0]
        return found


@lru_cache(maxsize=16)
def _module(digest: bytes, text: str) -> Module:
    return parse(text)


_PROGRAMS: dict[tuple[bytes, str], Program] = {}
_KEPT = 32


def program(text: str, entry: str) -> Program:
    """The program of an entry; decoded once a process. Raises E215, E217."""
    load_all()
    digest = hashlib.sha256(text.encode()).digest()
    found = _PROGRAMS.get((digest, entry))
    if found is None:
        module = _module(digest, text)
        kernel = module.kernels.get(entry)
        if kernel is None:
            names = ", ".join(module.kernels)
            raise EmulationError("E217", f"the PTX has no entry `{entry}`; it has {names}")
        while len(_PROGRAMS) >= _KEPT:
            del _PROGRAMS[next(iter(_PROGRAMS))]
        found = _PROGRAMS[digest, entry] = Program(module, kernel)
    return found


def _layout(kernel: Kernel) -> tuple[dict[str, int], int, int]:
    symbols = {p.name: PARAM_WINDOW + p.offset for p in kernel.params}
    place = SHARED_START
    for var in kernel.shared:
        if var.size is not None:
            place = -(-place // var.align) * var.align
            symbols[var.name] = place
            place += var.size
    align = max((v.align for v in kernel.shared if v.size is None), default=16)
    dynamic = -(-place // align) * align
    if align < SHARED_START and dynamic & align == 0:
        dynamic += align  # no better aligned than `.align` says: a kernel may not count on more
    symbols |= {v.name: dynamic for v in kernel.shared if v.size is None}
    local = 0
    for var in kernel.local:
        local = -(-local // var.align) * var.align
        symbols[var.name] = LOCAL_WINDOW + local
        local += var.size or 0
    return symbols, dynamic, local


def _decode(kernel: Kernel, instr: Instr, symbols: dict[str, int]) -> Step:
    guard = set() if instr.guard is None else {instr.guard.slot}
    decoder: Decoder | None = None
    try:
        found = lookup(instr.opcode)
        if found is None:
            raise EmulationError("E203", f"`{instr.opcode}` is not known", place=instr.place)
        base, decode = found
        decoder = Decoder(kernel, instr, base, symbols)
        made = decode(decoder)
        handler = made if isinstance(made, Handler) else Handler(run=made)
        return Step(instr, handler, frozenset(decoder.reads | guard), frozenset(decoder.writes))
    except (EmulationError, LookupError, StopIteration, AssertionError, ValueError) as error:
        reads = frozenset(guard.union(*(_registers(o) for o in instr.operands)))
        return Step(instr, Handler(run=_raiser(instr, error)), reads, frozenset())


def _raiser(instr: Instr, error: Exception) -> Callable[[Group], None]:
    if isinstance(error, EmulationError):
        code, detail = error.code, error.detail
    else:
        code, detail = "E203", f"the operands of `{instr.opcode}` are not understood ({error!r})"

    def run(g: Group) -> None:
        raise EmulationError(code, detail, place=instr.place)

    return run


def _registers(operand: Operand) -> set[int]:
    if isinstance(operand, Reg):
        return {operand.slot}
    if isinstance(operand, Not):
        return {operand.reg.slot}
    if isinstance(operand, Addr):
        return _registers(operand.base)
    if isinstance(operand, Vec | Bracket):
        return set().union(*(_registers(i) for i in operand.items))
    if isinstance(operand, Pair):
        return _registers(operand.first) | _registers(operand.second)
    return set()


def _starts(steps: list[Step]) -> list[int]:
    found = {0}
    for index, step in enumerate(steps):
        if step.handler.target is not None:
            found.add(step.handler.target)
        if step.ends_block:
            found.add(index + 1)
        if step.starts_block or (step.handler.ends and step.instr.guard is not None):
            found.add(index)
            if step.instr.guard is not None:
                found.add(index + 1)
    return sorted(s for s in found if s < len(steps))


def _ends(starts: list[int], steps: list[Step]) -> dict[int, int]:
    return dict(zip(starts, [*starts[1:], len(steps)], strict=True))


def _bits(slots: frozenset[int]) -> int:
    out = 0
    for slot in slots:
        out |= 1 << slot
    return out


def _bits_written(steps: list[Step]) -> int:
    out = 0
    for step in steps:
        out |= _bits(step.writes)
    return out


def _liveness(steps: list[Step], starts: list[int], ends: dict[int, int]) -> dict[int, int]:
    """Backward data flow over blocks; a guarded write does not end a register's life."""
    used: dict[int, int] = {}
    killed: dict[int, int] = {}
    follow: dict[int, list[int]] = {}
    for start in starts:
        use = kill = 0
        for step in steps[start : ends[start]]:
            use |= _bits(step.reads) & ~kill
            if step.instr.guard is None:
                kill |= _bits(step.writes)
            else:
                use |= _bits(step.writes) & ~kill
        used[start], killed[start] = use, kill
        follow[start] = _successors(steps[ends[start] - 1], ends[start], len(steps))
    live = dict(used)
    changed = True
    while changed:
        changed = False
        for start in reversed(starts):
            out = 0
            for after in follow[start]:
                out |= live[after]
            new = used[start] | out & ~killed[start]
            if new != live[start]:
                live[start] = new
                changed = True
    return live


def _successors(last: Step, end: int, count: int) -> list[int]:
    out = []
    if last.handler.target is not None:
        out.append(last.handler.target)
    falls = not last.ends_block or last.instr.guard is not None
    if falls and end < count:
        out.append(end)
    return [s for s in out if s < count]
