"""What a smallest failing run needs, in words: rings that wrap, tiles, clusters, timings.

A run that fails with another code has not passed, and the words say so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gemmgen.emulate import Settings
from gemmgen.plan import Plan
from gemmgen.run.moves import with_clusters

if TYPE_CHECKING:
    from gemmgen.run.shrink import Point, Shrinker


_FEWER = 8  # numbers of clusters tried, from 1 up, and the one below


def needs(shrinker: Shrinker, point: Point, settings: Settings) -> tuple[str, ...]:
    """Sentences about the smallest failing `point`; what they say passes has been run."""
    return (*sizes(shrinker, point, settings), _timings(shrinker, point, settings))


def sizes(shrinker: Shrinker, point: Point, settings: Settings) -> Iterator[str]:
    """Which sizes pass right below `point`, and which rings must wrap in between."""
    plan = shrinker.plan

    def below(smaller: Callable[[Point], bool]) -> str:
        """The codes other than its own with which smaller points have failed."""
        timing = settings.timing, settings.target
        found = {c for (p, *t), c in shrinker.others.items() if (*t,) == timing and smaller(p)}
        return ", ".join(sorted(found))

    tiles = point.walked if plan.persistent else 1
    if point.tail:
        yield f"K must end inside a k_tile: the last has {point.tail} of {plan.geometry.tile_k}"
    if point.k_tiles > 1 and plan.problem.k_exact is None:
        fewer = below(
            lambda p: (
                p.k_tiles < point.k_tiles and dataclasses.replace(p, k_tiles=point.k_tiles) == point
            )
        )
        yield _k_tiles(plan, point.k_tiles, tiles, fewer)
    if tiles > 1:
        fewer = below(lambda p: p.k_tiles == point.k_tiles and p.walked == tiles - 1)
        yield _tiles(plan, tiles, point.k_tiles, fewer)
    elif point.k_tiles == 1:
        yield "fails in the first k_tile of the first tile: no ring has to wrap"
    if point.clusters > 1:
        yield _clusters(shrinker, point, settings)
    elif not plan.persistent and point.m_tiles * point.n_tiles > 1:
        yield f"needs {point.m_tiles} x {point.n_tiles} tiles, though each has a cluster of its own"


def _clusters(shrinker: Shrinker, point: Point, settings: Settings) -> str:
    """Whether fewer clusters fail too, which is tried with all tiles and with as many a cluster."""
    most = point.clusters - 1
    tried = range(1, min(most, _FEWER) + 1)
    others: dict[int, str] = {}
    for clusters in dict.fromkeys((*tried, most)):
        for fewer in with_clusters(point, clusters):
            code = shrinker.outcome(fewer, settings)
            if code == shrinker.code:
                shape = "x".join(map(str, fewer.shape(shrinker.plan)))
                return f"fails with {_count(clusters)} at a time too, at {shape}"
            if code:
                others.setdefault(clusters, code)
    if others:
        known = ", ".join(f"with {_count(c)} as {code}" for c, code in others.items())
        return f"fails as {shrinker.code} with {_count(point.clusters)} at a time, {known}"
    if most <= _FEWER:
        return f"needs {point.clusters} clusters at a time"
    passing = f"passes with 1 to {_FEWER} and with {most}"
    return f"fails with {point.clusters} clusters at a time, {passing}"


def _count(clusters: int) -> str:
    return "1 cluster" if clusters == 1 else f"{clusters} clusters"


def _passes(what: str, codes: str) -> str:
    return f"passes or fails otherwise ({codes}) {what}" if codes else f"passes {what}"


def _k_tiles(plan: Plan, k_tiles: int, tiles: int, fewer: str) -> str:
    stages = plan.spec.pipeline.ab_stages
    equal = " = ab_stages" if k_tiles - 1 == stages else ""
    text = f"{_passes(f'with k_tiles <= {k_tiles - 1}{equal}', fewer)}, fails with {k_tiles}"
    if tiles > 1:
        return text
    if stages == 1:
        return f"{text}: the one stage is used again"
    return f"{text}: {_wraps('A/B', k_tiles, stages)}"


def _tiles(plan: Plan, tiles: int, k_tiles: int, fewer: str) -> str:
    slots, stages = plan.spec.pipeline.acc_stages, plan.spec.pipeline.ab_stages
    equal = " = acc_stages" if tiles - 1 == slots else ""
    count = "1 tile" if tiles == 2 else f"{tiles - 1} tiles"
    text = f"{_passes(f'with {count} a cluster{equal}', fewer)}, fails with {tiles}"
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
    others: list[str] = []
    for timing in ("lazy", "eager", "random", "pct"):
        tried = dataclasses.replace(settings, timing=timing, target="")
        code = shrinker.outcome(point, tried)
        if code == shrinker.code:
            failing.append(timing)
        elif code:
            others.append(f"{timing} ({code})")
        else:
            passing.append(timing)
    if not passing and not others:
        return f"whatever the timing: {', '.join(failing)} all fail"
    shown = " ".join(filter(None, (settings.timing, settings.target)))
    names = [*failing, shown] if shown not in failing else failing
    text = f"timing matters: fails under {', '.join(names)}"
    if others:
        text += f", otherwise under {', '.join(others)}"
    return f"{text}, passes under {', '.join(passing)}" if passing else text
