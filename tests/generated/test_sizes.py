"""A generator earns its place: its templates are shorter than the kernels that it prints.

pytest tests/generated/test_sizes.py -s      prints the counts
"""

from __future__ import annotations

from pathlib import Path

from gemmgen.plan import make_plan
from gemmgen.render.slots import choose
from gemmgen.run.ladder import climb
from gemmgen.spec import load_spec

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "templates"


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _partials(ladder: str) -> set[str]:
    paths = [step.spec_path for step in climb(ROOT, ladder)]
    return {name for path in paths for name in choose(make_plan(load_spec(path))).values()}


def test_all_templates_are_shorter_than_the_nine_rungs_of_tirx_alone() -> None:
    rungs = [len(step.source.splitlines()) for step in climb(ROOT, "tirx")]
    added = _partials("tirx") - _partials("cute")
    grown = sum(_lines(TEMPLATES / name) for name in added)
    whole = sum(_lines(path) for path in TEMPLATES.rglob("*.j2"))
    print(f"nine rungs: {sum(rungs)} lines; templates: {whole} lines")
    print(f"partials that the first ladder has no use for: {len(added)} with {grown} lines")
    assert len(rungs) == 9
    assert grown < whole < sum(rungs)
