"""What a generated file asserts about its own constants: a hand edit cannot go wrong silently."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.frozen import frozen
from gemmgen.plan.make import Plan
from gemmgen.plan.memory import ring_code
from gemmgen.plan.values import grouped
from gemmgen.terms import MainloopKind, MmaKind, Ring, Swizzle


@frozen
class Assertion:
    """A condition over the module constants, and what it means when it fails."""

    code: str
    message: str


def plan_asserts(plan: Plan) -> tuple[Assertion, ...]:
    """The assertions of the generated file, in the order of the constants that they use."""
    return tuple(_asserts(plan))


def _asserts(plan: Plan) -> Iterator[Assertion]:
    g, size = plan.geometry, plan.a.dtype.nbytes
    swizzle = plan.spec.smem.swizzle
    if g.k_blocks == 1 and plan.spec.mma.kind is MmaKind.TCGEN05:
        yield Assertion("TILE_K == MMA_K", "one MMA a k_tile")
    if swizzle is not Swizzle.NONE:
        span = swizzle.span_bytes
        row = f"{span // size} {plan.a.dtype.value} values"
        several = plan.a.spans > 1
        message = f"the {span}-byte swizzle needs rows of {'a multiple of ' * several}{row}"
        wanted = "TILE_K % AB_SPAN == 0" if several else f"TILE_K * {size} == {span}"
        yield Assertion(wanted, message)
    held = "AB_BYTES // 2" if g.is_pair else "AB_BYTES"
    stages = "" if plan.spec.mainloop.kind is MainloopKind.SERIAL else " * AB_STAGES"
    staged = f" + D_BYTES * {plan.output.buffers_code}" if plan.output else ""
    head = f" + {grouped(plan.smem.head_bytes)}" if plan.smem.head_bytes else ""
    total = f"{held}{stages}{staged}{head} <= {grouped(plan.smem.limit)}"
    words = "the A and B buffers must fit in shared memory"
    yield Assertion(total, "over shared memory" if plan.output else words)
    if plan.tmem is not None:
        slots = f"{ring_code(plan.spec, Ring.ACC)} * " if len(plan.tmem.slots) > 1 else ""
        exact = "TILE_N" in plan.constant("TMEM_COLUMNS").code
        code = f"TMEM_COLUMNS <= {plan.tmem.limit}"
        code = code if exact else f"{slots}TILE_N <= {code}"
        yield Assertion(code, "the accumulator must fit in tensor memory")
