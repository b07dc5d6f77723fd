"""The one form: what moves, what stays, and that a second run changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gemmgen.spec import parse_spec
from gemmgen.spec.fmt import check_format, format_spec, is_formatted
from gemmgen.spec.scan import scan

SPECS = sorted((Path(__file__).parents[3] / "specs").rglob("*.toml"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_committed_specs_are_in_the_one_form(path: Path) -> None:
    assert is_formatted(path.read_text(encoding="utf-8"))


def test_tables_and_keys_are_put_in_the_order_of_the_model() -> None:
    text = '[mma]\nk = 16\nm = 128\n[tile]\nm = 1\n[[barriers]]\nring = "ab"\nname = "x"\n'
    assert format_spec("[zoo]\na=1\n" + text + "[smem]\n") == (
        "[tile]\nm = 1\n\n[mma]\nm = 128\nk = 16\n\n[smem]\n\n"
        '[[barriers]]\nname = "x"\nring = "ab"\n\n[zoo]\na = 1\n'
    )


def test_order_and_spelling_do_not_change_the_spec(edit: Callable[..., str], text: str) -> None:
    moved = edit(
        ("[roles]\n", "[roles.producer]\nwarps = [ 0x5, ]\n[roles]\n"),
        ("producer = { warps = [5] }\n", ""),
        ('arch = "sm_100a"\n', ""),
        ("schema = 1\n", "arch = 'sm_100a'\nschema = 1\n"),
    )
    assert moved != text
    assert parse_spec(moved) == parse_spec(text)
    assert format_spec(moved) == text


def test_comments_stay_with_their_keys() -> None:
    text = """\
#:schema ./schema.json

# the kernel
name = "x" # a name

# of the instruction
[mma] # tcgen05
# two CTAs
cta_group = 2
m = 256 # rows
# cta_group = 1

# of the tile
[tile]
k = 64 # one swizzle span
"""
    assert (
        format_spec(text)
        == """\
#:schema ./schema.json

# the kernel
name = "x" # a name

# of the tile
[tile]
k = 64 # one swizzle span

# of the instruction
[mma] # tcgen05
m = 256 # rows
# two CTAs
cta_group = 2
# cta_group = 1
"""
    )


def test_comments_inside_arrays_keep_the_array_on_several_lines() -> None:
    text = "[load]\nmulticast = [ # both\n'a', # along N\n# along M\n'b'\n# end\n]\n"
    assert format_spec(text) == (
        '[load]\nmulticast = [ # both\n    "a", # along N\n    # along M\n    "b",\n    # end\n]\n'
    )


def test_comments_of_a_table_that_becomes_inline_go_above_it() -> None:
    text = "[roles.mma]\n# why\nwarps = [4] # four\n# end\n"
    assert format_spec(text) == "[roles]\n# why\n# four\n# end\nmma = { warps = [4] }\n"


def test_strange_file_keeps_values_and_comments_and_settles_at_once() -> None:
    text = (Path(__file__).parent / "strange.toml").read_text(encoding="utf-8")
    once = format_spec(text)
    assert format_spec(once) == once
    assert {c.text for c in scan(once).comments} == {c.text for c in scan(text).comments}
    assert len(scan(once).comments) == len(scan(text).comments)


@pytest.mark.parametrize("value", ['a"b', '"""', 'x"', 'x""', "back\\slash", "tab\t", "\x7f", "é"])
@pytest.mark.parametrize("end", ["", "\nsecond line\n", "\n"])
def test_any_text_survives(value: str, end: str) -> None:
    escaped = "".join(f"\\U{ord(c):08x}" for c in value + end)
    text = f'title = "{escaped}"\nwhat = {{ x = "{escaped}" }}\n'
    once = format_spec(text)
    assert format_spec(once) == once


def test_check_names_the_first_line_that_would_change(text: str) -> None:
    assert check_format(text, "f.toml") == []
    (finding,) = check_format(text.replace("m = 256", "m=256"), "f.toml")
    assert finding.code == "S140"
    assert finding.source == "m=256"
    assert text.split("\n")[finding.line - 1] == "m = 256"
