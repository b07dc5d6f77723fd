"""No barrier can take a name that generated code uses for something else."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator
from pathlib import Path

import pytest

from gemmgen.spec import load_spec
from gemmgen.spec.fields import RESERVED

ROOT = Path(__file__).parents[3]
KERNELS = sorted((ROOT / "generated").rglob("*.py"))


def names_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_every_name_in_a_kernel_is_its_barriers_or_reserved(path: Path) -> None:
    spec = load_spec((ROOT / "specs" / path.relative_to(ROOT / "generated")).with_suffix(".toml"))
    used = {n for n in names_in(ast.parse(path.read_text(encoding="utf-8"))) if n.islower()}
    free = used - {barrier.name for barrier in spec.barriers} - RESERVED
    assert not {n for n in free if not keyword.iskeyword(n)}


def test_there_are_kernels_to_look_at() -> None:
    assert len(KERNELS) >= 9
