"""Every committed kernel against torch: one body for the emulator, a GPU, or both compared.

pytest tests/kernels --runner gpu      on a machine with the GPU; the others are skipped
pytest tests/kernels -m slow           every default shape instead of two
"""

from __future__ import annotations

import pytest

from gemmgen.emulate import Settings
from gemmgen.plan import Plan, Shape, default_shapes
from gemmgen.run.options import Options
from gemmgen.run.runners import choose_runner
from gemmgen.run.subject import Subject
from gemmgen.run.verify import verify_file
from gemmgen.terms import GemmgenError

pytestmark = pytest.mark.compile
SM_COUNT = 4


@pytest.fixture
def runner(request: pytest.FixtureRequest, subject: Subject) -> str:
    wanted: str = request.config.getoption("--runner")
    try:
        return choose_runner(wanted, subject.plan.spec.arch)
    except GemmgenError as error:
        pytest.skip(error.findings[0].title)


def test_kernel_equals_torch_on_a_long_k_and_on_several_tiles(subject, runner) -> None:
    shapes = every_shape(subject.plan)
    longest = max(shapes, key=lambda shape: shape.k / (shape.m * shape.n))
    _prove(subject, runner, [longest, shapes[-1]], Settings(sm_count=SM_COUNT, races=True))


@pytest.mark.slow
@pytest.mark.parametrize("timing", ["lazy", "eager", "random"])
def test_kernel_equals_torch_on_every_default_shape(subject, runner, timing) -> None:
    settings = Settings(timing=timing, seed=1, sm_count=SM_COUNT, races=True)
    _prove(subject, runner, every_shape(subject.plan), settings)


def every_shape(plan: Plan) -> tuple[Shape, ...]:
    return default_shapes(plan, SM_COUNT)


def _prove(subject: Subject, runner: str, shapes, settings: Settings) -> None:
    """Exact inputs give the exact result, random ones stay within the bound derived from K."""
    triples = tuple((shape.m, shape.n, shape.k) for shape in shapes)
    record = verify_file(subject.path, Options(runner, triples, settings, max_failures=0))
    assert record.message == ""
    wrong = [case for case in record.cases if case.status != "passed"]
    assert wrong == []
    ran = {(case.numerics, case.shape) for case in record.cases}
    assert ran == {(numerics, shape) for numerics in ("exact", "random") for shape in triples}
    assert all(case.max_error == 0 for case in record.cases if case.numerics == "exact")
