"""Which schedules to explore: timing policies turned over problem sizes, small ones first."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from gemmgen.emulate import Settings
from gemmgen.plan import Plan, default_shapes
from gemmgen.records import Triple
from gemmgen.terms import (
    EpilogueKind,
    Finding,
    GemmgenError,
    LoadKind,
    MmaKind,
    SchedulerKind,
)

POLICIES = ("eager", "lazy", "random", "pct", "starve", "delay")
DEFAULT_SM_COUNT = 8

# These two have one schedule a shape, whatever the seed; once used up, others take their turns.
_INSTEAD = {"eager": "random", "lazy": "pct"}


@dataclass(frozen=True)
class Schedule:
    """One run to make.

    Attributes:
        index: place in the exploration, from 0.
        shape: (M, N, K) in elements.
        settings: timing, target, seed and SM count; the seed also makes the inputs.
    """

    index: int
    shape: Triple
    settings: Settings


def starved_kinds(plan: Plan) -> tuple[str, ...]:
    """The kinds of asynchronous work that a kernel of this plan submits."""
    kinds = ["tma_load"] if plan.spec.load.kind is LoadKind.TMA else []
    kinds += ["wgmma"] if plan.spec.mma.kind is MmaKind.WGMMA else ["mma", "commit"]
    if plan.spec.epilogue.kind is EpilogueKind.TMA_STORE:
        kinds += ["tma_store", "tma_write"]
    if plan.spec.scheduler.kind is SchedulerKind.CLC:
        kinds.append("clc")
    return tuple(kinds)


def delayed(plan: Plan) -> tuple[str, ...]:
    """What can be late: each CTA of a cluster of several, and each of its warps."""
    ranks = range(plan.geometry.cluster_size)
    whole = [str(rank) for rank in ranks] if len(ranks) > 1 else []
    return (*whole, *(f"{rank}.{warp}" for rank in ranks for warp in range(plan.threads // 32)))


def check_target(plan: Plan, settings: Settings) -> None:
    """Raise GemmgenError T420 when `settings.target` names nothing that this plan has."""
    target = settings.target
    if not target:
        return
    if settings.timing == "starve":
        wrong, choices = set(target.split(",")) - set(starved_kinds(plan)), starved_kinds(plan)
    elif settings.timing == "delay":
        every = (*map(str, range(plan.geometry.cluster_size)), *delayed(plan))
        wrong, choices = {target} - set(every), (every[0], "…", every[-1])
    else:
        wrong, choices = {target}, ()
    if wrong:
        what = f"timing {settings.timing} takes no target" if not choices else "it has none such"
        title = f"target {target} means nothing to {plan.name}: {what}"
        way = f"one of {', '.join(choices)}" if choices else "leave --target out"
        raise GemmgenError([Finding("T420", title, help=way)])


def problems(
    plan: Plan, sm_count: int, shapes: tuple[Triple, ...] = ()
) -> tuple[tuple[Triple, int], ...]:
    """(shape, SM count) pairs, smallest first.

    `shapes`, or the plan's default shapes at `sm_count` and, for a persistent kernel, those of a
    device that holds one cluster, which walks over every tile: few tiles then wrap every ring.
    """
    one = plan.geometry.cluster_size
    counts = sorted({sm_count, min(sm_count, one)}) if plan.persistent else [sm_count]
    pairs: dict[tuple[Triple, int], None] = {}
    for count in counts:
        found = shapes or tuple((s.m, s.n, s.k) for s in default_shapes(plan, count))
        for shape in found:
            tiles = shape[0] * shape[1] // (plan.geometry.tile_m * plan.geometry.tile_n)
            pairs.setdefault((shape, count if tiles > one else counts[0]))
    return tuple(sorted(pairs, key=lambda pair: (pair[0][0] * pair[0][1], pair[0][2], pair[1])))


def plan_schedules(
    plan: Plan,
    count: int,
    *,
    seed: int = 0,
    sm_count: int = DEFAULT_SM_COUNT,
    shapes: tuple[Triple, ...] = (),
    races: bool = True,
) -> tuple[Schedule, ...]:
    """`count` schedules over policies, their targets and problem sizes.

    Equal arguments give equal schedules. Schedule i has seed ``seed + i``. Every policy meets every
    size when `count` allows it, and sizes spread from small to large when it does not.
    """
    pairs = problems(plan, sm_count, shapes)
    targets = {"starve": starved_kinds(plan), "delay": delayed(plan)}
    rounds = -(-count // len(POLICIES))
    out = []
    for index in range(count):
        turn, place = divmod(index, len(POLICIES))
        policy = POLICIES[place]
        if turn >= len(pairs):
            policy = _INSTEAD.get(policy, policy)
        at = turn % len(pairs) if rounds > len(pairs) else (turn + 1) * len(pairs) // rounds - 1
        choices = targets.get(policy, ("",))
        target = choices[(turn + turn // len(pairs)) % len(choices)]
        shape, sms = pairs[at]
        settings = Settings(policy, seed + index, target, sm_count=sms, races=races)
        out.append(Schedule(index, shape, settings))
    return tuple(out)


def command_line(path: Path | str, shape: Triple, settings: Settings) -> str:
    """The `gemmgen test` command that runs one schedule again."""
    words = ["gemmgen", "test", str(path), "--shape", ",".join(map(str, shape))]
    words += ["--timing", settings.timing]
    if settings.target:
        words += ["--target", settings.target]
    words += ["--seed", str(settings.seed)]
    if settings.sm_count != DEFAULT_SM_COUNT:
        words += ["--sm-count", str(settings.sm_count)]
    if not settings.races:
        words += ["--no-races"]
    return shlex.join(words)
