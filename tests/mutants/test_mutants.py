"""A tenth of the mutants, and what the catalogue promises. All of them: ``make mutants``."""

from __future__ import annotations

from functools import lru_cache

import pytest

from mutants.catalogue import KINDS
from mutants.detect import detect, of_runs, original, subject_of
from mutants.equivalent import arguments
from mutants.model import Detector, Layer, Mutant, Outcome
from mutants.page import page
from mutants.sample import sample
from mutants.subjects import rung, rung_names
from mutants.table import judge_rows, listing

PARTS = [
    *((Layer.PLAN, 0, 1),),
    *((Layer.TEXT, i, 7) for i in range(7)),
    *((Layer.PTX, i, 5) for i in range(5)),
]


@lru_cache
def _sample(layer: Layer) -> tuple[Mutant, ...]:
    subject = subject_of if layer is Layer.PTX else rung
    return tuple(sample(layer, subject))


def test_every_kind_has_its_own_name_and_says_what_goes_wrong() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 60
    assert all(kind.why for kind in KINDS)
    assert {kind.layer for kind in KINDS} == set(Layer)


def test_every_argument_is_about_a_kind_and_gives_a_reason() -> None:
    names = {kind.name for kind in KINDS}
    for entry in arguments():
        assert entry.kind in names
        assert len(entry.reason) > 40, entry.kind


@pytest.mark.compile
@pytest.mark.parametrize("name", ["v1_kloop", "v3_warp_specialized"])
def test_detectors_find_nothing_in_a_committed_kernel(name: str) -> None:
    kernel = original(name)
    outcome = of_runs(kernel, kernel.module.check_problem, subject_of(name).plan)
    assert outcome.detector is Detector.NONE, outcome


@pytest.mark.compile
@pytest.mark.parametrize(("layer", "part", "parts"), PARTS)
def test_a_tenth_of_the_mutants_is_found(layer: Layer, part: int, parts: int) -> None:
    mutants = _sample(layer)[part::parts]
    assert mutants
    rows = [(mutant, detect(mutant, subject_of(mutant.rung))) for mutant in mutants]
    judged = judge_rows(rows, arguments())
    bad = {"survivors": judged.survivors, "broken": judged.broken, "refuted": judged.refuted}
    wrong = [line for title, found in bad.items() for line in listing(title, found)]
    assert judged.passed, "\n".join(wrong)


def test_the_page_names_what_got_past_and_what_is_argued() -> None:
    first, second = _sample(Layer.PLAN)[:2]
    argument = arguments()[0]
    kind = next(kind for kind in KINDS if kind.name == argument.kind)
    equal = Mutant(kind, "v1_kloop", "setup", "")
    found = Outcome(Detector.CHECK, "P201")
    rows = [(first, found), (second, Outcome(Detector.NONE)), (equal, Outcome(Detector.NONE))]
    text = "\n".join(page([first, second, equal], rows, 2))
    assert "1 are found,\n1 are argued equivalent, 1 got past," in text
    assert f"- `{second.name}`" in text
    assert f"| `{argument.kind}` | 1 | {argument.reason} |" in text
    assert first.name not in text


def test_every_rung_of_the_ladder_is_mutated() -> None:
    assert len(rung_names()) >= 9
    assert {mutant.rung for mutant in _sample(Layer.PLAN)} == set(rung_names())
