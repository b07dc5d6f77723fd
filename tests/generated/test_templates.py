"""The templates themselves: small, and without arithmetic or comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

from gemmgen.render.ablate import ANNOUNCE, EMPTY
from gemmgen.render.ablations import ABLATIONS
from gemmgen.render.slots import TABLES

TEMPLATES = Path(__file__).parents[2] / "templates"
FOLDERS = ("common", "sm90", "sm100")
PARTIALS = sorted(path for path in TEMPLATES.rglob("*.j2") if path.name != "kernel.py.j2")
FORBIDDEN = (
    nodes.Add,
    nodes.Sub,
    nodes.Mul,
    nodes.Div,
    nodes.FloorDiv,
    nodes.Mod,
    nodes.Pow,
    nodes.Concat,
    nodes.Compare,
    nodes.Assign,
)


def _walk(node: nodes.Node) -> Iterator[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _walk(child)


@pytest.mark.parametrize(
    "path", sorted(TEMPLATES.rglob("*.j2")), ids=lambda p: p.relative_to(TEMPLATES).as_posix()
)
def test_template_computes_nothing(path: Path) -> None:
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    tree = environment.parse(path.read_text(encoding="utf-8"))
    assert [type(node).__name__ for node in _walk(tree) if isinstance(node, FORBIDDEN)] == []


@pytest.mark.parametrize("path", PARTIALS, ids=lambda p: p.relative_to(TEMPLATES).as_posix())
def test_partial_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 50


def test_every_partial_stands_in_the_slot_table_and_every_rule_names_a_file() -> None:
    named = {partial for table in TABLES.values() for _, partial, _ in table}
    rules = [ablation.rules for ablation in ABLATIONS.values()]
    named |= {partial for own in rules for table in own.values() for _, partial, _ in table}
    named |= {*ANNOUNCE.values()}
    named.remove(EMPTY)
    files = {path.relative_to(TEMPLATES).as_posix() for path in PARTIALS}
    assert named == files


def test_no_partial_is_both_common_and_of_one_architecture() -> None:
    common, *others = ({path.name for path in (TEMPLATES / folder).iterdir()} for folder in FOLDERS)
    assert common
    assert not common & set().union(*others)
