"""The line of each key, and the owner of each comment."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gemmgen.spec.scan import Comment, Key, scan

STRANGE = Path(__file__).parent / "strange.toml"
SPECS = sorted((Path(__file__).parents[3] / "specs").glob("v*.toml"))


def paths(value: object, key: Key = ()) -> Iterator[Key]:
    if key:
        yield key
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, (*key, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*key, index))


@pytest.mark.parametrize("path", [*SPECS, STRANGE], ids=lambda path: path.stem)
def test_every_key_that_tomllib_reads_has_a_line(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert set(scan(text).lines) == set(paths(tomllib.loads(text)))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_the_line_of_a_plain_key_starts_with_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = scan(text).lines
    for key in [("name",), ("tile", "k"), ("mma", "cta_group"), ("barriers", 1, "wait")]:
        assert text.split("\n")[found[key] - 1].startswith(f"{key[-1]} = ")
    assert text.split("\n")[found["lineage", "why"] - 1] == 'why = """'


def test_lines_of_a_strange_file() -> None:
    lines = scan(STRANGE.read_text(encoding="utf-8")).lines
    assert lines["b", 0] == 7
    assert lines["b", 1, "y", "z"] == 8
    assert lines["b", 2, 1, 0] == 8
    assert lines["t t", "u", "d"] == 19
    assert [lines["q", 0], lines["q", 1], lines["q", 1, "r", "s.t"]] == [23, 24, 26]


def test_owners_of_comments() -> None:
    assert scan(STRANGE.read_text(encoding="utf-8")).comments == [
        Comment("# head", (), "head"),
        Comment("# lead", ("a",), "lead"),
        Comment("# trail", ("a",), "trail"),
        Comment("# open", ("b",), "trail"),
        Comment("# one", ("b", 0), "lead"),
        Comment("# first", ("b", 0), "trail"),
        Comment("# end", ("b",), "end"),
        Comment("# dangling", (), "end"),
        Comment("# above", ("t t", "u"), "lead"),
        Comment("# header", ("t t", "u"), "trail"),
        Comment("# date", ("t t", "u", "d"), "trail"),
        Comment("# after", ("t t", "u", "e"), "trail"),
        Comment("# last", ("q", 1, "r"), "end"),
    ]
