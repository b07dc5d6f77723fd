"""Each spec's plan is the committed text, so that a change of any derived number is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemmgen.plan import describe, make_plan
from gemmgen.spec import load_spec

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1] / "specs"
SPECS = sorted(ROOT.rglob("*.toml"))


def _name(spec: Path) -> str:
    return spec.relative_to(ROOT).with_suffix("").as_posix()


@pytest.mark.parametrize("spec", SPECS, ids=_name)
def test_plan_of_each_spec_is_the_golden_text(spec: Path) -> None:
    golden = (FOLDER / f"{_name(spec)}.txt").read_text(encoding="utf-8")
    assert describe(make_plan(load_spec(spec))) == golden, "python tests/plans/regenerate.py"


def test_every_golden_plan_has_a_spec() -> None:
    names = {path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.txt")}
    assert names == {_name(spec) for spec in SPECS}
