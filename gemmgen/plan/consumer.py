"""How a warp knows which consumer's accumulators it works on."""

from __future__ import annotations

from gemmgen.frozen import frozen
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.roles import in_registers, is_persistent
from gemmgen.spec.model import Spec


@frozen
class ConsumerPlan:
    """Expressions over ``warp_idx``, ``consumer`` and the module constants.

    Attributes:
        at_setup: one expression serves every warp, as the epilogue's warps come first and then
            those of mma, and no warp has both roles; else each role counts its own warps.
        of_mma, of_epilogue: number of the consumer of a warp of that role.
        first_slot: first of the consumer's accumulators, which follow each other.
        d_row: row of the CTA's tile that a thread of the epilogue has.
    """

    at_setup: bool
    of_mma: str
    of_epilogue: str
    first_slot: str
    d_row: str


def plan_consumer(spec: Spec, g: Geometry) -> ConsumerPlan | None:
    """The consumers of `spec`; None where there is one, or where wgmma gives it its own registers.

    Warps are told apart by position: those of mma follow each other, and so do the warpgroups of
    the epilogue (P233, P236).
    """
    if g.consumers == 1 or in_registers(spec):
        return None
    mma, epilogue = (min(role.warps, default=0) for role in (spec.roles.mma, spec.roles.epilogue))
    of_mma = "warp_idx - MMA_WARP" if mma else "warp_idx"
    last = max(spec.roles.epilogue.warps, default=0)
    many = spec.pipeline.acc_stages > 1
    return ConsumerPlan(
        at_setup=is_persistent(spec) and epilogue == 0 and mma > last,
        of_mma=of_mma,
        of_epilogue="(warp_idx - EPILOGUE_WARP) // 4" if epilogue else "warp_idx // 4",
        first_slot="consumer * ACC_STAGES" if many else "consumer",
        d_row="thread_idx - 32 * EPILOGUE_WARP" if epilogue else "thread_idx",
    )
