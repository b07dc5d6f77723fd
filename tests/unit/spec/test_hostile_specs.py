"""Whatever the text, loading and formatting end in a result or in a coded error, and soon."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmgen.spec import load_spec, parse_spec
from gemmgen.spec.fmt import format_spec
from gemmgen.spec.override import override
from gemmgen.spec.scan import scan
from gemmgen.terms import GemmgenError

GOOD = (Path(__file__).parents[3] / "specs" / "v8_persistent.toml").read_text(encoding="utf-8")
PIECES = [
    *(
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "=",
        ".",
        ",",
        '"',
        "'",
        '"""',
        "'''",
        "#",
        "\n",
        "\r\n",
        " ",
    ),
    *("\\", "\\u0000", "\x00", "\x1b", "{{", "{%", "../", "1", "-1", "1e999", "nan", "true", "é"),
    *("mma", "a", "tile", "barriers", "name", "warps", "2026-01-01", "9" * 30, "0xff", "\ud7ff"),
]
toml_like = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def refusal(function: Callable[[str], object], text: str) -> GemmgenError | None:
    try:
        function(text)
    except GemmgenError as error:
        return error
    return None


def load_or_refuse(text: str) -> None:
    if error := refusal(parse_spec, text):
        assert error.findings
        assert all(f.code.startswith("S1") and f.title for f in error.findings)
        assert str(error).replace("\n", "").isprintable()


def format_or_refuse(text: str) -> None:
    if error := refusal(format_spec, text):
        assert {f.code for f in error.findings} <= {"S100", "S109"}
        return
    once = format_spec(text)
    assert format_spec(once) == once
    assert len(scan(once).comments) == len(scan(text).comments)


@given(st.text() | toml_like)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_any_text_loads_and_formats_or_is_refused(text: str) -> None:
    load_or_refuse(text)
    format_or_refuse(text)


@given(st.binary(max_size=200))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x.toml"
    path.write_bytes(raw)
    with pytest.raises(GemmgenError):
        load_spec(path)


@given(st.data())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_any_edit_of_a_spec_loads_and_formats_or_is_refused(data: st.DataObject) -> None:
    text = GOOD
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(toml_like | st.text(max_size=5)) + text[at + cut :]
    load_or_refuse(text)
    format_or_refuse(text)


values = st.recursive(
    st.integers() | st.booleans() | st.floats() | st.text(max_size=20) | st.dates() | st.times(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = [
    "mma.m",
    "mma",
    "barriers[0]",
    "barriers",
    "roles.mma.warps",
    "title",
    "lineage.why",
    "name",
]


@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=3))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_any_value_at_any_key_loads_or_is_refused(assignments: dict[str, object]) -> None:
    try:
        text = override(GOOD, assignments)
    except GemmgenError:
        return
    load_or_refuse(text)
    format_or_refuse(text)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 60_000,
        "a = " + "[\n" * 30_000 + "]\n" * 30_000,
        "[" + ".".join("a" * 30_000) + "]",
        "\n".join("[" + ".".join(["a"] * 200 + [f"b{i}"]) + "]" for i in range(100)),
        "".join(f"k{i} = {i}\n" for i in range(6_000)),
        "[[barriers]]\n" * 5_000,
        "a = 1" + "0" * 5_000,
        "a = 0x" + "f" * 500,
        'a = """' + '\\"' * 30_000 + '"""',
        "#\n" * 32_000,
    ],
    ids=["open", "deep", "dotted", "headers", "keys", "tables", "digits", "hex", "quotes", "gaps"],
)
def test_large_and_deep_texts_are_refused_within_two_seconds(text: str) -> None:
    start = time.monotonic()
    with pytest.raises(GemmgenError):
        parse_spec(text)
    assert time.monotonic() - start < 2


def test_no_value_of_a_loaded_spec_can_end_a_docstring() -> None:
    for hostile in ['"""', "\\", 'x"', "{{ x }}", "{% x %}", "\x00", "\u2028", "\r"]:
        data = {"title": f"a{hostile}b", "lineage.what": f"a{hostile}b", "name": f"a{hostile}b"}
        with pytest.raises(GemmgenError) as caught:
            parse_spec(override(GOOD, data))
        assert {f.key for f in caught.value.findings} >= set(data), hostile


def test_tomllib_and_the_formatter_agree_on_specials() -> None:
    text = format_spec("a = [nan, -inf, 1e400, -0.0, 0x10, 1_000]\n")
    assert text == "a = [nan, -inf, inf, -0.0, 16, 1000]\n"
    assert tomllib.loads(text)["a"][4] == 16
