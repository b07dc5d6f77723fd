"""Options of the whole test run."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--runner",
        choices=("emulate", "gpu", "both"),
        default="emulate",
        help="where tests/kernels runs the generated kernels (default: the emulator)",
    )
