"""How the accumulator leaves tensor memory."""

from __future__ import annotations

from gemmgen.frozen import frozen
from gemmgen.plan.barriers import BarrierPlan, Purpose
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.roles import in_registers, is_persistent, is_specialized
from gemmgen.plan.values import Sum
from gemmgen.spec.model import Spec
from gemmgen.terms import ArriveHow, Dtype, EpilogueKind, Role


@frozen
class NamedBarrier:
    """A ``bar.sync`` among some warps of a CTA; number 0 is that of the whole CTA.

    Attributes:
        name: constant that holds the first number.
        number, count: first number, and how many there are: one a warpgroup of the epilogue.
        threads: that join each.
        what: has happened when it lets them pass.
    """

    name: str
    number: int
    count: int
    threads: int
    what: str


@frozen
class EpiloguePlan:
    """Chunks of the accumulator that pass through registers.

    Attributes:
        chunks: passes over one tile.
        columns: accumulator columns of a chunk.
        register_buffers: chunks held in registers at the same time.
        acc_registers: 32-bit registers a thread for those chunks.
        d_registers: 32-bit registers a thread for one converted chunk.
        store_bytes: bytes of one store to global memory.
        held: the whole converted tile waits in registers until the accumulator has been released.
        group_threads: threads that carry one accumulator.
        by_warpgroup: whole warpgroups beside other warps carry accumulators, so that a thread
            counts from the start of its warpgroup.
        registers: fewest 32-bit registers a thread that accumulator and output take.
        named_barrier: joins the warps that carry one accumulator, or None where nothing needs it or
            they are the whole CTA.
    """

    chunks: int
    columns: int
    register_buffers: int
    acc_registers: int
    d_registers: int
    store_bytes: int
    held: bool
    group_threads: int
    by_warpgroup: bool
    registers: Sum
    named_barrier: NamedBarrier | None


def _registers(chunks: int, columns: int, held: bool, d_registers: int) -> Sum:
    """Values that are live at the same time whatever the compiler does.

    A chunk of the accumulator is converted in place; the compiler may give up a second register
    buffer, so it does not count. Where the converted tile is held until the accumulator has been
    released, the chunks before the last are kept too; else each is stored at once.
    """
    kept = chunks - 1 if held else 0
    text = f"{columns} accumulator"
    total = columns + kept * d_registers
    return Sum(total, f"{text} + {kept} x {d_registers} output" if kept else text)


def _accumulator(spec: Spec, g: Geometry) -> Sum:
    """Registers a thread for an accumulator of a warpgroup, and the tile before it if deferred."""
    held = -(-g.acc_rows * g.tile_n // 128)
    text = f"{g.acc_rows} x {g.tile_n} / 128 accumulator"
    if not spec.epilogue.deferred:
        return Sum(held, text)
    return Sum(held + held // 2, f"{text} + {held // 2} output")


def plan_epilogue(
    spec: Spec, g: Geometry, barriers: tuple[BarrierPlan, ...], threads: int, cta_threads: int
) -> EpiloguePlan:
    """The epilogue of `spec`; `threads` are those of its role, of a CTA's `cta_threads`."""
    chunks = spec.epilogue.chunks
    columns = -(-g.tile_n // chunks)
    dtype: Dtype = spec.problem.d.dtype
    releases = any(
        barrier.purpose is Purpose.ACC_EMPTY
        and any(a.how is ArriveHow.THREAD and a.by is Role.EPILOGUE for a in barrier.arrives)
        for barrier in barriers
    )
    stores = spec.epilogue.kind is EpilogueKind.TMA_STORE
    wgmma = in_registers(spec)
    held = is_persistent(spec) and not stores and is_specialized(spec) and not wgmma
    what = "every epilogue warp has read the accumulator slot"
    if g.consumers > 1:
        what = "every epilogue warp of a consumer has read its accumulator"
    if stores:
        what = "before and after a chunk of D is filled"
    group = -(-threads // g.consumers)
    name = "D_BARRIER" if stores and not wgmma else "EPILOGUE_BARRIER"
    named = NamedBarrier(name, 1, g.consumers, group, what)
    return EpiloguePlan(
        chunks=chunks,
        columns=columns,
        register_buffers=spec.epilogue.register_buffers,
        acc_registers=columns * spec.epilogue.register_buffers,
        d_registers=-(-columns * dtype.nbytes // 4),
        store_bytes=16,
        held=held,
        group_threads=group,
        by_warpgroup=g.consumers > 1
        or (threads < cta_threads and (stores or min(spec.roles.epilogue.warps, default=0) > 0)),
        registers=_accumulator(spec, g)
        if wgmma
        else _registers(chunks, columns, held, -(-columns * dtype.nbytes // 4)),
        named_barrier=named if (releases or stores) and group < cta_threads else None,
    )
