"""What README and docs say of the repository is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gemmgen.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
EXCERPT = re.compile(r"<!-- from (?P<path>\S+) -->\n```\w*\n(?P<text>.*?)```", re.DOTALL)
TABLE = re.compile(r"<!-- (ladder|rung) ")
LINK = re.compile(r"\]\((?!https?:|#)(?P<path>[^)#\s]+)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^(?:\.venv/bin/)?gemmgen ([a-z]+)", re.MULTILINE)
INLINE = re.compile(r"`gemmgen ([a-z]+)")


def _id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


page = pytest.mark.parametrize("path", PAGES, ids=_id)


@pytest.mark.parametrize(
    "path", [p for p in PAGES if TABLE.search(p.read_text(encoding="utf-8"))], ids=_id
)
def test_ladder_tables_are_current(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(main, ["ladder", "--into", str(path), "--check"])
    assert result.exit_code == 0, f"{result.output}run `gemmgen ladder --into {path.name}`"


def test_the_readme_has_the_table_of_the_first_ladder() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "<!-- ladder cute -->\n| kernel |" in text


@page
def test_excerpts_are_in_their_files(path: Path) -> None:
    for found in EXCERPT.finditer(path.read_text(encoding="utf-8")):
        source = _flush((ROOT / found["path"]).read_text(encoding="utf-8"))
        for piece in found["text"].split("…\n"):
            assert _flush(piece) in source, f"stale excerpt of {found['path']}:\n{piece}"


def _flush(text: str) -> str:
    """`text` without indentation: an excerpt may stand further left than its source."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


@page
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    broken = [link for link in LINK.findall(text) if not (path.parent / link).exists()]
    assert broken == []


@page
def test_commands_that_pages_name_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = {name for block in FENCE.findall(text) for name in SHELL.findall(block)}
    assert named | set(INLINE.findall(text)) <= set(COMMANDS)


def test_targets_that_pages_name_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"`make ([a-z]+)`|^make ([a-z]+)", text, re.MULTILINE))
        assert {a or b for a, b in named} <= targets, path


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "adr"
    index = (folder / "README.md").read_text(encoding="utf-8")
    for path in folder.glob("0*.md"):
        assert f"({path.name})" in index
