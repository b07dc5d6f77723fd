from __future__ import annotations

from pathlib import Path

import pytest

from gemmgen.run.subject import Subject, find_kernels, read_subject

GENERATED = Path(__file__).parents[2] / "generated"
KERNELS = find_kernels((GENERATED,))


@pytest.fixture(params=KERNELS, ids=lambda path: path.relative_to(GENERATED).as_posix())
def subject(request: pytest.FixtureRequest) -> Subject:
    """Each committed kernel with the plan behind it."""
    return read_subject(request.param)
