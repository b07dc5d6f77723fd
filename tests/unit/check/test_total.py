"""Whatever the loader accepts, the plan and the checks answer."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from variants import SPECS, vary

from gemmgen.check import check_plan
from gemmgen.plan import default_shapes, describe
from gemmgen.spec.model import Spec
from gemmgen.terms import (
    Arch,
    ArriveHow,
    ArriveTo,
    Dtype,
    EpilogueKind,
    KExtent,
    LoadKind,
    MainloopKind,
    MmaKind,
    Operand,
    Ring,
    Role,
    SchedulerKind,
    Swizzle,
)

NAMES = sorted(path.stem for path in SPECS.glob("v*.toml"))


def one_of(kind: Any) -> st.SearchStrategy[str]:
    return st.sampled_from([member.value for member in kind])


def some_of(kind: Any) -> st.SearchStrategy[list[str]]:
    return st.lists(one_of(kind), unique=True, max_size=3)


EXTENT = st.sampled_from([1, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 320, 512, 4096])
WARPS = st.lists(st.integers(0, 31), unique=True, max_size=12).map(sorted)
CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "arch": one_of(Arch),
    "problem.a.dtype": one_of(Dtype),
    "problem.b.dtype": one_of(Dtype),
    "problem.d.dtype": one_of(Dtype),
    "problem.a.major": st.sampled_from(["m", "k"]),
    "problem.acc_dtype": one_of(Dtype),
    "problem.k_extent": one_of(KExtent),
    "tile.m": EXTENT,
    "tile.n": EXTENT,
    "tile.k": EXTENT,
    "mma.kind": one_of(MmaKind),
    "mma.m": EXTENT,
    "mma.n": EXTENT,
    "mma.k": EXTENT,
    "mma.cta_group": st.sampled_from([1, 2]),
    "cluster.m": st.integers(1, 16),
    "cluster.n": st.integers(1, 16),
    "smem.swizzle": one_of(Swizzle),
    "load.kind": one_of(LoadKind),
    "load.multicast": some_of(Operand),
    "pipeline.ab_stages": st.sampled_from([1, 2, 3, 6, 64]),
    "pipeline.acc_stages": st.sampled_from([1, 2, 3, 16]),
    "mainloop.kind": one_of(MainloopKind),
    "roles.producer.warps": WARPS,
    "roles.mma.warps": WARPS,
    "roles.epilogue.warps": WARPS,
    "barriers.ab_full.ring": one_of(Ring),
    "barriers.ab_full.wait": some_of(Role),
    "barriers.ab_full.arrive.0.how": one_of(ArriveHow),
    "barriers.ab_full.arrive.0.to": one_of(ArriveTo),
    "barriers.ab_full.arrive.0.by": one_of(Role),
    "barriers.ab_full.pre_armed": st.booleans(),
    "barriers.ab_full": st.none(),
    "scheduler.kind": one_of(SchedulerKind),
    "scheduler.group_m": st.sampled_from([1, 3, 8, 1024]),
    "epilogue.kind": one_of(EpilogueKind),
    "epilogue.chunks": st.sampled_from([1, 2, 3, 4, 64]),
    "epilogue.register_buffers": st.sampled_from([1, 2]),
}
SOME = st.lists(st.sampled_from(sorted(CHANGES)), max_size=6, unique=True).flatmap(
    lambda keys: st.fixed_dictionaries({key: CHANGES[key] for key in sorted(keys, reverse=True)})
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(NAMES), changes=SOME)
def test_no_spec_crashes_plan_or_check(name: str, changes: dict[str, Any]) -> None:
    try:
        plan = vary(name, changes)
    except (ValueError, StopIteration):  # the loader refuses it, or the barrier is gone
        return
    assert isinstance(plan.spec, Spec)
    for finding in check_plan(plan):
        assert finding.code.startswith("P2")
        assert finding.help
    assert describe(plan).startswith(plan.name)
    assert default_shapes(plan, 4)
