"""cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and cp.async.bulk.prefetch.tensor.

PTX ISA "Data Movement and Conversion Instructions: Tensor copy". A load reads global memory and
writes shared memory when it completes, then signals the mbarrier of each destination CTA with the
bytes of the whole box. A store reads shared memory first and writes global memory later.

Multicast: the box lands at the same offset in every CTA of the mask, and the mbarrier at the same
offset in that CTA is signalled. With `.cta_group::2` it is instead the mbarrier of that CTA or its
peer, whichever has the parity of the CTA that holds the mbarrier operand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gemmgen.emulate.asyncops import AsyncOp, Touch
from gemmgen.emulate.decode import Decoder, Run, op
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import Value, lane_of
from gemmgen.emulate.machine import Cta, Group
from gemmgen.emulate.mbarrier import MBarrier
from gemmgen.emulate.ops import boxes
from gemmgen.emulate.ops.bulkgroups import Transfer, thread_groups
from gemmgen.emulate.tensor.faults import fault

_DIMENSIONS = ("1d", "2d", "3d", "4d", "5d")
_REDUCTIONS = ("add", "min", "max", "and", "or", "xor")

Read = Callable[[Group], Value]


@op("cp.async.bulk.tensor")
def tensor_copy(d: Decoder) -> Run:
    """A tensor copy, in the direction that the order of its state spaces says."""
    d.allow(
        *_DIMENSIONS, "shared::cluster", "shared::cta", "global", "tile",
        "mbarrier::complete_tx::bytes", "bulk_group", "multicast::cluster", "cta_group::1",
        "cta_group::2", "L2::cache_hint",
    )  # fmt: skip
    if d.mods[1] == "global":
        return _store(d, "")
    return _load(d)


@op("cp.reduce.async.bulk.tensor")
def tensor_reduce(d: Decoder) -> Run:
    """A store that combines with what is in global memory."""
    d.allow(
        *_DIMENSIONS, *_REDUCTIONS, "global", "shared::cta", "tile", "bulk_group", "L2::cache_hint"
    )
    return _store(d, next(r for r in _REDUCTIONS if d.has(r)))


@op("cp.async.bulk.prefetch.tensor")
def tensor_prefetch(d: Decoder) -> Run:
    """A prefetch into L2: the box is checked as a load's would be, nothing is moved."""
    d.allow(*_DIMENSIONS, "L2", "global", "tile", "L2::cache_hint")
    map_address, coordinates = _source(d, 0)

    def run(g: Group) -> None:
        for lane in g.lanes.tolist():
            at = [lane_of(c(g), lane) for c in coordinates]
            boxes.locate(g.cta, lane_of(map_address(g), lane), at)

    return run


def _source(d: Decoder, index: int) -> tuple[Read, list[Read]]:
    base, vector = d.items(d.ops[index])
    return d.address(base), [d.read(c) for c in d.items(vector)]


def _load(d: Decoder) -> Run:
    destination, barrier = d.address(d.ops[0]), d.address(d.ops[2])
    map_address, coordinates = _source(d, 1)
    mask = d.read(d.ops[3], 16) if d.has("multicast::cluster") else None
    paired = d.has("cta_group::2")

    def run(g: Group) -> None:
        for lane in g.lanes.tolist():
            at = [lane_of(c(g), lane) for c in coordinates]
            owner, offset = g.machine.cta_at(g.cta, lane_of(destination(g), lane))
            box = boxes.make_box(g.cta, lane_of(map_address(g), lane), at, offset)
            ranks = None if mask is None else lane_of(mask(g), lane)
            signals = signals_of(g.cta, owner, lane_of(barrier(g), lane), ranks, paired)
            operation = AsyncOp("tma_load", g.cta, partial(_complete_load, g.cta, box, signals))
            operation.unit, operation.detail, operation.size = "tma", str(box), box.size
            operation.signals = signals[0][1].barrier(signals[0][2]).label
            operation.instr, operation.group, operation.lane = d.instr, g, lane
            operation.touches = partial(_touches, g.cta, box, signals)
            operation.barriers = partial(barriers_of, signals)
            g.machine.submit(operation)

    return run


def signals_of(
    cta: Cta, owner: Cta, barrier: int, mask: int | None, paired: bool
) -> list[tuple[Cta, Cta, int]]:
    """Return (destination CTA, CTA of its mbarrier, mbarrier offset) for each destination.

    Raises E231 when the mask names no CTA or one outside the cluster, or the mbarrier is in a CTA
    that the form of the instruction does not allow; E208 when the mbarrier was not initialised.
    """
    holder, offset = cta.machine.cta_at(cta, barrier)
    holder.barrier(offset)
    ctas = cta.cluster.ctas
    if mask is None:
        if holder is not owner and not (paired and holder.rank ^ 1 == owner.rank):
            raise fault(
                "E231",
                f"the copy goes to {owner.where()}, its mbarrier is in {holder.where()}",
            )
        return [(owner, holder, offset)]
    if mask == 0 or mask >> len(ctas):
        raise fault("E231", f"multicast mask {mask:#x} in a cluster of {len(ctas)} CTAs")
    found = []
    for rank in range(len(ctas)):
        if mask >> rank & 1:
            home = rank & ~1 | holder.rank & 1 if paired else rank
            found.append((ctas[rank], ctas[home], offset))
    return found


def _touches(cta: Cta, box: boxes.Box, signals: list[tuple[Cta, Cta, int]]) -> list[Touch]:
    landed = [boxes.touch_shared(target, box, True) for target, _, _ in signals]
    return [*boxes.touch_global(cta, box, False), *landed]


def barriers_of(signals: list[tuple[Cta, Cta, int]]) -> list[MBarrier]:
    """Return the mbarriers that a copy signals."""
    return [holder.barrier(offset) for _, holder, offset in signals]


def _complete_load(cta: Cta, box: boxes.Box, signals: list[tuple[Cta, Cta, int]]) -> None:
    data = boxes.read_global(cta.machine, box)
    barriers: list[MBarrier] = []
    for target, holder, offset in signals:
        for reached in (target, holder):
            alive(reached)
        boxes.write_shared(target, box, data)
        barriers.append(holder.barrier(offset))
    for barrier in barriers:
        barrier.complete_tx(box.tensor_map.box_bytes)


def alive(cta: Cta) -> None:
    """Raise E211 when an asynchronous operation reaches into a CTA that has exited."""
    if cta.exited:
        raise EmulationError("E211", f"an asynchronous operation reaches {cta.where()}")


def _store(d: Decoder, reduction: str) -> Run:
    map_address, coordinates = _source(d, 0)
    source = d.address(d.ops[1])

    def run(g: Group) -> None:
        shared: dict[tuple[int, ...], list[int]] = {}
        for lane in g.lanes.tolist():
            at = [lane_of(c(g), lane) for c in coordinates]
            asked = (lane_of(map_address(g), lane), lane_of(source(g), lane), *at)
            if reduction:
                _submit_store(d, g, asked, [lane], reduction)
            else:
                shared.setdefault(asked, []).append(lane)
        for asked, lanes in shared.items():
            _submit_store(d, g, asked, lanes, reduction)

    return run


def _submit_store(
    d: Decoder, g: Group, asked: tuple[int, ...], lanes: list[int], reduction: str
) -> None:
    """Submit a store's reading step, which submits its writing step.

    Threads that store the same box at once share one store: doing it again changes no value, and
    race detection hears of all of them (E269).
    """
    cta = g.cta
    map_address, source, *at = asked
    owner, offset = g.machine.cta_at(cta, source)
    if owner is not cta:
        raise fault("E231", f"the source is in {owner.where()}, not in the issuing CTA")
    box = boxes.make_box(cta, map_address, at, offset)
    detail = str(box)

    def read() -> None:
        data = boxes.read_shared(cta, box)
        work = partial(boxes.write_global, cta.machine, box, data, reduction)
        writing = AsyncOp("tma_write", cta, work, "tma", detail=detail, instr=d.instr, group=g)
        writing.size = box.size
        transfer.writing = writing
        cta.machine.submit(writing)

    kind = "tma_reduce" if reduction else "tma_store"
    reading = AsyncOp(kind, cta, read, "tma", detail=detail, instr=d.instr, group=g)
    reading.size, reading.lane = box.size, lanes[0]
    reading.lanes = sum(1 << lane for lane in lanes)
    reading.touches = lambda: [
        boxes.touch_shared(cta, box, False),
        *boxes.touch_global(cta, box, True),
    ]
    transfer = Transfer(reading)
    for lane in lanes:
        thread_groups(g.warp, lane).open.append(transfer)
    cta.machine.submit(reading)
