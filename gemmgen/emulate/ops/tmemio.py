"""tcgen05.ld, st, their waits, and the tcgen05 fences.

PTX ISA "Tensor Memory Data Movement Instructions". Loads and stores take effect when issued, and
count as unfinished until the warp waits for them. A warp reaches the 32 lanes from
`32 * (warp % 4)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import spread
from gemmgen.emulate.machine import Group
from gemmgen.emulate.ops.dataflow import used_before
from gemmgen.emulate.ops.tmem import tensor_memory
from gemmgen.emulate.ops.unfinished import blame_mma
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.tensor.faults import fault
from gemmgen.emulate.tensor.layout import register_cells, register_count
from gemmgen.emulate.tensor.memory import TensorMemory

_SHAPES = ("32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2")


@dataclass(frozen=True, slots=True)
class _Access:
    """The shape of a ld or st: which cells each register names, and the rectangle around them."""

    shape: str
    repeat: int
    packed: bool
    split: int

    @property
    def lanes(self) -> int:
        return 32 if self.shape == "32x32b" else 16

    @property
    def columns(self) -> int:
        _, columns = register_cells(self.shape, self.repeat, self.packed, self.split)
        return int(columns.max()) + 1


def _access(d: Decoder, packing: str, split: int) -> _Access:
    d.allow("sync", "aligned", "b32", packing, *_SHAPES, *(f"x{1 << i}" for i in range(8)))
    shape = next((s for s in _SHAPES if d.has(s)), None)
    repeat = next((m for m in d.mods if m[0] == "x" and m[1:].isdigit()), None)
    if shape is None or repeat is None:
        raise d.unknown("shape")
    return _Access(shape, int(repeat[1:]), d.has(packing), split)


def _place(g: Group, access: _Access, address: int, what: str) -> tuple[TensorMemory, int, int]:
    """Check an access and return the memory, its lane and its column. Raises E242, E243, E246."""
    lane, column = address >> 16, address & 0xFFFF
    quarter = 32 * (g.warp.index % 4)
    if lane not in ((quarter,) if access.lanes == 32 else (quarter, quarter + 16)):
        raise fault(
            "E246",
            f"{what} of lanes from {lane} by warp {g.warp.index}, which reaches lanes {quarter} to "
            f"{quarter + 31}",
        )
    memory = tensor_memory(g.cta)
    memory.check_owned(column, access.columns, what)
    try:
        memory.check_settled(column, access.columns, what)
    except EmulationError as error:
        raise blame_mma(error, g.cta, column, access.columns) from None
    memory.check_waited(column, access.columns, what, g.warp.index)
    return memory, lane, column


def _waits(d: Decoder, what: str) -> bool:
    """Whether the kernel waits for this kind of access anywhere.

    A kernel without any wait relies on the register dependencies that ptxas inserts, as CUTLASS's
    tutorial kernels do; its loads then count as done when issued.
    """
    return any(i.opcode.startswith(f"tcgen05.wait::{what}") for i in d.kernel.instrs)


@op("tcgen05.ld")
def load(d: Decoder) -> Handler:
    """Tensor Memory to registers."""
    split = _split(d)
    access = _access(d, "pack::16b", split)
    address, slots = d.uniform_address(d.ops[1]), d.slots(d.ops[0])
    _check_registers(d, access, len(slots))
    lanes, columns = register_cells(access.shape, access.repeat, access.packed, access.split)
    straight = access.shape == "32x32b" and not access.packed
    waits = _waits(d, "ld")
    early = _check_uses(d, set(slots))

    def run(g: Group) -> None:
        memory, lane, column = _place(g, access, address(g), "tcgen05.ld")
        memory.check_written(lane, access.lanes, column, access.columns, "tcgen05.ld")
        _tell(d, g, access, lane, column, waits)
        if (early is not None or not waits) and g.machine.hub.sync:
            g.machine.hub.on_sync(g, d.instr, "tmem_unwaited", early)
        if straight:
            cells = memory.data[lane : lane + 32, column : column + len(slots)]
            block = np.ascontiguousarray(cells.T)
        else:
            block = memory.data[lanes + lane, columns + column]
        if access.packed:
            block = block[:, 0] & np.uint32(0xFFFF) | block[:, 1] << np.uint32(16)
        registers = g.regs
        for slot, row in zip(slots, block, strict=True):
            registers[slot] = row
        if waits:
            _begin(g, memory, d.instr, "tcgen05.ld", column, access.columns)

    return d.collective(run)


def _check_uses(d: Decoder, slots: set[int]) -> Instr | None:
    """Raise E247 when loaded registers are used before the wait that follows the load.

    Returns the user where no wait follows: listeners say whether that is a fault.
    """
    user, waits = used_before(d.kernel.instrs, d.instr.index, slots, "tcgen05.wait::ld")
    if user is not None and waits:
        raise fault("E247", f"used before tcgen05.wait::ld by {user.place}")
    return user


@op("tcgen05.st")
def store(d: Decoder) -> Handler:
    """Registers to Tensor Memory."""
    split = _split(d)
    access = _access(d, "unpack::16b", split)
    address = d.uniform_address(d.ops[0])
    values = [d.read(item) for item in d.items(d.ops[-1])]
    _check_registers(d, access, len(values))
    lanes, columns = register_cells(access.shape, access.repeat, access.packed, access.split)

    waits = _waits(d, "st")

    def run(g: Group) -> None:
        memory, lane, column = _place(g, access, address(g), "tcgen05.st")
        block = np.stack([spread(value(g), 32) for value in values])
        if access.packed:
            block = np.stack([block & np.uint32(0xFFFF), block >> np.uint32(16)], axis=1)
        memory.data[lanes + lane, columns + column] = block
        for first in {0, access.split}:
            width = access.columns - access.split
            memory.mark_written(lane, access.lanes, column + first, width)
        _tell(d, g, access, lane, column, waits)
        if waits:
            _begin(g, memory, d.instr, "tcgen05.st", column, access.columns)

    return d.collective(run)


def _split(d: Decoder) -> int:
    """Return the column split of 16x32bx2, its immediate operand."""
    if not d.has("16x32bx2"):
        return 0
    operand = d.ops[2] if d.base == "tcgen05.ld" else d.ops[1]
    return int(getattr(operand, "value", 0))


def _check_registers(d: Decoder, access: _Access, registers: int) -> None:
    needed = register_count(access.shape, access.repeat)
    if registers != needed:
        raise d.unknown(f"list of {registers} registers ({needed} expected)")


def _tell(d: Decoder, g: Group, access: _Access, lane: int, column: int, waits: bool) -> None:
    """Listeners hear of the access, and of its end where the kernel never waits for one."""
    hub = g.machine.hub
    if hub.access:
        kind = "read" if d.base == "tcgen05.ld" else "write"
        hub.on_access(g, d.instr, "tmem", g.cta, lane << 16 | column, access.columns, kind)
    if hub.sync and not waits:
        hub.on_sync(g, d.instr, "tmem_wait", d.base[-2:])


def _begin(
    g: Group, memory: TensorMemory, instr: Instr, opcode: str, column: int, columns: int
) -> None:
    memory.unwaited.setdefault(g.warp.index, []).append((opcode, column, columns, instr))


@op("tcgen05.wait::ld", "tcgen05.wait::st")
def wait(d: Decoder) -> Handler:
    """The warp's loads (or stores) so far are done; other operations may use the columns."""
    d.allow("sync", "aligned")
    opcode = "tcgen05.ld" if d.base.endswith("ld") else "tcgen05.st"

    def run(g: Group) -> None:
        unwaited = tensor_memory(g.cta).unwaited
        left = [access for access in unwaited.get(g.warp.index, ()) if access[0] != opcode]
        unwaited[g.warp.index] = left
        if g.machine.hub.sync:
            g.machine.hub.on_sync(g, d.instr, "tmem_wait", opcode[-2:])

    return d.collective(run)


@op("tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync")
def fence(d: Decoder) -> Callable[[Group], None]:
    """Orders tcgen05 operations with thread synchronisation; they are emulated in order."""
    d.allow()

    def run(g: Group) -> None:
        if g.machine.hub.sync:
            g.machine.hub.on_sync(g, d.instr, "fence", d.instr.opcode)

    return run
