"""Instructions among the lanes of a warp: shfl, vote, match, redux, elect, activemask,
bar.warp.sync.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.lanes import WARP, Lanes, bit_mask, mask_array, spread
from gemmgen.emulate.machine import Group
from gemmgen.emulate.ops.special import LANE_IDS
from gemmgen.emulate.ops.types import last_type
from gemmgen.emulate.ptx import Operand, Pair

ONE_HOT = [np.arange(WARP) == lane for lane in range(WARP)]


def _members(d: Decoder, operand: Operand) -> Callable[[Group], int]:
    return d.uniform(operand, 32)


def _both(d: Decoder) -> tuple[Operand, Operand | None]:
    first = d.ops[0]
    return (first.first, first.second) if isinstance(first, Pair) else (first, None)


@op("elect.sync")
def elect(d: Decoder) -> Handler:
    """The lowest lane is the leader."""
    lane_out, predicate = _both(d)
    members = _members(d, d.ops[1])
    put_lane = d.write(lane_out)
    slot = d.slot(predicate) if predicate is not None else None

    def run(g: Group) -> None:
        mask = g.mask & members(g)
        leader = (mask & -mask).bit_length() - 1
        put_lane(g, leader)
        if slot is not None:
            g.regs[slot] = True if g.mask == 1 << leader else ONE_HOT[leader]

    return Handler(run=run, meet=members)


@op("activemask")
def active_mask(d: Decoder) -> Handler:
    put = d.write(d.ops[0])
    return Handler(run=lambda g: put(g, g.mask))


@op("bar.warp.sync")
def warp_sync(d: Decoder) -> Handler:
    members = _members(d, d.ops[0])

    def run(g: Group) -> None:
        if g.machine.hub.sync:
            g.machine.hub.on_sync(g, d.instr, "warp", None)

    return Handler(run=run, meet=members)


@op("shfl.sync")
def shuffle(d: Decoder) -> Handler:
    """PTX ISA, "shfl.sync": c holds the clamp in bits 0-4 and the segment mask in bits 8-12."""
    mode = d.mods[0]
    target, predicate = _both(d)
    source, b, c = d.read(d.ops[1]), d.read(d.ops[2]), d.read(d.ops[3])
    members = _members(d, d.ops[4])
    put = d.write(target)
    put_valid = d.write(predicate) if predicate is not None else None

    def run(g: Group) -> None:
        value = source(g)
        if put_valid is None and not isinstance(value, np.ndarray):
            put(g, value)
            return
        lane, valid = sources(mode, spread(b(g), 32), spread(c(g), 32))
        if put_valid is not None:
            put_valid(g, valid)
        if not isinstance(value, np.ndarray):
            put(g, value)
            return
        out = value[lane]
        same = not isinstance(b(g), np.ndarray) and mode == "idx" and bool((lane == lane[0]).all())
        put(g, int(out[0]) if same else out)

    return Handler(run=run, meet=members)


def sources(mode: str, b: Lanes, c: Lanes) -> tuple[Lanes, Lanes]:
    """The lane that each lane reads, and whether it is in range."""
    lane = LANE_IDS.astype(np.int64)
    amount = (b & np.uint32(31)).astype(np.int64)
    clamp = (c & np.uint32(31)).astype(np.int64)
    segment = (c >> np.uint32(8) & np.uint32(31)).astype(np.int64)
    top = (lane & segment) | (clamp & ~segment)
    if mode == "up":
        where = lane - amount
        valid = where >= top
    elif mode == "down":
        where = lane + amount
        valid = where <= top
    elif mode == "bfly":
        where = lane ^ amount
        valid = where <= top
    else:
        where = (lane & segment) | (amount & ~segment)
        valid = where <= top
    return np.where(valid, where, lane), valid


@op("vote.sync")
def vote(d: Decoder) -> Handler:
    mode = d.mods[0]
    predicate = d.lanes(d.ops[1], 1)
    members = _members(d, d.ops[2])
    put = d.write(d.ops[0])

    def run(g: Group) -> None:
        active = members(g) & g.mask
        ballot = bit_mask(predicate(g)) & active
        results: dict[str, int] = {
            "ballot": ballot,
            "all": ballot == active,
            "any": ballot != 0,
            "uni": ballot in (0, active),
        }
        put(g, results[mode])

    if mode not in ("ballot", "all", "any", "uni"):
        raise d.unknown(f"mode {mode}")
    return Handler(run=run, meet=members)


@op("match.any.sync", "match.all.sync")
def match(d: Decoder) -> Handler:
    _, bits = last_type(d)
    target, predicate = _both(d)
    read, members = d.lanes(d.ops[1], bits), _members(d, d.ops[2])
    put = d.write(target)
    put_all = d.write(predicate) if predicate is not None else None

    def run(g: Group) -> None:
        values = read(g)
        active = mask_array(members(g) & g.mask)
        if d.base == "match.all.sync":
            held = values[active]
            same = bool((held == held[0]).all())
            put(g, bit_mask(active) if same else 0)
            if put_all is not None:
                put_all(g, same)
            return
        rows = [bit_mask((values == values[i]) & active) for i in range(WARP)]
        put(g, np.array(rows, dtype=np.uint32))

    return Handler(run=run, meet=members)


@op("redux.sync")
def reduce(d: Decoder) -> Handler:
    kind, _ = last_type(d)
    name = d.mods[0]
    functions: dict[str, Callable[[Lanes], int]] = {
        "add": lambda a: int(a.astype(np.int64).sum()),
        "min": lambda a: int(a.min()),
        "max": lambda a: int(a.max()),
        "and": lambda a: int(np.bitwise_and.reduce(a)),
        "or": lambda a: int(np.bitwise_or.reduce(a)),
        "xor": lambda a: int(np.bitwise_xor.reduce(a)),
    }
    if name not in functions or kind == "f":
        raise d.unknown(f"operation {name}.{kind}")
    function = functions[name]
    read, members = d.lanes(d.ops[1], 32), _members(d, d.ops[2])
    put = d.write(d.ops[0])

    def run(g: Group) -> None:
        values = read(g)[mask_array(members(g) & g.mask)]
        put(g, function(values.view(np.int32) if kind == "s" else values) & 0xFFFFFFFF)

    return Handler(run=run, meet=members)
