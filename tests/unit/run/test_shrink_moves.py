"""Shrinking lowers several numbers at once where one alone does not do, and its notes hold.

The runs are made up: a rule says with which code a point fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import faults
import pytest

from gemmgen.emulate import Settings
from gemmgen.records import CaseRecord, ShrinkRecord, Triple
from gemmgen.run.moves import MOST, joint, with_clusters
from gemmgen.run.shrink import Point, point_of, shrink
from gemmgen.run.subject import read_subject
from gemmgen.run.trial import Trial

Rule = Callable[[Point], str]
SUBJECT = read_subject(faults.ROOT / "generated" / "v8_persistent.py")
TILE = 256
STEP = 64


class MadeUp:
    """A trial whose runs fail as a rule says, whatever the timing."""

    def __init__(self, rule: Rule) -> None:
        self.subject = SUBJECT
        self.kernel: Any = SimpleNamespace()
        self.rule = rule
        self.runs = 0

    def run(self, shape: Triple, settings: Settings) -> CaseRecord:
        self.runs += 1
        code = self.rule(point_of(SUBJECT.plan, shape, settings.sm_count))
        return CaseRecord(
            shape,
            "exact",
            "failed" if code else "passed",
            timing=settings.timing,
            seed=settings.seed,
            sm_count=settings.sm_count,
            message=f"error[{code}]: made up" if code else "",
        )


def shrunk(rule: Rule, shape: Triple, sm_count: int = 8) -> ShrinkRecord:
    trial = MadeUp(rule)
    settings = Settings(timing="lazy", sm_count=sm_count)
    return shrink(cast(Trial, trial), shape, settings, seconds=60)


def test_tiles_and_clusters_fall_together_where_a_cluster_needs_exactly_two_tiles() -> None:
    record = shrunk(lambda p: "E201" if p.walked == 2 else "", (TILE, 5 * TILE, STEP))
    assert record.case.shape == (TILE, 2 * TILE, STEP)
    assert (record.case.sm_count, record.ctas) == (2, 2)
    assert not any("clusters at a time" in note for note in record.notes)


def test_a_tile_and_k_tiles_fall_together() -> None:
    def rule(p: Point) -> str:
        return "E201" if (p.m_tiles * p.n_tiles, p.k_tiles) in ((1, 2), (2, 4), (3, 8)) else ""

    record = shrunk(rule, (TILE, 3 * TILE, 8 * STEP))
    assert record.case.shape == (TILE, TILE, 2 * STEP)


def test_clusters_that_are_needed_are_said_to_be() -> None:
    record = shrunk(lambda p: "E263" if p.clusters >= 2 else "", (2 * TILE, 2 * TILE, STEP))
    assert (record.case.sm_count, record.ctas) == (4, 4)
    assert "needs 2 clusters at a time" in record.notes


def test_one_cluster_that_fails_with_another_code_is_named() -> None:
    def rule(p: Point) -> str:
        return "E263" if p.clusters >= 2 else "E201" if p.m_tiles * p.n_tiles >= 2 else ""

    record = shrunk(rule, (2 * TILE, 2 * TILE, STEP))
    assert "fails as E263 with 2 clusters at a time, with 1 cluster as E201" in record.notes
    assert not any(note.startswith("needs") for note in record.notes)


def test_k_tiles_that_fail_with_another_code_do_not_pass() -> None:
    def rule(p: Point) -> str:
        return "E201" if p.k_tiles >= 7 else "E260" if p.k_tiles >= 5 else ""

    record = shrunk(rule, (TILE, TILE, 9 * STEP))
    assert record.notes[0].startswith(
        "passes or fails otherwise (E260) with k_tiles <= 6 = ab_stages, fails with 7"
    )


def test_tiles_that_fail_with_another_code_do_not_pass() -> None:
    def rule(p: Point) -> str:
        return "E201" if p.walked >= 3 else "E260" if p.walked == 2 else ""

    record = shrunk(rule, (TILE, 3 * TILE, STEP), sm_count=2)
    assert record.notes[0].startswith(
        "passes or fails otherwise (E260) with 2 tiles a cluster = acc_stages, fails with 3"
    )


def test_a_timing_that_fails_with_another_code_does_not_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = MadeUp.run

    def run(self: MadeUp, shape: Triple, settings: Settings) -> CaseRecord:
        code = {"eager": "E260", "pct": ""}.get(settings.timing, "E201")
        self.rule = lambda _: code
        return plain(self, shape, settings)

    monkeypatch.setattr(MadeUp, "run", run)
    record = shrunk(lambda _: "", (TILE, TILE, STEP))
    assert record.notes[-1] == (
        "timing matters: fails under lazy, random, otherwise under eager (E260), passes under pct"
    )


def test_moves_are_few_lower_two_numbers_and_keep_the_tiles_of_a_cluster_first() -> None:
    point = Point(m_tiles=4, n_tiles=3, k_tiles=9, clusters=6)
    moves = list(joint(point, k_fixed=False))
    assert len(moves) == len(set(moves)) == MOST
    for moved in moves:
        pairs = [(moved.m_tiles, 4), (moved.n_tiles, 3), (moved.k_tiles, 9), (moved.clusters, 6)]
        assert all(now <= before for now, before in pairs)
        assert sum(now < before for now, before in pairs) >= 2
    kept = [moved.walked == point.walked for moved in moves]
    assert kept == sorted(kept, reverse=True)
    assert (moves[0].clusters, moves[0].m_tiles * moves[0].n_tiles) == (1, 2)
    assert all(moved.k_tiles == 9 for moved in joint(point, k_fixed=True))


def test_nothing_is_below_the_smallest_point() -> None:
    assert not list(joint(Point(1, 1, 1, 1), k_fixed=False))
    assert not list(joint(Point(1, 2, 1, 1), k_fixed=False))


def test_fewer_clusters_keep_all_tiles_or_the_tiles_of_a_cluster() -> None:
    point = Point(m_tiles=1, n_tiles=3, k_tiles=7, clusters=2)
    assert with_clusters(point, 1) == (Point(1, 3, 7, 1), Point(1, 2, 7, 1))


@pytest.mark.parametrize("clusters", range(3, 9))
def test_notes_never_call_clusters_needed_that_are_not(clusters: int) -> None:
    """Whatever numbers of clusters fail, those of which it says that they are needed are the
    fewest, among all the points that it can reach from there.
    """
    for failing in itertools.combinations(range(1, clusters + 1), 2):
        most = max(failing)
        record = shrunk(
            lambda p, codes=failing: "E263" if p.clusters in codes else "",  # type: ignore[misc]
            (TILE, most * TILE, STEP),
            sm_count=2 * most,
        )
        assert record.case.sm_count == 2 * min(failing)
        expected = [f"needs {min(failing)} clusters at a time"] if min(failing) > 1 else []
        assert [note for note in record.notes if "clusters" in note] == expected
