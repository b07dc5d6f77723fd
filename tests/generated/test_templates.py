"""The templates themselves: small, and without arithmetic or comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest
from jinja2 import meta, nodes

from gemmgen.render.ablate import ANNOUNCE, EMPTY
from gemmgen.render.ablations import ABLATIONS
from gemmgen.render.engine import SKELETON
from gemmgen.render.slots import TABLES

TEMPLATES = Path(__file__).parents[2] / "templates"
FOLDERS = ("common", "sm90", "sm100")
ALL = sorted(TEMPLATES.rglob("*.j2"))
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


def _parse(path: Path) -> nodes.Template:
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    return environment.parse(path.read_text(encoding="utf-8"))


template = pytest.mark.parametrize(
    "path", ALL, ids=lambda path: path.relative_to(TEMPLATES).as_posix()
)


@template
def test_template_computes_nothing(path: Path) -> None:
    tree = _parse(path)
    assert [type(node).__name__ for node in _walk(tree) if isinstance(node, FORBIDDEN)] == []


@template
def test_template_builds_no_code_out_of_code(path: Path) -> None:
    filters = {node.name for node in _walk(_parse(path)) if isinstance(node, nodes.Filter)}
    assert filters <= {"indent"}


@template
def test_template_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 50


def test_every_partial_stands_in_the_slot_table_and_every_rule_names_a_file() -> None:
    named = {SKELETON, *meta.find_referenced_templates(_parse(TEMPLATES / SKELETON))}
    named |= {partial for table in TABLES.values() for _, partial, _ in table}
    rules = [ablation.rules for ablation in ABLATIONS.values()]
    named |= {partial for own in rules for table in own.values() for _, partial, _ in table}
    named |= {*ANNOUNCE.values()}
    named.remove(EMPTY)
    assert named == {path.relative_to(TEMPLATES).as_posix() for path in ALL}


def test_no_partial_is_both_common_and_of_one_architecture() -> None:
    common, *others = ({path.name for path in (TEMPLATES / folder).iterdir()} for folder in FOLDERS)
    assert common
    assert not common & set().union(*others)
