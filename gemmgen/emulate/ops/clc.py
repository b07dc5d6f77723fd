"""clusterlaunchcontrol: a running cluster takes over the work of one that has not started.

PTX ISA "Parallel Synchronization and Communication Instructions: clusterlaunchcontrol".
`try_cancel` writes an opaque 16-byte answer and counts 16 bytes on an mbarrier, in every CTA of the
cluster with `.multicast::cluster::all`. The encoding is this emulator's own: x, y and z of the
first CTA in 32 bits each, then a mark in which bit 0 says that a cluster was cancelled.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

import numpy as np

from gemmgen.emulate.asyncops import AsyncOp, Touch
from gemmgen.emulate.decode import Decoder, Run, op
from gemmgen.emulate.lanes import WARP, Value, lane_of
from gemmgen.emulate.machine import Cta, Group
from gemmgen.emulate.mbarrier import MBarrier
from gemmgen.emulate.ops.tma import alive
from gemmgen.emulate.tensor.faults import fault

ANSWER_BYTES = 16
_MARK = 0xC1C0_0000
_FAILED = "clc_failed"


@op("clusterlaunchcontrol.try_cancel")
def try_cancel(d: Decoder) -> Run:
    """Ask for the work of a cluster that has not started."""
    d.allow(
        "async", "shared::cta", "mbarrier::complete_tx::bytes", "multicast::cluster::all", "b128"
    )
    answer, barrier = d.address(d.ops[0]), d.address(d.ops[1])
    everywhere = d.has("multicast::cluster::all")

    def run(g: Group) -> None:
        for lane in g.lanes.tolist():
            _, offset = g.machine.cta_at(g.cta, lane_of(answer(g), lane))
            holder, at = g.machine.cta_at(g.cta, lane_of(barrier(g), lane))
            g.cta.shared.check(offset, ANSWER_BYTES, 16)
            holder.barrier(at)
            if g.cta.cluster.ext.get(_FAILED):
                raise fault("E250", "try_cancel after an answer that nothing was cancelled")
            targets = g.cta.cluster.ctas if everywhere else [g.cta]
            work = partial(_answer, g.cta, targets, offset, at)
            ask = AsyncOp("clc", g.cta, work, "clc", instr=d.instr, group=g, lane=lane)
            ask.touches = partial(_touches, targets, offset)
            ask.barriers = partial(_barriers, targets, at)
            g.machine.submit(ask)

    return run


def _touches(targets: list[Cta], offset: int) -> list[Touch]:
    chunks = slice(offset // ANSWER_BYTES, offset // ANSWER_BYTES + 1)
    return [Touch("shared", target, True, chunks) for target in targets]


def _barriers(targets: list[Cta], offset: int) -> list[MBarrier]:
    return [target.barrier(offset) for target in targets]


def _answer(cta: Cta, targets: list[Cta], offset: int, barrier: int) -> None:
    waiting = cta.machine.waiting_clusters
    if waiting:
        x, y, z = waiting.popleft()
        data = struct.pack("<4I", x, y, z, _MARK | 1)
    else:
        data = struct.pack("<4I", 0, 0, 0, _MARK)
        cta.cluster.ext[_FAILED] = True
    for target in targets:
        alive(target)
        target.shared.write(offset, data)
    for target in targets:
        target.barrier(barrier).complete_tx(ANSWER_BYTES)


def _decode(handle: int) -> tuple[bool, int, int, int]:
    mark = handle >> 96
    if mark & ~1 != _MARK:
        raise fault("E250", f"{handle:#034x} is no answer of clusterlaunchcontrol.try_cancel")
    word = 0xFFFFFFFF
    return bool(mark & 1), handle & word, handle >> 32 & word, handle >> 64 & word


def _each(
    handle: Callable[[Group], Value], part: Callable[[int], int], dtype: type[np.generic]
) -> Callable[[Group], Value]:
    """Apply `part` to a uniform handle, or to each active lane's."""

    def value(g: Group) -> Value:
        bits = handle(g)
        if not isinstance(bits, np.ndarray):
            return part(bits)
        out = np.zeros(WARP, dtype=dtype)
        for lane in g.lanes.tolist():
            out[lane] = part(int(bits[lane]))
        return out

    return value


@op("clusterlaunchcontrol.query_cancel.is_canceled")
def is_canceled(d: Decoder) -> Run:
    """Whether the answer names a cancelled cluster."""
    d.allow("pred", "b128")
    put = d.write(d.ops[0])
    value = _each(d.read(d.ops[1], 128), lambda bits: _decode(bits)[0], np.bool_)
    return lambda g: put(g, value(g))


@op(*(f"clusterlaunchcontrol.query_cancel.get_first_ctaid::{axis}" for axis in "xyz"))
def get_first_ctaid(d: Decoder) -> Run:
    """One coordinate of the first CTA of the cancelled cluster."""
    d.allow("b32", "b128")
    index = 1 + "xyz".index(d.base[-1])
    put = d.write(d.ops[0])
    value = _each(d.read(d.ops[1], 128), lambda bits: _coordinate(bits, index), np.uint32)
    return lambda g: put(g, value(g))


@op("clusterlaunchcontrol.query_cancel.get_first_ctaid")
def get_first_ctaid_vector(d: Decoder) -> Run:
    """All coordinates, into `{x, y, z, _}`."""
    d.allow("v4", "b32", "b128")
    puts = [d.write(item) for item in d.items(d.ops[0])[:3]]
    handle = d.read(d.ops[1], 128)
    values = [_each(handle, partial(_coordinate, index=index), np.uint32) for index in range(1, 4)]

    def run(g: Group) -> None:
        found = [value(g) for value in values]
        for put, value in zip(puts, found, strict=True):
            put(g, value)

    return run


def _coordinate(bits: int, index: int) -> int:
    """Return one coordinate; after a failure it is undefined (PTX ISA), here all ones."""
    answer = _decode(bits)
    return int(answer[index]) if answer[0] else 0xFFFFFFFF
