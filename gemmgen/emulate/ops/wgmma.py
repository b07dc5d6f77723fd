"""wgmma.mma_async, fence, commit_group and wait_group (sm_90a).

PTX ISA "Asynchronous Warpgroup Level Matrix Instructions". Wgmmas of a warpgroup complete in the
order of issue; each reads its operands from shared memory when it completes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.asyncops import AsyncOp, Touch, Wait
from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.lanes import Unwritten, spread
from gemmgen.emulate.machine import Cta, Group
from gemmgen.emulate.ops.dataflow import splits_before
from gemmgen.emulate.ops.operands import operand_at, read_operand_of
from gemmgen.emulate.ops.wgmmastate import (
    Accumulator,
    Issued,
    WarpState,
    warp_state,
    warpgroup_state,
)
from gemmgen.emulate.ptx import Imm, Vec
from gemmgen.emulate.tensor.descriptor import decode_wgmma
from gemmgen.emulate.tensor.faults import fault
from gemmgen.emulate.tensor.fragments import A_REGISTERS, ROWS, WARPS, a_bytes_of
from gemmgen.emulate.tensor.instruction import K_BYTES
from gemmgen.emulate.tensor.mma import add, matmul
from gemmgen.emulate.tensor.numeric import widen

_SHAPE = re.compile(r"m64n(\d+)k(\d+)")
_K_BY_TYPE = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}


@dataclass(frozen=True, slots=True)
class Form:
    """What the opcode and its immediates say."""

    n: int
    d: str
    a: str
    b: str
    a_mn_major: bool
    b_mn_major: bool
    negate: bool
    saturate: bool
    a_in_registers: bool

    @property
    def registers(self) -> int:
        return self.n // 4 if self.d == "f16" else self.n // 2


@op("wgmma.mma_async")
def mma_async(d: Decoder) -> Handler:
    """Issue one wgmma; all four warps of the group issue it."""
    form = _form(d)
    slots = d.slots(d.ops[0])
    if len(slots) != form.registers:
        raise d.unknown(f"list of {len(slots)} registers ({form.registers} expected)")
    for item in d.items(d.ops[0]):
        d.read(item)  # D is read as well as written
    a = [d.read(item, 64) for item in d.items(d.ops[1])]
    descriptors = [d.uniform(o, 64) for o in d.ops[(2 if form.a_in_registers else 1) : 3]]
    accumulate = d.uniform(d.ops[3], 1)

    # NVVM splits and joins pairs of f16 accumulators before the wait: show the result at once
    early = splits_before(d.kernel.instrs, d.instr.index, set(slots), "wgmma.wait_group")

    def issue(g: Group) -> Issued:
        state, warp, registers = warp_state(g.warp), g.warp.index % WARPS, g.regs
        bits = tuple(read(g) for read in descriptors)
        values = [registers[slot] for slot in slots] if accumulate(g) else None
        current = state.holding(warp, values)
        if values is not None and current is None:
            _require_written(values)
        group = warpgroup_state(g.cta, g.warp)
        entry = group.at(state.count)
        if entry is None:
            _check_operands(g.cta, form, bits)
            entry = Issued(d.instr.index, bits, _accumulator(form, current))
            group.issued.append(entry)
        _join(entry, d, bits, values, current, warp, state)
        if g.machine.hub.sync:
            g.machine.hub.on_sync(g, d.instr, "wgmma", entry)
        if form.a_in_registers:
            entry.a_registers[warp] = [read(g) for read in a]
        for slot, row in zip(slots, entry.accumulator.rows[warp], strict=True):
            registers[slot] = row
        if len(entry.warps) == WARPS:
            _submit(d, g, form, entry)
        return entry

    def run(g: Group) -> None:
        issue(g)

    def run_at_once(g: Group) -> Wait | None:
        state = warp_state(g.warp)
        entry = state.waiting or issue(g)
        state.waiting = None
        if entry.operation is None:
            state.waiting = entry
            return Wait(entry.channel, "the other warps of the warpgroup to issue the wgmma")
        if not entry.done:
            g.machine.complete(entry.operation)
        entry.accumulator.fill()
        return None

    return d.collective(run_at_once, blocking=True) if early else d.collective(run)


def _require_written(values: list[Any]) -> None:
    unwritten = sum(type(value) is Unwritten for value in values)
    if unwritten:
        title = f"adds to {unwritten} accumulator registers that nothing has written"
        raise fault(
            "E248", f"{title}: scale-d is true, which the first wgmma of a sum does not say"
        )


def _form(d: Decoder) -> Form:
    mods = [m for m in d.mods if m not in ("sync", "aligned", "satfinite")]
    shape = _SHAPE.fullmatch(mods[0]) if len(mods) == 4 else None
    if shape is None:
        raise d.unknown("shape or modifiers")
    n, k = int(shape[1]), int(shape[2])
    kind_d, kind_a, kind_b = mods[1:]
    if k != _K_BY_TYPE.get(kind_a) or n % 8 or not 8 <= n <= 256:
        raise d.unknown("shape or type")
    immediates = [o.value for o in d.ops[4:] if isinstance(o, Imm)]
    scales, majors = immediates[:2], immediates[2:]
    in_registers = isinstance(d.ops[1], Vec)
    if in_registers:
        majors = [0, *majors]
    majors = [*majors, 0, 0][:2]
    negative = sum(1 for s in scales if s & 0xFFFFFFFF == 0xFFFFFFFF)
    return Form(
        n=n,
        d=kind_d,
        a=kind_a,
        b=kind_b,
        a_mn_major=bool(majors[0]),
        b_mn_major=bool(majors[1]),
        negate=negative == 1,
        saturate=d.has("satfinite"),
        a_in_registers=in_registers,
    )


def _accumulator(form: Form, current: Accumulator | None) -> Accumulator:
    """Return where a result goes: on from the accumulator that the registers hold, or anew."""
    if current is None:
        return Accumulator(form.registers, form.d)
    return current.successor() if current.filled else current


def _join(
    entry: Issued,
    d: Decoder,
    bits: tuple[int, ...],
    values: list[Any] | None,
    current: Accumulator | None,
    warp: int,
    state: WarpState,
) -> None:
    """Add a warp to a wgmma. Raises E248 when it is not the one that the other warps issued, or
    when its registers were written since the last wgmma without a wgmma.fence.
    """
    if entry.index != d.instr.index or entry.descriptors != bits:
        raise fault("E248", "the warps of the warpgroup do not issue the same wgmma")
    if current is None:
        if not state.fenced:
            raise fault("E248", "the accumulator's registers have no wgmma.fence before the wgmma")
        entry.accumulator.sources[warp] = values
    entry.warps.add(warp)
    state.count += 1
    state.open.append(entry)
    state.remember(entry.accumulator)


def _check_operands(cta: Cta, form: Form, bits: tuple[int, ...]) -> None:
    operand_at(cta, decode_wgmma(bits[-1]), "B", form.n, form.b_mn_major, form.b)
    if not form.a_in_registers:
        operand_at(cta, decode_wgmma(bits[0]), "A", ROWS, form.a_mn_major, form.a)


def _submit(d: Decoder, g: Group, form: Form, entry: Issued) -> None:
    cta = g.cta
    queue = ("wgmma", cta.linear, g.warp.index // WARPS)
    detail = f"64x{form.n} {form.a}"
    work = partial(_complete, cta, form, entry)
    entry.operation = AsyncOp("wgmma", cta, work, "wgmma", queue, detail, instr=d.instr, group=g)
    entry.operation.touches = partial(_touches, cta, form, entry.descriptors)
    entry.operation.mark = entry.mark
    entry.operation.size = ROWS * form.n * K_BYTES
    g.machine.notify(entry.channel)
    g.machine.submit(entry.operation)


def _touches(cta: Cta, form: Form, bits: tuple[int, ...]) -> list[Touch]:
    b, _, _ = operand_at(cta, decode_wgmma(bits[-1]), "B", form.n, form.b_mn_major, form.b)
    found = [Touch("shared", cta, False, b.ravel())]
    if not form.a_in_registers:
        a, _, _ = operand_at(cta, decode_wgmma(bits[0]), "A", ROWS, form.a_mn_major, form.a)
        found.append(Touch("shared", cta, False, a.ravel()))
    return found


def _complete(cta: Cta, form: Form, entry: Issued) -> None:
    bits = entry.descriptors
    b = read_operand_of(cta, decode_wgmma(bits[-1]), "B", form.n, form.b_mn_major, form.b)
    if form.a_in_registers:
        a = _a_from_registers(form, entry)
    else:
        a = read_operand_of(cta, decode_wgmma(bits[0]), "A", ROWS, form.a_mn_major, form.a)
    product: NDArray[Any] = matmul(a, b)
    if form.negate:
        product = -product
    if form.d == "s32":
        product = product.astype(np.int32)
    accumulator = entry.accumulator
    start = accumulator.start()
    values = product if start is None else add(start, product, form.saturate)
    if form.d == "f16":
        with np.errstate(over="ignore"):
            values = values.astype(np.float16).astype(np.float32)
    accumulator.values = values
    accumulator.unfinished -= 1


def _a_from_registers(form: Form, entry: Issued) -> NDArray[np.float32]:
    block = np.empty((WARPS, A_REGISTERS, 32), dtype=np.uint32)
    for warp, registers in entry.a_registers.items():
        for j, value in enumerate(registers):
            block[warp, j] = spread(value, 32)
    return widen(a_bytes_of(block), form.a)


@op("wgmma.fence")
def fence(d: Decoder) -> Handler:
    """Orders register accesses before it with the wgmmas after it."""
    d.allow("sync", "aligned")

    def run(g: Group) -> None:
        warp_state(g.warp).fenced = True

    return d.collective(run)


@op("wgmma.commit_group")
def commit_group(d: Decoder) -> Handler:
    """Close the warp's group of wgmmas."""
    d.allow("sync", "aligned")

    def run(g: Group) -> None:
        state = warp_state(g.warp)
        if g.machine.hub.sync:
            g.machine.hub.on_sync(g, d.instr, "wgmma_commit", None)
        state.committed.append(state.open)
        state.open = []
        state.fenced = False

    return d.collective(run)


@op("wgmma.wait_group")
def wait_group(d: Decoder) -> Handler:
    """Wait until at most N of the newest groups are unfinished; show the results of the others."""
    d.allow("sync", "aligned")
    newest = d.uniform(d.ops[0])

    def run(g: Group) -> Wait | None:
        state = warp_state(g.warp)
        waited = state.committed[: max(len(state.committed) - newest(g), 0)]
        for entries in waited:
            for entry in entries:
                if not entry.done:
                    what = "the other warps" if entry.operation is None else "a wgmma"
                    return Wait(entry.waits_on(), f"{what} of warpgroup {g.warp.index // WARPS}")
        for entry in (e for entries in waited for e in entries):
            if not entry.accumulator.unfinished:
                entry.accumulator.fill()
        if g.machine.hub.sync:
            done = [e.operation for entries in waited for e in entries]
            g.machine.hub.on_sync(g, d.instr, "wgmma_wait", done)
        del state.committed[: len(waited)]
        warpgroup_state(g.cta, g.warp).forget()
        return None

    return d.collective(run, blocking=True)
