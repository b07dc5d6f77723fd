"""Loading: what is accepted, what a spec is once loaded, and where findings are placed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from gemmgen.spec import Spec, load, load_spec, parse_spec
from gemmgen.spec.read import MAX_BYTES
from gemmgen.terms import Arch, Finding, GemmgenError, Role

SPECS = Path(__file__).parents[3] / "specs"
LADDER = sorted(SPECS.glob("v*.toml"))


def codes(text: str, file: str = "<text>") -> list[str]:
    with pytest.raises(GemmgenError) as caught:
        parse_spec(text, file)
    return [finding.code for finding in caught.value.findings]


def test_the_ladder_has_nine_specs() -> None:
    assert len(LADDER) == 9


@pytest.mark.parametrize("path", LADDER, ids=lambda path: path.stem)
def test_every_spec_of_the_ladder_loads_under_its_name(path: Path) -> None:
    assert load_spec(path).name == path.stem


def test_words_become_enums_and_arrays_become_tuples(text: str) -> None:
    spec = parse_spec(text)
    assert spec.arch is Arch.SM100A
    assert spec.barriers[0].wait == (Role.MMA,)
    assert spec.roles.epilogue.warps == (0, 1, 2, 3)


def test_a_spec_is_frozen_and_hashable(text: str) -> None:
    spec = parse_spec(text)
    with pytest.raises(ValidationError):
        spec.tile.m = 64  # type: ignore[misc]
    assert hash(spec) == hash(parse_spec(text))


def test_a_spec_built_in_python_obeys_the_same_rules(text: str) -> None:
    spec = parse_spec(text)
    assert Spec.model_validate(spec.model_dump(by_alias=True)) == spec
    doubled = {**spec.model_dump(by_alias=True), "barriers": (*spec.barriers, spec.barriers[0])}
    with pytest.raises(ValidationError, match="two barriers are named"):
        Spec.model_validate(doubled)


def test_carriage_returns_change_nothing(text: str) -> None:
    assert parse_spec(text.replace("\n", "\r\n")) == parse_spec(text)


def test_a_name_is_compared_with_the_stem_of_a_toml_file_alone(text: str) -> None:
    assert codes(text, "folder/other.toml") == ["S107"]
    assert parse_spec(text, "<stdin>").name == "v8_persistent"


def test_one_typo_is_one_finding(edit: Callable[..., str]) -> None:
    assert codes(edit(("cta_group", "cta_grp"))) == ["S102"]


def test_namesakes_are_found_beside_other_faults_of_the_same_barrier(
    edit: Callable[..., str],
) -> None:
    text = edit(('name = "ab_empty"\nring = "ab"', 'name = "ab_full"\nring = "ba"'))
    assert codes(text) == ["S109", "S104"]


def test_a_missing_file_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "none.toml", tmp_path, tmp_path / "pipe.toml", Path("nul\0.toml")):
        with pytest.raises(GemmgenError) as caught:
            load_spec(path)
        assert [f.code for f in caught.value.findings] == ["S100"]


def test_a_file_over_the_limit_is_refused_before_it_is_parsed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "v8_persistent.toml"
    path.write_text(text + "# padding\n" * 300, encoding="utf-8")
    assert load_spec(path)
    path.write_text(text + "# padding\n" * (MAX_BYTES // 10), encoding="utf-8")
    with pytest.raises(GemmgenError, match="too large"):
        load_spec(path)


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("mma.cta_group", "cta_group = 2"),
        ("barriers[1].wait", 'wait = ["producer"]'),
        ("barriers.acc_empty.pre_armed", "pre_armed = true"),
        ("roles.mma.warps[0]", "mma = { warps = [4] }"),
        ("cluster", "[cluster]"),
    ],
)
def test_later_findings_are_placed_at_their_key(text: str, key: str, shown: str) -> None:
    _, source = load(SPECS / "v8_persistent.toml")
    (placed,) = source.place_all([Finding("P200", "t", key=key, source="1 + 1 = 2")])
    assert placed.source == f"{shown}\n1 + 1 = 2"
    assert text.split("\n")[placed.line - 1] == shown


def test_a_finding_of_an_absent_key_is_placed_at_its_table() -> None:
    _, source = load(SPECS / "v8_persistent.toml")
    (placed,) = source.place_all([Finding("P200", "t", key="scheduler.group_m")])
    assert source.lines[placed.line - 1] == "[scheduler]"
    assert placed.source == ""


def test_findings_survive_pickling_and_print_no_control_characters() -> None:
    error = GemmgenError([Finding("S100", "a\x1b[31m", file="f\n.toml", help="x\ny")])
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert "\x1b" not in str(error)
    assert str(error).splitlines()[1:] == ["  --> f\\n.toml", "   = x", "     y"]


def test_loading_imports_nothing_heavy() -> None:
    code = "import sys, gemmgen.spec; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "gemmgen.spec.model" in loaded
    assert not loaded & {"torch", "cutlass", "cuda", "numpy", "tomlkit", "jinja2", "difflib"}
