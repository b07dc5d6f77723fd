"""Setting single keys of a spec from the command line."""

from __future__ import annotations

from typing import Any

import pytest

from gemmgen.spec import parse_spec
from gemmgen.spec.override import override, parse_assignment, sweep
from gemmgen.terms import GemmgenError, Role, Swizzle


def refusal(text: str, name: str, value: Any = 1) -> str:
    with pytest.raises(GemmgenError) as caught:
        override(text, {name: value})
    (finding,) = caught.value.findings
    return f"{finding.code} {finding.help}"


def test_a_key_is_set_and_nothing_else_moves(text: str) -> None:
    assert override(text, {"pipeline.ab_stages": 4}) == text.replace(
        "ab_stages = 6", "ab_stages = 4"
    )


def test_comments_stay(text: str) -> None:
    commented = text.replace("ab_stages = 6", "# why six\nab_stages = 6 # at most")
    assert "# why six\nab_stages = 4 # at most" in override(commented, {"pipeline.ab_stages": 4})


def test_barriers_are_named_or_counted(text: str) -> None:
    named = override(text, {"barriers.acc_empty.wait": ["mma", "producer"]})
    assert named == override(text, {"barriers[3].wait": ["mma", "producer"]})
    assert parse_spec(named).barriers[3].wait == (Role.MMA, Role.PRODUCER)


def test_an_entry_of_an_array_is_set(text: str) -> None:
    spec = parse_spec(override(text, {"roles.epilogue.warps[3]": 7}))
    assert spec.roles.epilogue.warps == (0, 1, 2, 7)


def test_none_takes_an_optional_table_away_and_a_key_makes_it(text: str) -> None:
    without = override(text, {"cluster": None})
    assert parse_spec(without).cluster is None
    assert override(without, {"cluster.m": 2, "cluster.n": 1}) == text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pipeline.ab_stage", "S102 did you mean `ab_stages`?"),
        ("ab_stages", "S102 `ab_stages` belongs to `pipeline`"),
        ("mma.m.x", "S102 remove it"),
        ("name[0]", "S102 leave the index out"),
        ("barriers.none.wait", "S102 no entry is named `none`; give its index: `barriers[0]`"),
        ("barriers[9].wait", "S130 the array is shorter"),
        ("roles.mma.warps[1]", "S130 the array is shorter"),
        ("", "S102 name a key"),
    ],
)
def test_unknown_keys_are_refused_with_a_way_out(text: str, name: str, expected: str) -> None:
    assert refusal(text, name) == expected


def test_all_refusals_come_at_once(text: str) -> None:
    with pytest.raises(GemmgenError) as caught:
        override(text, {"a.b": 1, "pipeline.ab_stages": 4, "tile.q": object()})
    assert [f.key for f in caught.value.findings] == ["a.b", "tile.q"]


def test_a_value_without_a_toml_form_is_refused(text: str) -> None:
    assert refusal(text, "tile.m", object()).startswith("S130")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k=4", 4),
        ("k = true", True),
        ("k=128b", "128b"),
        ("k='a b'", "a b"),
        ("k=[1, 2]", [1, 2]),
        ("k={ m = 2 }", {"m": 2}),
        ("k=", None),
    ],
)
def test_assignments_are_toml_or_bare_words(text: str, value: object) -> None:
    assert parse_assignment(text) == ("k", value)


@pytest.mark.parametrize("text", ["k", "=4", "k=[", "k=a b", "k=1\nb=2", 'k="', "k=\x00"])
def test_what_is_no_assignment_is_refused(text: str) -> None:
    with pytest.raises(GemmgenError, match="S130"):
        parse_assignment(text)
    with pytest.raises(GemmgenError, match="S130"):
        sweep([text])


def test_a_sweep_is_every_combination_with_the_last_key_fastest() -> None:
    points = sweep(["smem.swizzle=64b,128b", "roles.mma.warps=[1,2],[3]"])
    assert [tuple(map(str, point.values())) for point in points] == [
        ("64b", "[1, 2]"),
        ("64b", "[3]"),
        ("128b", "[1, 2]"),
        ("128b", "[3]"),
    ]


def test_a_range_stands_for_its_whole_numbers_and_mixes_with_values() -> None:
    assert [point["k"] for point in sweep(["k=2..4,8"])] == [2, 3, 4, 8]
    assert [point["k"] for point in sweep(["k=3..3"])] == [3]


@pytest.mark.parametrize(
    "texts", [["k=8..2"], ["k=1", "k=2"], ["k=0..99", "j=0..99"], ["k=1..x y"]]
)
def test_a_sweep_that_cannot_be_meant_is_refused(texts: list[str]) -> None:
    with pytest.raises(GemmgenError, match="S130"):
        sweep(texts)


def test_the_result_is_judged_by_the_loader_alone(text: str) -> None:
    assert parse_spec(override(text, {"smem.swizzle": "64b"})).smem.swizzle is Swizzle.B64
    with pytest.raises(GemmgenError, match="S104"):
        parse_spec(override(text, {"smem.swizzle": "65b"}))


def test_values_stay_the_callers_when_a_later_key_changes_inside_them(text: str) -> None:
    tile = {"m": 128, "n": 128, "k": 64}
    assert "k = 32" in override(text, {"tile": tile, "tile.k": 32})
    assert tile == {"m": 128, "n": 128, "k": 64}
