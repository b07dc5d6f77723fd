"""mbarrier opcodes: PTX ISA, "Parallel Synchronization and Communication Instructions:
mbarrier".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gemmgen.emulate.asyncops import Wait
from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.errors import Earlier, EmulationError
from gemmgen.emulate.lanes import WARP, Value, lane_of, spread
from gemmgen.emulate.machine import Group
from gemmgen.emulate.mbarrier import COUNT_LIMIT, MBarrier
from gemmgen.emulate.ops.spaces import own_offset, part_of
from gemmgen.emulate.ops.waitloop import is_wait_loop
from gemmgen.emulate.ptx import Addr, Reg

Find = Callable[[Group, int], MBarrier]
_INVAL = "mbarrier.inval of the first one, after its last use; or one init, by one thread"


def _finder(d: Decoder) -> Find:
    """The barrier at an address: `.shared` and `.shared::cta` are the own CTA's."""
    if d.has("shared::cluster") or not (d.has("shared") or d.has("shared::cta")):
        return lambda g, address: g.machine.barrier_at(g.cta, address)

    def own(g: Group, address: int) -> MBarrier:
        offset = own_offset(g.cta, address)
        assert isinstance(offset, int)
        return g.cta.barrier(offset)

    return own


def _tell(g: Group, d: Decoder, what: str, bar: MBarrier, lane: int = -1) -> None:
    if g.machine.hub.sync:
        g.machine.hub.on_sync(g if lane < 0 else part_of(g, (lane,)), d.instr, what, bar)


@op("mbarrier.init")
def init(d: Decoder) -> Handler:
    d.allow("shared", "shared::cta", "b64")
    address, count = d.uniform_address(d.ops[0]), d.uniform(d.ops[1])

    def run(g: Group) -> None:
        offset = own_offset(g.cta, address(g))
        assert isinstance(offset, int)
        expected = count(g)
        if not 1 <= expected <= COUNT_LIMIT:
            raise EmulationError("E209", f"mbarrier.init with a count of {expected}")
        old = g.cta.barriers.get(offset)
        try:
            g.cta.init_barrier(offset, expected)
            made = g.cta.barriers[offset]
            made.origin = Earlier(d.base, g.where(), d.instr.place)
            _tell(g, d, "init" if old is None else "init_again", made)
        except EmulationError as error:
            raise error if old is None else error.after(old.origin, _INVAL) from None

    return Handler(run=run)


def _waiting(bar: MBarrier) -> Earlier:
    group = bar.channel.waiters[0]
    instr = None if group.wait is None else group.wait.instr
    return Earlier("mbarrier wait", group.where(), None if instr is None else instr.place)


@op("mbarrier.inval")
def invalidate(d: Decoder) -> Handler:
    d.allow("shared", "shared::cta", "b64")
    address, find = d.uniform_address(d.ops[0]), _finder(d)

    def run(g: Group) -> None:
        bar = find(g, address(g))
        if bar.channel.waiters:
            error = EmulationError("E216", f"{bar.label} is invalidated while warps wait on it")
            raise error.after(_waiting(bar), "every wait ends first, on the way to the inval")
        del bar.cta.barriers[bar.offset]

    return Handler(run=run)


def _each(g: Group, address: Value, find: Find, act: Callable[[MBarrier, int], None]) -> None:
    """Call ``act(barrier, lane)`` for each active lane."""
    for lane in g.lanes.tolist():
        act(find(g, lane_of(address, lane)), lane)


@op("mbarrier.arrive", "mbarrier.arrive_drop")
def arrive(d: Decoder) -> Handler:
    d.allow(
        "expect_tx", "noComplete", "release", "relaxed", "cta", "cluster", "shared", "shared::cta",
        "shared::cluster", "b64",
    )  # fmt: skip
    operands = list(d.ops)
    state = None
    if not isinstance(operands[0], Addr):
        state = operands.pop(0)
    put = d.write(state) if state is not None else None
    address, find = d.address(operands[0]), _finder(d)
    amount = d.read(operands[1]) if len(operands) > 1 else None
    expects, drops = d.has("expect_tx"), d.base.endswith("drop")

    def run(g: Group) -> None:
        states = [0] * WARP

        def act(bar: MBarrier, lane: int) -> None:
            value = lane_of(amount(g), lane) if amount is not None else 1
            states[lane] = bar.phase
            _tell(g, d, "arrive", bar, lane)
            if expects:
                bar.expect_tx(value)
                value = 1
            if drops:
                bar.drop(value)
            else:
                bar.arrive(value)

        _each(g, address(g), find, act)
        if put is not None:
            same = g.mask & (g.mask - 1) == 0
            put(g, states[g.first] if same else np.array(states, dtype=np.uint64))

    return Handler(run=run)


@op("mbarrier.expect_tx", "mbarrier.complete_tx")
def transaction(d: Decoder) -> Handler:
    address, find = d.address(d.ops[0]), _finder(d)
    amount = d.read(d.ops[1])
    expects = d.base == "mbarrier.expect_tx"

    def run(g: Group) -> None:
        def act(bar: MBarrier, lane: int) -> None:
            value = lane_of(amount(g), lane)
            _tell(g, d, "expect" if expects else "arrive", bar, lane)
            if expects:
                bar.expect_tx(value)
            else:
                bar.complete_tx(value)

        _each(g, address(g), find, act)

    return Handler(run=run)


@op("mbarrier.pending_count")
def pending_count(d: Decoder) -> Handler:
    raise d.unknown("the layout of the state")


@op("mbarrier.test_wait", "mbarrier.try_wait")
def wait(d: Decoder) -> Handler:
    """try_wait in a loop that does nothing else parks the group until the phase completes;
    elsewhere it answers at once, which the time limit of try_wait allows.
    """
    d.allow(
        "parity",
        "acquire",
        "relaxed",
        "cta",
        "cluster",
        "shared",
        "shared::cta",
        "b64",
        "sync",
        "aligned",
    )
    parity = d.has("parity")
    address = d.address(d.ops[1])
    phase = d.read(d.ops[2], 32 if parity else 64)
    find = _finder(d)
    parks = isinstance(d.ops[0], Reg) and is_wait_loop(d.kernel, d.instr)
    slot = d.slot(d.ops[0])

    def passed(bar: MBarrier, value: int) -> bool:
        return bar.passed(value & 1) if parity else bar.phase != value

    def varying(g: Group, where: Value, values: Value) -> None:
        out = np.zeros(WARP, dtype=np.bool_)
        wide = spread(where, 32), spread(values, 32)
        for lane in g.lanes.tolist():
            bar = find(g, int(wide[0][lane]))
            out[lane] = passed(bar, int(wide[1][lane]))
            if out[lane]:
                _tell(g, d, "passed", bar, lane)
        g.regs[slot] = out

    def run(g: Group) -> Wait | None:
        where, value = address(g), phase(g)
        if isinstance(where, np.ndarray) or isinstance(value, np.ndarray):
            where, value = _agreed(g, where), _agreed(g, value)
        if isinstance(where, np.ndarray) or isinstance(value, np.ndarray):
            varying(g, where, value)
            return None
        bar = find(g, where)
        if bar.cta is not g.cta:
            raise EmulationError("E267", f"{g.cta.where()} waits on {bar.label}")
        if bar.called:
            bar.called.discard(g)
        done = passed(bar, value)
        if not done and parks:
            waited = value & 1 if parity else value
            return Wait(bar.channel, "mbarrier", bar, waited, d.instr)
        if done:
            _tell(g, d, "passed", bar)
        g.regs[slot] = done
        return None

    return Handler(run=run, blocking=parks)


def _agreed(g: Group, value: Value) -> Value:
    """The common value of the active lanes, if there is one."""
    if isinstance(value, np.ndarray):
        active = value[g.lanes]
        if bool((active == active[0]).all()):
            return int(active[0])
    return value
