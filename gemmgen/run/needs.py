"""What a smallest failing run needs, in words: rings that wrap, tiles, timings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gemmgen.emulate import Settings
from gemmgen.plan import Plan

if TYPE_CHECKING:
    from gemmgen.run.shrink import Point, Shrinker


def needs(shrinker: Shrinker, point: Point, settings: Settings) -> tuple[str, ...]:
    """Sentences about the smallest failing `point`; what they say passes has been run."""
    return (*sizes(shrinker.plan, point), _timings(shrinker, point, settings))


def sizes(plan: Plan, point: Point) -> Iterator[str]:
    """Which sizes pass right below `point`, and which rings must wrap in between."""
    tiles = point.walked if plan.persistent else 1
    if point.tail:
        yield f"K must end inside a k_tile: the last has {point.tail} of {plan.geometry.tile_k}"
    if point.k_tiles > 1 and plan.problem.k_exact is None:
        yield _k_tiles(plan, point.k_tiles, tiles)
    if tiles > 1:
        yield _tiles(plan, tiles, point.k_tiles)
    elif point.k_tiles == 1:
        yield "fails in the first k_tile of the first tile: no ring has to wrap"
    if point.clusters > 1:
        yield f"needs {point.clusters} clusters at a time"
    elif not plan.persistent and point.m_tiles * point.n_tiles > 1:
        yield f"needs {point.m_tiles} x {point.n_tiles} tiles, though each has a cluster of its own"


def _k_tiles(plan: Plan, k_tiles: int, tiles: int) -> str:
    stages = plan.spec.pipeline.ab_stages
    equal = " = ab_stages" if k_tiles - 1 == stages else ""
    text = f"passes with k_tiles <= {k_tiles - 1}{equal}, fails with {k_tiles}"
    if tiles > 1:
        return text
    if stages == 1:
        return f"{text}: the one stage is used again"
    return f"{text}: {_wraps('A/B', k_tiles, stages)}"


def _tiles(plan: Plan, tiles: int, k_tiles: int) -> str:
    slots, stages = plan.spec.pipeline.acc_stages, plan.spec.pipeline.ab_stages
    equal = " = acc_stages" if tiles - 1 == slots else ""
    text = f"passes with {tiles - 1} tiles a cluster{equal}, fails with {tiles}"
    text = text.replace("1 tiles", "1 tile")
    if (tiles - 1) * k_tiles <= stages < tiles * k_tiles:
        return f"{text}: their {tiles * k_tiles} k_tiles wrap the A/B ring of {stages}"
    if tiles <= slots:
        return f"{text}: no ring has to wrap, so something is carried wrongly from tile to tile"
    return f"{text}: {_wraps('accumulator', tiles, slots)}"


def _wraps(name: str, used: int, depth: int) -> str:
    laps = (used - 1) // depth
    if not laps:
        return f"the {name} ring of {depth} need not wrap"
    return f"the {name} ring of {depth} must wrap" + {1: "", 2: " twice"}.get(
        laps, f" {laps} times"
    )


def _timings(shrinker: Shrinker, point: Point, settings: Settings) -> str:
    failing: list[str] = []
    passing: list[str] = []
    for timing in ("lazy", "eager", "random", "pct"):
        case = shrinker.fails(point, dataclasses.replace(settings, timing=timing, target=""))
        (failing if case else passing).append(timing)
    if not passing:
        return f"whatever the timing: {', '.join(failing)} all fail"
    shown = " ".join(filter(None, (settings.timing, settings.target)))
    names = [*failing, shown] if shown not in failing else failing
    return f"timing matters: fails under {', '.join(names)}, passes under {', '.join(passing)}"
