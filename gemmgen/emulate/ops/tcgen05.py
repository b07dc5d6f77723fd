"""tcgen05.mma and tcgen05.commit.

PTX ISA "tcgen05.mma", "tcgen05.commit". MMAs of a CTA (or of a CTA pair) complete in the order of
issue; each reads its operands from shared memory and updates Tensor Memory when it completes. A
commit arrives on its mbarrier after all MMAs that the same thread issued before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.asyncops import AsyncOp, Touch
from gemmgen.emulate.decode import Decoder, Run, op
from gemmgen.emulate.lanes import Value, lane_of
from gemmgen.emulate.machine import Cta, Group
from gemmgen.emulate.mbarrier import MBarrier
from gemmgen.emulate.ops.operands import operand_at, read_chunks, read_operands
from gemmgen.emulate.ops.tma import alive
from gemmgen.emulate.ops.tmem import agree, cta_group, peer_of, tensor_memory
from gemmgen.emulate.ptx import Addr, Imm, Vec
from gemmgen.emulate.tensor.deferred import defer
from gemmgen.emulate.tensor.descriptor import decode_tcgen05
from gemmgen.emulate.tensor.faults import fault
from gemmgen.emulate.tensor.instruction import K_BYTES, MmaShape, decode_instruction
from gemmgen.emulate.tensor.layout import accumulator_columns
from gemmgen.emulate.tensor.mma import (
    mark_accumulator,
    multiply,
    read_tmem_operand,
    update_accumulator,
)

Read = Callable[[Group], Value]
_KINDS = ("f16", "tf32", "f8f6f4", "i8")
_COLLECTOR = tuple(
    f"collector::a::{use}" for use in ("fill", "use", "lastuse", "discard")
)  # a hint for operand reuse
_LAST_MMA = "tcgen05_last"
_NO_WARP = 1 << 30  # reads like no warp of the CTA, so every warp's stores count


@dataclass(frozen=True, slots=True)
class Mma:
    """One issued MMA: the CTAs that take part (even rank first) and its operands."""

    ctas: tuple[Cta, ...]
    shape: MmaShape
    group: int
    d: int
    a: int
    a_in_tmem: bool
    b: int
    accumulate: bool
    disabled: int
    scale: int

    @property
    def columns(self) -> slice:
        first = self.d & 0xFFFF
        return slice(first, first + accumulator_columns(self.shape.m, self.shape.n, self.group))

    def __str__(self) -> str:
        s = self.shape
        return f"{s.m}x{s.n} {s.a} into tensor memory column {self.d & 0xFFFF}"


@op("tcgen05.mma")
def mma(d: Decoder) -> Run:
    """Issue one MMA for each active thread."""
    d.allow("cta_group::1", "cta_group::2", *(f"kind::{k}" for k in _KINDS), *_COLLECTOR)
    kind = next((k for k in _KINDS if d.has(f"kind::{k}")), "")
    group = cta_group(d)
    in_tmem = isinstance(d.ops[1], Addr)
    d_at, a_at = d.address(d.ops[0]), d.address(d.ops[1]) if in_tmem else d.read(d.ops[1], 64)
    b_at, descriptor = d.read(d.ops[2], 64), d.read(d.ops[3])
    rest = list(d.ops[4:])
    masks = [d.read(m) for m in d.items(rest.pop(0))] if isinstance(rest[0], Vec) else []
    accumulate = d.read(rest[0], 1)
    scale = rest[1].value if len(rest) > 1 and isinstance(rest[1], Imm) else 0

    def run(g: Group) -> None:
        agree(g.cta, group)
        for lane in g.lanes.tolist():
            disabled = sum(lane_of(m(g), lane) << 32 * i for i, m in enumerate(masks))
            issued = Mma(
                ctas=_participants(g.cta, group),
                shape=decode_instruction(lane_of(descriptor(g), lane), kind, group),
                group=group,
                d=lane_of(d_at(g), lane),
                a=lane_of(a_at(g), lane),
                a_in_tmem=in_tmem,
                b=lane_of(b_at(g), lane),
                accumulate=bool(lane_of(accumulate(g), lane)),
                disabled=disabled,
                scale=scale,
            )
            _issue(d, g, lane, issued)

    return run


def _participants(cta: Cta, group: int) -> tuple[Cta, ...]:
    if group == 1:
        return (cta,)
    peer = peer_of(cta)
    alive(peer)
    return (cta, peer) if cta.rank < peer.rank else (peer, cta)


def _queue(ctas: tuple[Cta, ...]) -> tuple[str, int, int]:
    return ("mma", ctas[0].cluster.index, ctas[0].rank)


def _issue(d: Decoder, g: Group, lane: int, issued: Mma) -> None:
    _check(issued)
    for cta in issued.ctas:
        tensor_memory(cta).pending[issued.columns] += 1
    work = partial(_complete, issued)
    queue = _queue(issued.ctas)
    operation = AsyncOp("mma", g.cta, work, "mma", queue, str(issued), instr=d.instr, group=g)
    operation.size = issued.shape.m * issued.shape.n * K_BYTES // len(issued.ctas)
    operation.lane, operation.touches = lane, partial(_touches, issued)
    g.warp.ext.setdefault(_LAST_MMA, {})[lane] = operation
    g.machine.submit(operation)


def _touches(issued: Mma) -> list[Touch]:
    """Return what an MMA touches; rings make the same ones come again and again."""
    known: dict[object, list[Touch]] = issued.ctas[0].ext.setdefault("mma_touches", {})
    key = (issued.a, issued.b, issued.d, issued.shape)
    found = known.get(key)
    if found is None:
        found = known[key] = _find_touches(issued)
    return found


def _find_touches(issued: Mma) -> list[Touch]:
    shape, group = issued.shape, issued.group
    found = []
    for cta in issued.ctas:
        found.append(Touch("tmem", cta, True, issued.columns))
        at = decode_tcgen05(issued.b)
        chunks, _, _ = operand_at(cta, at, "B", shape.n // group, shape.b_mn_major, shape.b)
        if issued.a_in_tmem:
            column = issued.a & 0xFFFF
            found.append(Touch("tmem", cta, False, slice(column, column + K_BYTES // 4)))
        else:
            at = decode_tcgen05(issued.a)
            a, _, _ = operand_at(cta, at, "A", shape.m // group, shape.a_mn_major, shape.a)
            chunks = np.concatenate((a, chunks), axis=None)
        found.append(Touch("shared", cta, False, chunks.ravel()))
    return found


def _check(issued: Mma) -> None:
    """Raise E234, E236, E242, E249 when the MMA cannot be carried out."""
    shape, group = issued.shape, issued.group
    lane = issued.d >> 16
    if lane not in ((0, 16) if group == 1 and shape.m == 64 else (0,)):
        raise fault("E249", f"accumulator address {issued.d:#x}: lane {lane} with M = {shape.m}")
    columns = issued.columns
    for cta in issued.ctas:
        memory = tensor_memory(cta)
        width = columns.stop - columns.start
        memory.check_owned(columns.start, width, "tcgen05.mma's D")
        memory.check_waited(columns.start, width, "tcgen05.mma's D")
        if issued.a_in_tmem:
            memory.check_owned(issued.a & 0xFFFF, K_BYTES // 4, "tcgen05.mma's A")
            memory.check_waited(issued.a & 0xFFFF, K_BYTES // 4, "tcgen05.mma's A", _NO_WARP)
        else:
            a = decode_tcgen05(issued.a)
            operand_at(cta, a, "A", shape.m // group, shape.a_mn_major, shape.a)
        b = decode_tcgen05(issued.b)
        operand_at(cta, b, "B", shape.n // group, shape.b_mn_major, shape.b)


def _complete(issued: Mma) -> None:
    shape = issued.shape
    for cta in issued.ctas:
        alive(cta)
    if _put_off(issued):
        return
    b = read_operands(issued.ctas, decode_tcgen05(issued.b), "B", shape, issued.group)
    if issued.a_in_tmem:
        a = [_a_from_tmem(cta, issued) for cta in issued.ctas]
    else:
        a = read_operands(issued.ctas, decode_tcgen05(issued.a), "A", shape, issued.group)
    products = multiply(shape, a, b)
    for index, (cta, product) in enumerate(zip(issued.ctas, products, strict=True)):
        memory = tensor_memory(cta)
        columns = issued.columns
        if issued.accumulate:
            _check_accumulator(cta, issued)
        update_accumulator(
            memory, issued.d, shape, issued.group, product, issued.accumulate,
            issued.disabled >> 128 * index & (1 << 128) - 1, issued.scale,
        )  # fmt: skip
        memory.pending[columns] -= 1


def _put_off(issued: Mma) -> bool:
    """Take the operands of a plain MMA and put its arithmetic off (`tensor/deferred.py`)."""
    shape = issued.shape
    special = issued.a_in_tmem or issued.disabled or issued.scale or shape.d != "f32"
    if special or shape.a_mn_major or shape.b_mn_major:
        return False
    a, b = (
        read_chunks(issued.ctas, decode_tcgen05(at), name, shape, issued.group)
        for at, name in ((issued.a, "A"), (issued.b, "B"))
    )
    memories = [tensor_memory(cta) for cta in issued.ctas]
    for cta, memory in zip(issued.ctas, memories, strict=True):
        if issued.accumulate:
            _check_accumulator(cta, issued)
        else:
            mark_accumulator(memory, issued.d, shape, issued.group)
        memory.pending[issued.columns] -= 1
    defer(memories, issued.d, shape, issued.group, issued.accumulate, a, b)
    return True


def _check_accumulator(cta: Cta, issued: Mma) -> None:
    columns = issued.columns
    memory = tensor_memory(cta)
    width = columns.stop - columns.start
    what = "accumulating tcgen05.mma"
    if issued.group == 1 and issued.shape.m == 64:
        for quarter in range(4):
            lane = 32 * quarter + (issued.d >> 16)
            memory.check_written(lane, 16, columns.start, width, what)
    else:
        memory.check_written(0, 128, columns.start, width, what)


def _a_from_tmem(cta: Cta, issued: Mma) -> NDArray[np.float32]:
    memory = tensor_memory(cta)
    column, rows = issued.a & 0xFFFF, issued.shape.m // issued.group
    memory.check_written(0, 128 if rows == 128 else 16, column, K_BYTES // 4, "tcgen05.mma's A")
    return read_tmem_operand(memory, column, rows, K_BYTES, issued.shape.a)


@op("tcgen05.commit")
def commit(d: Decoder) -> Run:
    """Arrive on an mbarrier (of each CTA in the mask) when the thread's MMAs have completed."""
    d.allow(
        "cta_group::1", "cta_group::2", "mbarrier::arrive::one", "shared::cluster",
        "multicast::cluster", "b64",
    )  # fmt: skip
    address = d.address(d.ops[0])
    mask = d.read(d.ops[1], 16) if d.has("multicast::cluster") else None
    group = cta_group(d)

    def run(g: Group) -> None:
        agree(g.cta, group)
        for lane in g.lanes.tolist():
            ranks = None if mask is None else lane_of(mask(g), lane)
            targets = _targets(g.cta, lane_of(address(g), lane), ranks)
            last: AsyncOp | None = g.warp.ext.get(_LAST_MMA, {}).get(lane)
            ordered = last is not None and not last.done
            queue = _queue(_participants(g.cta, group)) if ordered else None
            detail = ", ".join(t.barrier(offset).label for t, offset in targets)
            work = partial(_arrive, targets)
            commit = AsyncOp("commit", g.cta, work, "mma", queue, detail, instr=d.instr, group=g)
            commit.signals = targets[0][0].barrier(targets[0][1]).label
            commit.lane = lane
            commit.barriers = partial(_barriers, targets)
            g.machine.submit(commit)

    return run


def _targets(cta: Cta, address: int, mask: int | None) -> list[tuple[Cta, int]]:
    holder, offset = cta.machine.cta_at(cta, address)
    if mask is None:
        return [(holder, offset)]
    ctas = cta.cluster.ctas
    if mask == 0 or mask >> len(ctas):
        raise fault("E249", f"multicast mask {mask:#x} in a cluster of {len(ctas)} CTAs")
    return [(target, offset) for rank, target in enumerate(ctas) if mask >> rank & 1]


def _barriers(targets: list[tuple[Cta, int]]) -> list[MBarrier]:
    return [target.barrier(offset) for target, offset in targets]


def _arrive(targets: list[tuple[Cta, int]]) -> None:
    for target, offset in targets:
        alive(target)
        target.barrier(offset).arrive(1)
