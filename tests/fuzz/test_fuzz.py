"""A fixed part of `make fuzz`, and that it would see what it is for."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from fuzz import trial
from fuzz.draw import Drawn
from fuzz.rounds import drawn_by
from fuzz.store import KEPT, Store
from fuzz.trial import EQUAL, Outcome, examine, smallest
from fuzz.values import paths, texts, tiers, value_at, values
from gemmgen.spec import parse_spec
from gemmgen.spec.override import override

SEEDS = (1, 2, 3, 4)
DRAWS = 60
RUNS = 2  # kernels of each seed that are compiled and run


def told(drawn: Drawn, outcome: Outcome) -> str:
    return f"{outcome.kind} {outcome.code}: {drawn}\n{outcome.message}\n{outcome.text}"


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_specs_are_refused_by_a_code_or_rendered(seed: int) -> None:
    for drawn in drawn_by(seed, DRAWS):
        outcome = examine(drawn, run=False)
        assert not outcome.fault, told(drawn, outcome)


@pytest.mark.compile
@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_kernels_equal_torch_under_hostile_timing(seed: int) -> None:
    accepted = (d for d in drawn_by(seed, DRAWS) if examine(d, run=False).kind == EQUAL)
    chosen = list(islice(accepted, RUNS))
    assert len(chosen) == RUNS
    for drawn in chosen:
        outcome = examine(drawn)
        assert not outcome.fault, told(drawn, outcome)
        assert outcome.command


def test_a_seed_draws_the_same_specs_again_and_another_seed_others() -> None:
    assert drawn_by(7, 30) == drawn_by(7, 30)
    assert drawn_by(7, 30) != drawn_by(8, 30)


@pytest.mark.parametrize("name", texts())
def test_every_key_of_a_spec_has_values_that_differ_from_its_own(name: str) -> None:
    plain = parse_spec(texts()[name])
    assert all(set(tier) <= set(paths(name)) and len(tier) > 3 for tier in tiers(name))
    changeable = 0
    for path in paths(name):
        now = value_at(plain.model_dump(mode="json", by_alias=True), path)
        others = values(name, path)
        changeable += bool(others)
        assert now not in [other for other in others if type(other) is type(now)]
    assert changeable > 20
    assert override(texts()[name], {"pipeline.ab_stages": 12}) != texts()[name]


@pytest.mark.compile
def test_a_kernel_that_multiplies_too_little_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = Drawn("v0_single_tile", (("tile.k", 64), ("epilogue.chunks", 2)), "lazy", 0, 0)
    assert examine(wrong).kind == "refused"
    monkeypatch.setattr(trial, "check_plan", lambda plan: [])
    found = examine(wrong)
    assert found.kind == "wrong"
    assert "elements wrong" in found.message
    assert "--timing lazy" in found.command
    fewer, again = smallest(wrong, found)
    assert fewer.changes == (("tile.k", 64),)
    assert again.signature == found.signature


def test_a_spec_that_no_template_prints_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "check_plan", lambda plan: [])
    drawn = Drawn("v1_kloop", (("problem.k_extent", "one_step"),), "lazy", 0, 0)
    found = examine(drawn, run=False)
    assert (found.kind, found.code) == ("render", "R301")


def test_a_crash_of_the_checker_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(plan: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(trial, "check_plan", crash)
    found = examine(Drawn("v1_kloop", (("epilogue.chunks", 2),), "lazy", 0, 0))
    assert (found.kind, found.code) == ("crash", "KeyError")
    assert found.text


def test_finds_are_kept_as_projects_with_the_commands_that_show_them(tmp_path: Path) -> None:
    drawn = Drawn("tirx/v4_tma", (("tile.k", 32),), "pct", 5, 6)
    outcome = Outcome("wrong", "", "7 elements wrong", "text", "gemmgen test generated/v4_tma.py")
    store = Store(tmp_path)
    places = [store.add(drawn, outcome, seed=9) for _ in range(KEPT + 2)]
    assert [place is not None for place in places] == [True] * KEPT + [False] * 2
    assert store.counts == {outcome.signature: KEPT + 2}
    assert (tmp_path / "001_wrong" / "specs" / "v4_tma.toml").read_text() == "text"
    words = (tmp_path / "001_wrong" / "README.txt").read_text()
    assert "gemmgen render specs/v4_tma.toml\ngemmgen test generated/v4_tma.py" in words
    assert "seed 9" in words
