"""st.async and red.async: PTX ISA, "st.async", "red.async". The value is taken at issue and
lands at completion, which also counts its bytes on the mbarrier in the same CTA as the
destination.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from gemmgen.emulate.asyncops import AsyncOp, Touch
from gemmgen.emulate.decode import Decoder, Run, op
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import lane_of
from gemmgen.emulate.machine import Group
from gemmgen.emulate.mbarrier import MBarrier
from gemmgen.emulate.ops.ldst import combine
from gemmgen.emulate.ops.types import last_type

_OPERATIONS = ("inc", "dec", "min", "max", "add", "and", "or", "xor")


def _touches(g: Group, address: int, size: int) -> list[Touch]:
    cta, offset = g.machine.cta_at(g.cta, address)
    return [Touch("shared", cta, True, np.array([offset], dtype=np.int64), size)]


def _barriers(g: Group, address: int) -> list[MBarrier]:
    return [g.machine.barrier_at(g.cta, address)]


@op("st.async", "red.async")
def async_store(d: Decoder) -> Run:
    d.allow(
        *_OPERATIONS, "weak", "relaxed", "cluster", "shared::cluster",
        "mbarrier::complete_tx::bytes",
        "v2", "v4", "b32", "b64",
        "u32", "s32", "u64", "s64", "f32", "f64",
    )  # fmt: skip
    kind, bits = last_type(d)
    address, barrier = d.address(d.ops[0]), d.address(d.ops[2])
    readers = [d.read(item, bits) for item in d.items(d.ops[1])]
    name = next((m for m in d.mods if m in _OPERATIONS), "")
    if bool(name) != (d.base == "red.async"):
        raise d.unknown("the operation")
    function = combine(d, name, kind, bits) if name else None
    size = bits // 8

    def land(g: Group, to: int, signal: int, values: list[int]) -> None:
        machine = g.machine
        cta, offset = machine.cta_at(g.cta, to)
        bar_cta, _ = machine.cta_at(g.cta, signal)
        if bar_cta is not cta:
            raise EmulationError(
                "E205",
                f"{d.base}: the mbarrier is in {bar_cta.where()}, the destination in {cta.where()}",
            )
        cta.shared.check(offset, size * len(values), size * len(values))
        for k, value in enumerate(values):
            place = offset + k * size
            if function is not None:
                old = int.from_bytes(cta.shared.read(place, size), "little")
                value = function(old, value)
            cta.shared.write(place, value.to_bytes(size, "little"))
        machine.barrier_at(g.cta, signal).complete_tx(size * len(values))

    def run(g: Group) -> None:
        where, signals = address(g), barrier(g)
        values = [read(g) for read in readers]
        for lane in g.lanes.tolist():
            mine = [lane_of(v, lane) & ((1 << bits) - 1) for v in values]
            work = partial(land, g, lane_of(where, lane), lane_of(signals, lane), mine)
            store = AsyncOp("st_async", g.cta, work, "st_async", group=g, instr=d.instr, lane=lane)
            store.touches = partial(_touches, g, lane_of(where, lane), size * len(values))
            store.barriers = partial(_barriers, g, lane_of(signals, lane))
            g.machine.submit(store)

    return run
