"""bra, exit, ret, trap and instructions without an effect: PTX ISA, "Control Flow",
"Miscellaneous".
"""

from __future__ import annotations

from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.machine import Group
from gemmgen.emulate.ptx import Label


@op("bra")
def branch(d: Decoder) -> Handler:
    d.allow("uni")
    target = d.ops[0]
    assert isinstance(target, Label)
    return Handler(target=target.index)


@op("exit", "ret")
def leave(d: Decoder) -> Handler:
    d.allow("uni")
    return Handler(ends=True)


@op("trap", "brkpt")
def trap(d: Decoder) -> Handler:
    def run(g: Group) -> None:
        raise EmulationError("E221", f"the kernel executed `{d.instr.opcode}`")

    return Handler(run=run)


@op("nanosleep", "pmevent", "discard", "applypriority")
def nothing(d: Decoder) -> Handler:
    return d.inline("pass")
