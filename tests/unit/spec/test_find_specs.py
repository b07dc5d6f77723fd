"""Names of specs, and the order of ladders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gemmgen.spec.find import all_specs, check_ladders, find_spec, predecessor_of
from gemmgen.terms import GemmgenError

ROOT = Path(__file__).parents[3]
Project = Callable[..., Path]


@pytest.fixture
def ladders(project: Project) -> Path:
    return project(
        v10_last="v9_middle",
        v9_middle="v2_first",
        v2_first=None,
        tirx__v2_tiled="v1_start",
        tirx__v1_start=None,
        tirx__v3_only_here="v2_tiled",
    )


def refusal(name: str, root: Path) -> str:
    with pytest.raises(GemmgenError) as caught:
        find_spec(name, root)
    (finding,) = caught.value.findings
    return f"{finding.code} {finding.help}"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("v10", "v10_last"),
        ("v2", "v2_first"),
        ("v2_first", "v2_first"),
        ("v9_mid", "v9_middle"),
        ("specs/v9_middle.toml", "v9_middle"),
        ("v9_middle.toml", "v9_middle"),
        ("tirx/v2", "tirx/v2_tiled"),
        ("tirx/v2_tiled.toml", "tirx/v2_tiled"),
        ("specs/tirx/v1_start.toml", "tirx/v1_start"),
        ("v3", "tirx/v3_only_here"),
        ("v2_tiled", "tirx/v2_tiled"),
    ],
)
def test_a_name_a_version_or_a_path_means_one_file(ladders: Path, name: str, found: str) -> None:
    assert find_spec(name, ladders) == ladders / "specs" / f"{found}.toml"


def test_a_path_outside_of_the_project_is_taken_as_it_is(ladders: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text("")
    assert find_spec(str(copy), ladders) == copy


def test_other_names_are_refused_with_a_way_out(ladders: Path, tmp_path: Path) -> None:
    assert refusal("v2_frist", ladders) == "S120 did you mean `v2_first`?"
    assert refusal("v", ladders) == "S121 one of `v2_first`, `v9_middle`, `v10_last`"
    assert refusal("zzz", ladders).startswith("S120 known: `v2_first`, `v9_middle`, `v10_last`")
    for name in ("", "\0", "x" * 5000 + ".toml", "../../etc/passwd", "specs/"):
        assert refusal(name, ladders).startswith("S120")
    assert refusal("v1", tmp_path / "empty").startswith("S120 there is no specs/ here")


def test_a_folder_and_a_broken_link_are_told_from_a_wrong_name(
    ladders: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(tmp_path / "gone.toml")
    assert refusal(str(tmp_path), ladders).startswith("S120 that is a folder")
    assert refusal(str(link), ladders) == "S120 that is a link to a file that is not there"
    whole = tmp_path / "whole"
    whole.symlink_to(__file__)
    assert "link" not in refusal(str(whole), ladders)


def test_specs_are_listed_by_ladder_each_after_its_predecessor(ladders: Path) -> None:
    names = [path.relative_to(ladders / "specs").as_posix() for path in all_specs(ladders)]
    assert names == [
        "v2_first.toml",
        "v9_middle.toml",
        "v10_last.toml",
        "tirx/v1_start.toml",
        "tirx/v2_tiled.toml",
        "tirx/v3_only_here.toml",
    ]


def test_a_spec_that_cannot_be_read_is_listed_too(ladders: Path) -> None:
    (ladders / "specs" / "v9_middle.toml").write_bytes(b"\xff")
    assert [path.stem for path in all_specs(ladders)][:3] == ["v2_first", "v9_middle", "v10_last"]


def test_the_predecessor_is_a_file_beside(ladders: Path) -> None:
    specs = ladders / "specs"
    assert predecessor_of(specs / "v10_last.toml") == specs / "v9_middle.toml"
    assert predecessor_of(specs / "v2_first.toml") is None
    (specs / "v9_middle.toml").unlink()
    with pytest.raises(GemmgenError, match="S112"):
        predecessor_of(specs / "v10_last.toml")


def test_ladders_that_lead_nowhere_or_in_circles_are_found(project: Project) -> None:
    root = project(a="b", b="c", c="b", d="gone", e=None)
    found = [(Path(f.file).stem, f.code) for f in check_ladders(root)]
    assert sorted(found) == [("b", "S113"), ("c", "S113"), ("d", "S112")]
    assert len(all_specs(root)) == 5


def test_committed_ladders_are_whole() -> None:
    assert check_ladders(ROOT) == []
    assert [path.stem.partition("_")[0] for path in all_specs(ROOT)][:9] == [
        f"v{i}" for i in range(9)
    ]
