"""How the accumulator leaves tensor memory."""

from __future__ import annotations

from dataclasses import dataclass

from gemmgen.plan.barriers import BarrierPlan, Purpose
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.roles import is_persistent
from gemmgen.plan.values import Sum
from gemmgen.spec.model import Spec
from gemmgen.terms import ArriveHow, Dtype, Role


@dataclass(frozen=True)
class NamedBarrier:
    """A ``bar.sync`` among some warps of a CTA; number 0 is that of the whole CTA."""

    name: str
    number: int
    threads: int
    what: str


@dataclass(frozen=True)
class EpiloguePlan:
    """Chunks of the accumulator that pass through registers.

    Attributes:
        chunks: passes over one tile.
        columns: accumulator columns of a chunk.
        register_buffers: chunks held in registers at the same time.
        acc_registers: 32-bit registers a thread for those chunks.
        d_registers: 32-bit registers a thread for one converted chunk.
        store_bytes: bytes of one store to global memory.
        registers: fewest 32-bit registers a thread that accumulator and output take.
        named_barrier: joins the epilogue warps before one thread releases an accumulator slot, or
            None.
    """

    chunks: int
    columns: int
    register_buffers: int
    acc_registers: int
    d_registers: int
    store_bytes: int
    registers: Sum
    named_barrier: NamedBarrier | None


def _registers(chunks: int, columns: int, spec: Spec, d_registers: int) -> Sum:
    """Values that are live at the same time whatever the compiler does.

    A chunk of the accumulator is converted in place; the compiler may give up a second register
    buffer, so it does not count. A persistent kernel keeps the converted chunks until it has
    released the accumulator slot; a kernel of one tile stores each at once.
    """
    kept = chunks - 1 if is_persistent(spec) else 0
    text = f"{columns} accumulator"
    total = columns + kept * d_registers
    return Sum(total, f"{text} + {kept} x {d_registers} output" if kept else text)


def plan_epilogue(
    spec: Spec, g: Geometry, barriers: tuple[BarrierPlan, ...], threads: int
) -> EpiloguePlan:
    """The epilogue of `spec`; `threads` are those of the epilogue role."""
    chunks = spec.epilogue.chunks
    columns = -(-g.tile_n // chunks)
    dtype: Dtype = spec.problem.d.dtype
    releases = any(
        barrier.purpose is Purpose.ACC_EMPTY
        and any(a.how is ArriveHow.THREAD and a.by is Role.EPILOGUE for a in barrier.arrives)
        for barrier in barriers
    )
    what = "every epilogue warp has read the accumulator slot"
    return EpiloguePlan(
        chunks=chunks,
        columns=columns,
        register_buffers=spec.epilogue.register_buffers,
        acc_registers=columns * spec.epilogue.register_buffers,
        d_registers=-(-columns * dtype.nbytes // 4),
        store_bytes=16,
        registers=_registers(chunks, columns, spec, -(-columns * dtype.nbytes // 4)),
        named_barrier=NamedBarrier("EPILOGUE_BARRIER", 1, threads, what) if releases else None,
    )
