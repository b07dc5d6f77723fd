"""Loads and stores of one element list in one state space; used by ld, st, atom and their kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from gemmgen.emulate.decode import Decoder
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import DTYPES, WARP, Value, lane_of, spread
from gemmgen.emulate.machine import Cta, Group
from gemmgen.emulate.memory import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_OFFSET_MASK,
    SHARED_RANK_SHIFT,
    is_shared,
)

Load = Callable[[Group, Value, int, int], list[Value]]
Store = Callable[[Group, Value, int, Sequence[Value]], None]

_T = TypeVar("_T")
SPACES = ("param", "global", "shared", "local", "const")


def space_of(d: Decoder) -> str:
    """The state space that the opcode names: one of SPACES, `shared::cluster`, or `` for
    generic.
    """
    for mod in d.mods:
        head = mod.split("::")[0]
        if head in SPACES:
            return "shared::cluster" if mod == "shared::cluster" else head
    return ""


def loader(d: Decoder, space: str, kind: str = "read") -> Load:
    """The load function of a space."""
    instr = d.instr

    def load_global(g: Group, address: Value, size: int, count: int) -> list[Value]:
        hub = g.machine.hub
        if hub.access:
            hub.on_access(g, instr, "global", g.cta, address, size * count, kind)
        return g.machine.memory.load(g, address, size, count)

    def load_shared(g: Group, address: Value, size: int, count: int) -> list[Value]:
        offset = own_offset(g.cta, address)
        hub = g.machine.hub
        if hub.access:
            hub.on_access(g, instr, "shared", g.cta, offset, size * count, kind)
        return g.cta.shared.load(g, offset, size, count)

    def load_cluster(g: Group, address: Value, size: int, count: int) -> list[Value]:
        out: list[Value] | None = None
        for cta, part, offset in by_cta(g, address):
            if g.machine.hub.access:
                g.machine.hub.on_access(part, instr, "shared", cta, offset, size * count, kind)
            found = cta.shared.load(part, offset, size, count)
            out = found if out is None else _join(out, found, part, size)
        assert out is not None
        return out

    def load_generic(g: Group, address: Value, size: int, count: int) -> list[Value]:
        first = lane_of(address, g.first)
        return _pick(first, table)(g, address, size, count)

    table: dict[str, Load] = {
        "global": load_global,
        "const": load_global,
        "shared": load_shared,
        "shared::cluster": load_cluster,
        "param": load_param,
        "local": load_local,
    }
    return table.get(space, load_generic)


def storer(d: Decoder, space: str, kind: str = "write") -> Store:
    """The store function of a space."""
    instr = d.instr

    def store_global(g: Group, address: Value, size: int, values: Sequence[Value]) -> None:
        machine = g.machine
        if machine.hub.access:
            machine.hub.on_access(g, instr, "global", g.cta, address, size * len(values), kind)
        machine.memory.store(g, address, size, values)
        machine.progress += 1

    def store_shared(g: Group, address: Value, size: int, values: Sequence[Value]) -> None:
        offset = own_offset(g.cta, address)
        machine = g.machine
        if machine.hub.access:
            machine.hub.on_access(g, instr, "shared", g.cta, offset, size * len(values), kind)
        g.cta.shared.store(g, offset, size, values)
        machine.progress += 1

    def store_cluster(g: Group, address: Value, size: int, values: Sequence[Value]) -> None:
        machine = g.machine
        for cta, part, offset in by_cta(g, address):
            if machine.hub.access:
                machine.hub.on_access(part, instr, "shared", cta, offset, size * len(values), kind)
            cta.shared.store(part, offset, size, values)
        machine.progress += 1

    def store_generic(g: Group, address: Value, size: int, values: Sequence[Value]) -> None:
        first = lane_of(address, g.first)
        _pick(first, table)(g, address, size, values)

    table: dict[str, Store] = {
        "global": store_global,
        "shared": store_shared,
        "shared::cluster": store_cluster,
        "local": store_local,
    }
    return table.get(space, store_generic)


def _pick(address: int, table: dict[str, _T]) -> _T:
    if is_shared(address):
        return table["shared::cluster"]
    if address >= LOCAL_WINDOW:
        return table["local"]
    if address >= PARAM_WINDOW:
        return table["param"]
    return table["global"]


def own_offset(cta: Cta, address: Value) -> Value:
    """A shared::cta address -> offset. Raises E205 when it names another CTA of the cluster."""
    if isinstance(address, np.ndarray):
        if address.dtype != np.uint32:
            address = address.astype(np.uint32)
        return address - np.uint32(cta.base)
    offset = (address & 0xFFFFFFFF) - cta.base
    if offset < 0 or offset > SHARED_OFFSET_MASK:
        raise EmulationError(
            "E205", f"shared::cta address {address:#x} names another CTA; this is {cta.where()}"
        )
    return offset


def by_cta(g: Group, address: Value) -> list[tuple[Cta, Group, Value]]:
    """shared::cluster addresses -> for each CTA that is named: the CTA, the lanes that name it,
    their offsets.
    """
    if not isinstance(address, np.ndarray):
        cta, offset = g.machine.cta_at(g.cta, address)
        return [(cta, g, offset)]
    low = address.astype(np.uint32)
    ranks = low >> np.uint32(SHARED_RANK_SHIFT)
    offsets = low & np.uint32(SHARED_OFFSET_MASK)
    out: list[tuple[Cta, Group, Value]] = []
    active = ranks[g.lanes]
    for rank in np.unique(active).tolist():
        lanes = g.lanes[active == rank]
        cta, _ = g.machine.cta_at(g.cta, int(low[lanes[0]]))
        out.append((cta, part_of(g, lanes.tolist()), offsets))
    return out


def part_of(g: Group, lanes: Sequence[int]) -> Group:
    """The same group with fewer lanes, sharing its registers."""
    mask = sum(1 << lane for lane in lanes)
    return g if mask == g.mask else Group(g.warp, mask, g.regs, g.pc, g.serial)


def _join(old: list[Value], new: list[Value], part: Group, size: int) -> list[Value]:
    bits = size * 8
    return [
        np.where(part.flags, spread(b, bits), spread(a, bits))
        for a, b in zip(old, new, strict=True)
    ]


def load_param(g: Group, address: Value, size: int, count: int) -> list[Value]:
    """Parameter space: uniform unless the addresses differ. Raises E204."""
    if isinstance(address, np.ndarray):
        rows = [load_param(g, int(address[lane]), size, count) for lane in range(WARP)]
        return [np.array([row[k] for row in rows], dtype=DTYPES[size * 8]) for k in range(count)]
    raw = g.machine.read_generic(g.cta, address, size * count)
    return [int.from_bytes(raw[k * size : (k + 1) * size], "little") for k in range(count)]


def _local(g: Group) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    found = g.warp.ext.get("local")
    if found is None:
        found = g.warp.ext["local"] = np.zeros((WARP, g.machine.local_bytes), dtype=np.uint8)
    return found


def load_local(g: Group, address: Value, size: int, count: int) -> list[Value]:
    """Local memory, one row a lane. Raises E204."""
    memory = _local(g)
    out = [np.zeros(WARP, dtype=DTYPES[size * 8]) for _ in range(count)]
    for lane in g.lanes.tolist():
        start = _local_start(g, lane_of(address, lane), size * count)
        for k in range(count):
            raw = memory[lane, start + k * size : start + (k + 1) * size].tobytes()
            out[k][lane] = int.from_bytes(raw, "little")
    return list(out)


def store_local(g: Group, address: Value, size: int, values: Sequence[Value]) -> None:
    """Local memory, one row a lane. Raises E204."""
    memory = _local(g)
    for lane in g.lanes.tolist():
        start = _local_start(g, lane_of(address, lane), size * len(values))
        for k, value in enumerate(values):
            raw = lane_of(value, lane).to_bytes(size, "little")
            memory[lane, start + k * size : start + (k + 1) * size] = np.frombuffer(raw, np.uint8)


def _local_start(g: Group, address: int, size: int) -> int:
    start = address - LOCAL_WINDOW
    if start < 0 or start + size > g.machine.local_bytes:
        raise EmulationError("E204", f"{size} bytes at local address {address:#x}")
    return start
