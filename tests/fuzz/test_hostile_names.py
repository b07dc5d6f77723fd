"""Whatever stands in the words of a spec, nothing leaves `generated/` and no code changes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.values import texts
from gemmgen.cli import main
from gemmgen.run.generate import generate
from gemmgen.spec.override import override
from gemmgen.terms import GemmgenError

BASE = "v0_single_tile"
HOSTILE = (
    *("../../escaped", "/escaped", "a/../../escaped", "..\\escaped", "~/escaped", "escaped\0"),
    *('x"""\nimport os\n"""', "x'''", 'x" + exit() + "', "x\\", "\\x22", "x\nimport os", "x\r\ny"),
    *("{{ 7 * 7 }}", "{% raw %}", "{# x", "x }}", "${x}", "{x}", "%s %(x)s", "# x", "x\u2028y"),
    *("\u202ex", "\x1b[31mx", "__import__('os')", "v0; import os", "import", "con", "sys", ""),
)
WORDS = ("name", "title", "lineage.what", "lineage.why", "lineage.ladder", "barriers[0].name")
words = st.sampled_from(HOSTILE) | st.text(max_size=30) | st.text("ab_.{}%#'\"\\/\n", max_size=12)


def project(folder: Path, changes: dict[str, str]) -> Path | None:
    """A project whose one spec has the changes; None where TOML cannot hold them."""
    spec = folder / "specs" / f"{BASE}.toml"
    spec.parent.mkdir(parents=True, exist_ok=True)
    try:
        spec.write_text(override(texts()[BASE], changes), "utf-8")
    except (GemmgenError, UnicodeEncodeError):
        return None
    return spec


def code_of(source: str) -> str:
    """The syntax tree of a kernel without its docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            is_text = [
                isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in node.body
            ]
            node.body = [s for s, text in zip(node.body, is_text, strict=True) if not text]
    return ast.dump(tree)


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@given(st.dictionaries(st.sampled_from(WORDS[:-1]), words, min_size=1, max_size=2))
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_words_of_a_spec_are_refused_or_stay_in_docstrings(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    spec = project(folder, changes)
    if spec is None:
        return
    try:
        made = generate(spec)
    except GemmgenError as refusal:
        refused = refusal.findings
    else:
        refused = []
    assert all(f.code.startswith("S1") and f.title for f in refused)
    if refused:
        return
    made.write()
    assert files(folder) == {f"specs/{BASE}.toml", f"generated/{BASE}.py"}
    untouched = project(folder / "untouched", {})
    assert untouched is not None
    assert code_of(made.source) == code_of(generate(untouched).source)


def test_odd_but_lawful_words_reach_the_docstring_alone(tmp_path: Path) -> None:
    odd = "{x} # 'y' %s ${z} <é>"
    spec, untouched = project(tmp_path / "a", {"title": odd}), project(tmp_path / "b", {})
    assert spec is not None
    assert untouched is not None
    made = generate(spec).source
    assert odd in (ast.get_docstring(ast.parse(made)) or "")
    assert code_of(made) == code_of(generate(untouched).source)
    assert code_of(made) != code_of(made.replace("THREADS = 128", "THREADS = 64"))


@pytest.mark.parametrize("key", WORDS)
@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_end_render_with_a_code_or_a_kernel(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    word: str,
) -> None:
    spec = project(tmp_path, {key: word})
    if spec is None:
        return
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["render", str(spec.relative_to(tmp_path))])
    said = capfd.readouterr()
    assert "Traceback" not in said.err + said.out
    if ended.value.code in (0, None):
        assert files(tmp_path) == {f"specs/{BASE}.toml", f"generated/{BASE}.py"}
    else:
        assert "error[S1" in said.err + said.out
        assert files(tmp_path) == {f"specs/{BASE}.toml"}
