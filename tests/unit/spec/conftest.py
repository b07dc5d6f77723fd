"""The text of a good spec, a way to edit it, and a small project on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SPECS = Path(__file__).parents[3] / "specs"


@pytest.fixture
def text() -> str:
    """A good spec."""
    return (SPECS / "v8_persistent.toml").read_text(encoding="utf-8")


@pytest.fixture
def edit(text: str) -> Callable[..., str]:
    """The good spec with ``old, new`` pairs replaced, each where it stands first."""

    def edited(*pairs: tuple[str, str]) -> str:
        out = text
        for old, new in pairs:
            assert old in out
            out = out.replace(old, new, 1)
        return out

    return edited


@pytest.fixture
def project(tmp_path: Path, text: str) -> Callable[..., Path]:
    """A project with specs named ``folder/stem``, each with its predecessor's name or none."""

    def made(**specs: str | None) -> Path:
        for name, below in specs.items():
            path = tmp_path / "specs" / f"{name.replace('__', '/')}.toml"
            path.parent.mkdir(parents=True, exist_ok=True)
            old = 'predecessor = "v7_two_cta"\n'
            new = f'predecessor = "{below}"\n' if below else ""
            path.write_text(
                text.replace(old, new).replace('"v8_persistent"', f'"{path.stem}"'),
                encoding="utf-8",
            )
        return tmp_path

    return made
