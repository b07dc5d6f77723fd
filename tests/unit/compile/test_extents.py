"""The sizes that a manifest promises are those of the plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemmgen.compile.extents import extents_of
from gemmgen.compile.manifest import Extent
from gemmgen.compile.source import load, read_source
from gemmgen.run.subject import find_kernels, read_subject

pytest.importorskip("cutlass")
pytestmark = pytest.mark.compile
GENERATED = Path(__file__).parents[3] / "generated"


@pytest.mark.parametrize(
    "path", find_kernels((GENERATED,)), ids=lambda path: path.relative_to(GENERATED).as_posix()
)
def test_extents_are_those_of_the_plan(path: Path) -> None:
    extents = extents_of(load(read_source(path)))
    rules = read_subject(path).plan.problem
    for name, exact, least, step in (
        ("m", rules.m_exact, 1, rules.m_multiple.value),
        ("n", rules.n_exact, 1, rules.n_multiple.value),
        ("k", rules.k_exact, 1, rules.k_multiple),
    ):
        found = extents[name]
        if exact is not None:
            assert (found.min, found.max) == (exact, exact)
        else:
            assert (found.min, found.step) == (-(-least // step) * step, step)
            assert 2**20 <= found.max < 2**31


def test_a_file_without_check_problem_promises_nothing(plain: Path) -> None:
    assert extents_of(load(read_source(plain))) == {}


def test_rules_of_any_form_are_found(plain: Path, tmp_path: Path) -> None:
    path = tmp_path / "ruled.py"
    rules = (
        "def check_problem(a, b, d):\n"
        "    (m, k), n = a.shape, b.shape[0]\n"
        "    if m % 192 or n != 4096 or k < 100 or k % 8 or k > 70_000 or a.dtype != 'float16':\n"
        "        raise ValueError\n"
    )
    path.write_text(plain.read_text() + rules)
    assert extents_of(load(read_source(path))) == {
        "m": Extent(192, 192, 2**31 - 128),
        "n": Extent(4096, 4096, 4096),
        "k": Extent(104, 8, 70_000),
    }
