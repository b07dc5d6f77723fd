"""A small file that keeps the contract, and edited copies of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture
def plain() -> Path:
    """A generated-like file whose kernel is right."""
    return KERNELS / "plain.py"


@pytest.fixture
def edited(plain: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write a copy of the plain file with replacements, each of which must apply."""

    def edit(*replacements: tuple[str, str], name: str = "edited.py") -> Path:
        text = plain.read_text()
        for old, new in replacements:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text)
        return path

    return edit


def line_of(path: Path, text: str) -> int:
    """1-based number of the first line that contains `text`."""
    lines = path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)
