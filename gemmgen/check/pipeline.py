"""Rules between mainloop, stages, scheduler and K."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.check.finding import fault
from gemmgen.plan import Plan
from gemmgen.terms import Finding, KExtent, MainloopKind, SchedulerKind


def check_pipeline(plan: Plan) -> Iterator[Finding]:
    """P260 to P263: depths that the mainloop and the scheduler use."""
    spec = plan.spec
    stages, kind = spec.pipeline.ab_stages, spec.mainloop.kind
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
    if spec.problem.k_extent is KExtent.ONE_STEP and (
        stages > 1 or kind is not MainloopKind.SERIAL
    ):
        yield fault(
            "P262",
            "a kernel whose K is one step has nothing to pipeline",
            "problem.k_extent",
            help='write `k_extent = "any"`, or a serial mainloop with one stage',
        )
    if spec.scheduler.group_m is not None and spec.scheduler.kind is SchedulerKind.SINGLE:
        yield fault(
            "P263",
            "a single tile has no order to group",
            "scheduler.group_m",
            help="remove `group_m`",
        )
