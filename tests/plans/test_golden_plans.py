"""Each spec's plan is the committed text, so that a change of any derived number is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemmgen.plan import describe, make_plan
from gemmgen.spec import load_spec

FOLDER = Path(__file__).parent
SPECS = sorted((FOLDER.parents[1] / "specs").glob("*.toml"))


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_plan_of_each_spec_is_the_golden_text(spec: Path) -> None:
    golden = (FOLDER / f"{spec.stem}.txt").read_text(encoding="utf-8")
    assert describe(make_plan(load_spec(spec))) == golden, "python tests/plans/regenerate.py"


def test_every_golden_plan_has_a_spec() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in SPECS}
