"""From a failing run to the smallest one that still fails, and what it takes to fail."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass

from gemmgen.emulate import Settings
from gemmgen.plan import Plan, grid
from gemmgen.records import CaseRecord, ShrinkRecord, Triple
from gemmgen.run.moves import joint
from gemmgen.run.needs import needs
from gemmgen.run.schedules import command_line
from gemmgen.run.trial import Trial, failure_code

SIMPLEST = ("lazy", "eager", "random", "pct")
ATTEMPTS = 6  # seeds tried before a run of a seeded policy counts as passing
_SCANNED = 24  # values tried one by one, from 1 up; beyond them, by bisection

Key = tuple["Point", str, str]


@dataclass(frozen=True)
class Point:
    """A run in units of the plan: tiles of a cluster along M and N, k_tiles, resident clusters.

    `tail` is what the last k_tile has of K; 0 for all of it.
    """

    m_tiles: int
    n_tiles: int
    k_tiles: int
    clusters: int
    tail: int = 0

    def shape(self, plan: Plan) -> Triple:
        """(M, N, K) in elements."""
        step = plan.geometry.tile_k
        k = self.k_tiles * step - (step - self.tail if self.tail else 0)
        g = plan.geometry
        if plan.problem.k_exact is not None:
            k = plan.problem.k_exact
        return self.m_tiles * g.cluster_tile_m, self.n_tiles * g.cluster_tile_n, k

    @property
    def walked(self) -> int:
        """Tiles that the busiest cluster of a persistent kernel walks over."""
        return -(-self.m_tiles * self.n_tiles // self.clusters)


def point_of(plan: Plan, shape: Triple, sm_count: int) -> Point:
    """The point of a shape that satisfies the plan's rules."""
    m, n, k = shape
    step = plan.geometry.tile_k
    m_tiles, n_tiles = -(-m // plan.geometry.cluster_tile_m), -(-n // plan.geometry.cluster_tile_n)
    clusters = max(1, sm_count // plan.geometry.cluster_size)
    return Point(m_tiles, n_tiles, -(-k // step), min(clusters, m_tiles * n_tiles), k % step)


class Shrinker:
    """Looks for smaller failures of one kind.

    Args:
        code: the failure's code; other failures do not count, but `others` keeps their codes.
        seconds: of looking; afterwards nothing more counts as failing.
    """

    def __init__(self, trial: Trial, code: str, seconds: float) -> None:
        self.trial = trial
        self.plan = trial.subject.plan
        self.code = code
        self.deadline = time.perf_counter() + seconds
        self.runs = 0
        self.known: dict[Key, CaseRecord | None] = {}
        self.others: dict[Key, str] = {}

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() > self.deadline

    def fails(self, point: Point, settings: Settings) -> CaseRecord | None:
        """A failing run of `point` under the policy of `settings`; None when no seed fails."""
        key = (point, settings.timing, settings.target)
        if key not in self.known:
            self.known[key] = None if self.late else self._search(point, settings)
        return self.known[key]

    def outcome(self, point: Point, settings: Settings) -> str:
        """The code with which `point` fails; empty when it passes."""
        if self.fails(point, settings):
            return self.code
        return self.others.get((point, settings.timing, settings.target), "")

    def _search(self, point: Point, settings: Settings) -> CaseRecord | None:
        sm_count = point.clusters * self.plan.geometry.cluster_size
        if not self.plan.persistent and point.clusters == point.m_tiles * point.n_tiles:
            sm_count = max(sm_count, settings.sm_count)  # all of them are resident either way
        fixed = settings.timing in ("lazy", "eager")
        others = () if fixed else range(ATTEMPTS)
        for seed in dict.fromkeys((settings.seed, *others)):
            self.runs += 1
            tried = dataclasses.replace(settings, seed=seed, sm_count=sm_count)
            case = self.trial.run(point.shape(self.plan), tried)
            code = failure_code(case) if case.status == "failed" else ""
            if code == self.code:
                return case
            if code:
                self.others.setdefault((point, settings.timing, settings.target), code)
            if self.late:
                break
        return None

    def smaller(self, point: Point, settings: Settings) -> Point:
        """The point with each coordinate as low as it goes, one after the other, and then the
        first that fails of those lower in several at once (`gemmgen.run.moves`).
        """
        if point.tail and self.fails(whole := dataclasses.replace(point, tail=0), settings):
            point = whole
        if self.plan.problem.k_exact is not None:
            names: tuple[str, ...] = ("clusters", "n_tiles", "m_tiles")
        else:
            names = ("clusters", "n_tiles", "m_tiles", "k_tiles")
        for name in names:

            def failing(value: int, name: str = name, base: Point = point) -> bool:
                return self.fails(self._with(base, name, value), settings) is not None

            value = lowest(getattr(point, name), failing)
            point = self._with(point, name, value)
        fixed = self.plan.problem.k_exact is not None
        several = joint(point, k_fixed=fixed)
        return next((moved for moved in several if self.fails(moved, settings)), point)

    def _with(self, point: Point, name: str, value: int) -> Point:
        moved = dataclasses.replace(point, **{name: value})
        return dataclasses.replace(
            moved, clusters=min(moved.clusters, moved.m_tiles * moved.n_tiles)
        )

    def simpler(self, point: Point, settings: Settings) -> Settings:
        """The first of the simple timings that still fails."""
        for timing in SIMPLEST:
            if timing == settings.timing:
                break
            case = self.fails(point, dataclasses.replace(settings, timing=timing, target=""))
            if case is not None:
                return dataclasses.replace(settings, timing=timing, target="", seed=case.seed)
        return settings


def lowest(value: int, failing: Callable[[int], bool]) -> int:
    """The lowest failing number up to `value`, which fails.

    The small ones are tried one by one; beyond, by bisection. The number below it passes.
    """
    for small in range(1, min(value, _SCANNED + 1)):
        if failing(small):
            return small
    low = min(value - 1, _SCANNED)
    while value - low > 1:
        middle = (low + value) // 2
        low, value = (low, middle) if failing(middle) else (middle, value)
    return value


def shrink(
    trial: Trial, shape: Triple, settings: Settings, *, seconds: float = 60.0
) -> ShrinkRecord:
    """Shrink a failing run: problem size, resident clusters and timing.

    Only failures with the code of the first count, so that the fault stays the same. A seeded
    policy counts as passing when `ATTEMPTS` seeds pass.

    Raises:
        ValueError: the run does not fail.
    """
    start = time.perf_counter()
    first = trial.run(shape, settings)
    if first.status != "failed":
        raise ValueError(f"the run to shrink has {first.status}")
    shrinker = Shrinker(trial, failure_code(first), seconds)
    point = point_of(trial.subject.plan, shape, settings.sm_count)
    best = first
    if shrinker.fails(point, settings):
        settings = shrinker.simpler(point, settings)  # lazy and eager make the rest cheap
        while True:
            smaller = shrinker.smaller(point, settings)
            simpler = shrinker.simpler(smaller, settings)
            if (smaller, simpler) == (point, settings):
                break
            point, settings = smaller, simpler
        best = shrinker.fails(point, settings) or first
    used = dataclasses.replace(settings, seed=best.seed, sm_count=best.sm_count)
    notes = () if shrinker.late else needs(shrinker, point, used)
    complete = not shrinker.late
    return ShrinkRecord(
        case=best,
        ctas=_ctas(trial.subject.plan, best),
        command=command_line(trial.subject.path, best.shape, used),
        notes=notes if complete else (),
        runs=shrinker.runs + 1,
        seconds=time.perf_counter() - start,
        complete=complete,
    )


def _ctas(plan: Plan, case: CaseRecord) -> int:
    clusters = max(1, case.sm_count // plan.geometry.cluster_size)
    x, y, z = grid(plan, case.shape[0], case.shape[1], clusters)
    return x * y * z
