"""cp.async.bulk and cp.reduce.async.bulk: plain bulk copies of bytes.

PTX ISA "cp.async.bulk": addresses and sizes are multiples of 16 bytes. Global to shared memory and
shared to another CTA's shared memory signal an mbarrier; shared to global memory belongs to a bulk
async-group.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.asyncops import AsyncOp, Touch
from gemmgen.emulate.decode import Decoder, Run, op
from gemmgen.emulate.lanes import lane_of
from gemmgen.emulate.machine import Cta, Group, Machine
from gemmgen.emulate.ops.boxes import reduce
from gemmgen.emulate.ops.bulkgroups import Transfer, thread_groups
from gemmgen.emulate.ops.tma import alive, barriers_of, signals_of
from gemmgen.emulate.tensor.faults import fault

Bytes = NDArray[np.uint8]
_ELEMENTS = ("f16", "bf16", "f32", "f64", "u32", "s32", "u64", "s64", "b32", "b64")
_REDUCTIONS = ("add", "min", "max", "and", "or", "xor")


@op("cp.async.bulk")
def bulk_copy(d: Decoder) -> Run:
    """A bulk copy, in the direction that the order of its state spaces says."""
    d.allow(
        "shared::cluster", "shared::cta", "global", "mbarrier::complete_tx::bytes", "bulk_group",
        "multicast::cluster", "L2::cache_hint",
    )  # fmt: skip
    if d.mods[0] == "global":
        return _to_global(d, "", "")
    return _to_shared(d)


@op("cp.reduce.async.bulk")
def bulk_reduce(d: Decoder) -> Run:
    """A bulk copy to global memory that combines element by element."""
    d.allow(
        *_ELEMENTS, *_REDUCTIONS, "global", "shared::cta", "bulk_group", "noftz", "L2::cache_hint"
    )
    if d.mods[0] != "global":
        raise d.unknown("reduction into shared memory")
    element = next(e for e in _ELEMENTS if d.has(e))
    element = {"b32": "u32", "b64": "u64"}.get(element, element)
    return _to_global(d, next(r for r in _REDUCTIONS if d.has(r)), element)


@op("cp.async.bulk.prefetch")
def bulk_prefetch(d: Decoder) -> Run:
    """A prefetch into L2 moves nothing; its range must be inside a buffer."""
    d.allow("L2", "global", "L2::cache_hint")
    source, size = d.address(d.ops[0]), d.read(d.ops[1])

    def run(g: Group) -> None:
        for lane in g.lanes.tolist():
            start, length = lane_of(source(g), lane), lane_of(size(g), lane)
            _check(start, start, length)
            g.machine.memory.find(start, length)

    return run


def _check(destination: int, source: int, size: int) -> None:
    for what, value in (("destination", destination), ("source", source), ("size", size)):
        if value % 16:
            raise fault("E233", f"{what} {value:#x} is not a multiple of 16")
    if size == 0:
        raise fault("E233", "size is 0")


def _to_shared(d: Decoder) -> Run:
    destination, source = d.address(d.ops[0]), d.address(d.ops[1])
    size, barrier = d.read(d.ops[2]), d.address(d.ops[3])
    mask = d.read(d.ops[4], 16) if d.has("multicast::cluster") else None
    from_global = d.mods[1] == "global"

    def run(g: Group) -> None:
        for lane in g.lanes.tolist():
            to, start, length = (lane_of(v(g), lane) for v in (destination, source, size))
            _check(to, start, length)
            owner, offset = g.machine.cta_at(g.cta, to)
            owner.shared.check(offset, length, 16)
            if from_global:
                g.machine.memory.find(start, length)
            ranks = None if mask is None else lane_of(mask(g), lane)
            signals = signals_of(g.cta, owner, lane_of(barrier(g), lane), ranks, False)
            copy = (start, offset, length)
            work = partial(_land, g.cta, copy, from_global, signals)
            detail = f"{length} bytes to shared offset {offset:#x}"
            operation = AsyncOp("bulk_copy", g.cta, work, "tma", None, detail, length)
            operation.instr, operation.group, operation.lane = d.instr, g, lane
            operation.touches = partial(
                _touches, g.cta, (start, offset, length), from_global, signals
            )
            operation.barriers = partial(barriers_of, signals)
            g.machine.submit(operation)

    return run


def _shared(cta: Cta, offset: int, size: int, writes: bool) -> Touch:
    return Touch("shared", cta, writes, slice(offset // 16, (offset + size) // 16))


def _global(cta: Cta, address: int, size: int, writes: bool) -> Touch:
    return Touch("global", cta, writes, np.array([address], dtype=np.int64), size)


def _touches(
    cta: Cta, copy: tuple[int, int, int], from_global: bool, signals: list[tuple[Cta, Cta, int]]
) -> list[Touch]:
    source, offset, size = copy
    landed = [_shared(target, offset, size, True) for target, _, _ in signals]
    if from_global:
        return [_global(cta, source, size, False), *landed]
    owner, at = cta.machine.cta_at(cta, source)
    return [_shared(owner, at, size, False), *landed]


def _land(
    cta: Cta, copy: tuple[int, int, int], from_global: bool, signals: list[tuple[Cta, Cta, int]]
) -> None:
    source, offset, size = copy
    if from_global:
        data = cta.machine.memory.read(source, size)
    else:
        owner, at = cta.machine.cta_at(cta, source)
        data = owner.shared.read(at, size)
    for target, holder, _ in signals:
        alive(target)
        alive(holder)
        target.shared.write(offset, data)
    for _, holder, at in signals:
        holder.barrier(at).complete_tx(size)


def _to_global(d: Decoder, reduction: str, element: str) -> Run:
    destination, source, size = d.address(d.ops[0]), d.address(d.ops[1]), d.read(d.ops[2])

    def run(g: Group) -> None:
        for lane in g.lanes.tolist():
            to, start, length = (lane_of(v(g), lane) for v in (destination, source, size))
            _check(to, start, length)
            owner, offset = g.machine.cta_at(g.cta, start)
            owner.shared.check(offset, length, 16)
            g.machine.memory.find(to, length, write=True)
            _submit(d, g, lane, (to, offset, length), reduction, element)

    return run


def _submit(
    d: Decoder, g: Group, lane: int, copy: tuple[int, int, int], reduction: str, element: str
) -> None:
    cta = g.cta
    to, offset, length = copy
    detail = f"{length} bytes from shared offset {offset:#x}"

    def read() -> None:
        data = np.frombuffer(cta.shared.read(offset, length), dtype=np.uint8)
        work = partial(_write, cta.machine, to, data, reduction, element)
        writing = AsyncOp("tma_write", cta, work, unit="tma", detail=detail, instr=d.instr, group=g)
        transfer.writing = writing
        cta.machine.submit(writing)

    reading = AsyncOp("tma_store", cta, read, unit="tma", detail=detail, instr=d.instr, group=g)
    reading.lane = lane
    reading.touches = lambda: [_shared(cta, offset, length, False), _global(cta, to, length, True)]
    transfer = Transfer(reading)
    thread_groups(g.warp, lane).open.append(transfer)
    cta.machine.submit(reading)


def _write(machine: Machine, to: int, data: Bytes, reduction: str, element: str) -> None:
    if reduction:
        old = np.frombuffer(machine.memory.read(to, data.size), dtype=np.uint8)
        data = reduce(old, data, element, reduction)
    machine.memory.write(to, data.tobytes())
