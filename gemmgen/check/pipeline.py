"""Rules between mainloop, stages, scheduler and K."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.check.finding import fault
from gemmgen.plan import Plan
from gemmgen.plan.roles import in_registers, is_specialized
from gemmgen.terms import EpilogueKind, Finding, KExtent, MainloopKind, SchedulerKind


def check_pipeline(plan: Plan) -> Iterator[Finding]:
    """P260 to P264: depths that the mainloop, the scheduler and the epilogue use."""
    yield from _staged_output(plan)
    spec = plan.spec
    stages, kind = spec.pipeline.ab_stages, spec.mainloop.kind
    group = "group_m" if spec.scheduler.group_m is not None else "group_n"
    if kind is MainloopKind.SERIAL and stages > 1:
        yield fault(
            "P260",
            "a serial mainloop has one stage",
            "pipeline.ab_stages",
            f"{stages} stages, of which only the first would be used",
            help='write `ab_stages = 1`, or `mainloop.kind = "prefetch"`',
        )
    if kind is MainloopKind.PREFETCH and stages < 2:
        yield fault(
            "P260",
            "a prefetch mainloop needs at least two stages",
            "pipeline.ab_stages",
            help='write `ab_stages = 2`, or `mainloop.kind = "serial"`',
        )
    if spec.pipeline.acc_stages > 1 and not plan.persistent:
        yield fault(
            "P261",
            "a CTA that computes one tile has one accumulator",
            "pipeline.acc_stages",
            help='write `acc_stages = 1`, or `scheduler.kind = "persistent"`',
        )
    elif spec.pipeline.acc_stages > 1 and not is_specialized(spec):
        yield fault(
            "P261",
            "a CTA that computes and writes back in turn has one accumulator",
            "pipeline.acc_stages",
            help='write `acc_stages = 1`, or `mainloop.kind = "warp_specialized"`',
        )
    if spec.problem.k_extent is KExtent.ONE_STEP and (
        stages > 1 or kind is not MainloopKind.SERIAL
    ):
        yield fault(
            "P262",
            "a kernel whose K is one step has nothing to pipeline",
            "problem.k_extent",
            help='write `k_extent = "any"`, or a serial mainloop with one stage',
        )
    if spec.scheduler.group_m is not None and spec.scheduler.group_n is not None:
        yield fault(
            "P263",
            "tiles are walked in groups of rows or of columns",
            "scheduler.group_n",
            help="remove one of `group_m` and `group_n`",
        )
    if plan.walk.grouped and spec.scheduler.kind is SchedulerKind.SINGLE:
        yield fault(
            "P263",
            "a single tile has no order to group",
            f"scheduler.{group}",
            help=f"remove `{group}`",
        )


def _staged_output(plan: Plan) -> Iterator[Finding]:
    """A TMA store leaves from shared memory, and a tile fills each staged chunk equally often."""
    epilogue, key = plan.spec.epilogue, "epilogue.d_stages"
    if epilogue.kind is not EpilogueKind.TMA_STORE:
        if epilogue.d_stages is not None:
            yield fault(
                "P264",
                "only TMA stores stage D in shared memory",
                key,
                help='remove `d_stages`, or write `kind = "tma_store"`',
            )
    elif epilogue.d_stages is None:
        yield fault(
            "P264",
            "TMA stores need staged chunks of D",
            "epilogue.kind",
            help=f"write `d_stages = {min(2, epilogue.chunks)}`",
        )
    elif epilogue.chunks % epilogue.d_stages and not in_registers(plan.spec):
        yield fault(
            "P264",
            "the staged chunks do not divide the chunks of a tile",
            key,
            f"{epilogue.chunks} chunks / {epilogue.d_stages} staged",
            help="take a divisor of `chunks`, so that a tile starts where the one before did",
        )
