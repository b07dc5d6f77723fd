"""Commands that read specs: check, fmt, list, show, schema, explain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console

from gemmgen.cli import COMMANDS, show
from gemmgen.plan import Section

BAD = {
    "missing": ("specs/nope.toml", "S120"),
    "folder": ("specs", "S120"),
    "typo": ("v5_epilog_", "did you mean `v5_epilogue`?"),
}


@pytest.mark.parametrize("command", ["check", "render", "show", "fmt"])
@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_spec_is_bad_input_with_a_way_out(project, run, command, kind) -> None:
    name, said = BAD[kind]
    result = run(command, name)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "\n   = " in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["check", "render", "show", "fmt"])
def test_a_spec_that_is_not_utf8_is_bad_input(spec: Path, run, command) -> None:
    spec.write_bytes(b'name = "\xff"\n')
    result = run(command, "specs/v5_epilogue.toml")
    assert result.exit_code == 2
    assert "error[S100]: the spec is not UTF-8" in result.stderr


@pytest.mark.parametrize("command", ["check", "render", "list"])
def test_outside_of_a_project_the_way_out_is_told(tmp_path, monkeypatch, run, command) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(command, *([] if command == "list" else ["--all"]))
    assert result.exit_code == 2
    assert "error[T401]" in result.stderr


def test_a_copy_outside_of_specs_does_not_overwrite_the_kernel_of_another(project, run) -> None:
    kernel = project / "generated" / "v5_epilogue.py"
    before = kernel.read_bytes()
    own = project / "own" / "v5_epilogue.toml"
    own.parent.mkdir()
    spec = (project / "specs" / "v5_epilogue.toml").read_text()
    own.write_text(spec.replace("ab_stages = 4", "ab_stages = 3"))
    result = run("render", "own/v5_epilogue.toml")
    assert result.exit_code == 2
    assert "error[R303]" in result.stderr
    assert "-o FILE" in result.stderr
    assert kernel.read_bytes() == before
    assert run("render", "own/v5_epilogue.toml", "-o", "own/v5_epilogue.py").exit_code == 0


@pytest.mark.parametrize("there", ["specs/v4_swizzle.toml", "generated/v4_swizzle.py"])
def test_an_output_that_belongs_to_another_spec_is_refused(project, run, there: str) -> None:
    before = (project / there).read_bytes()
    result = run("render", "v5", "-o", there)
    assert result.exit_code == 2
    assert f"error[R303]: {there} is " in result.stderr
    assert (project / there).read_bytes() == before
    for free in ("generated/v5_epilogue.py", "generated/mine.py", "mine.py", "mine.py"):
        assert run("render", "v5", "-o", free).exit_code == 0


def test_check_tells_every_fault_of_every_spec(project: Path, run) -> None:
    for path in (project / "specs").glob("*.toml"):
        path.write_text(path.read_text().replace("ab_stages = 4", "ab_stages = 40"))
    result = run("check", "v4", "v5")
    assert result.exit_code == 2
    assert result.stderr.count("error[P220]") == 2
    assert result.stderr.endswith("errors\n")


def test_check_of_all_specs_checks_the_ladders(spec: Path, run) -> None:
    assert run("check", "--all").exit_code == 0
    spec.write_text(spec.read_text().replace('"v4_swizzle"', '"v4_swizzel"'))
    result = run("check", "--all")
    assert result.exit_code == 2
    assert "error[S112]" in result.stderr


def test_check_wants_names_or_all_and_not_both(project, run) -> None:
    for arguments in ([], ["v4", "--all"]):
        result = run("check", *arguments)
        assert result.exit_code == 2
        assert "name one or more specs, or give --all" in result.stderr


def test_fmt_check_writes_nothing_and_fmt_does(spec: Path, run) -> None:
    good = spec.read_text()
    spec.write_text(good.replace("ab_stages = 4", "ab_stages   =   4"))
    untidy = spec.read_text()
    assert run("fmt", "--check").exit_code == 1
    assert spec.read_text() == untidy
    result = run("fmt")
    assert (result.exit_code, result.stdout) == (0, "formatted specs/v5_epilogue.toml\n")
    assert spec.read_text() == good
    assert run("fmt", "--check").exit_code == 0


def test_fmt_writes_no_spec_when_one_cannot_be_read(spec: Path, run) -> None:
    spec.write_text(spec.read_text().replace("ab_stages = 4", "ab_stages   =   4"))
    before = spec.read_text()
    spec.with_name("v4_swizzle.toml").write_text("name = \n")
    assert run("fmt").exit_code == 2
    assert spec.read_text() == before


def test_list_says_which_kernel_is_stale_or_missing_and_which_spec_is_refused(
    project: Path, run
) -> None:
    kernel = project / "generated" / "v5_epilogue.py"
    kernel.write_text(kernel.read_text() + "# edited\n")
    (project / "generated" / "v4_swizzle.py").unlink()
    (project / "specs" / "x_bad.toml").write_text("schema = 1\n")
    result = run("list")
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert "stale" in rows["v5_epilogue"]
    assert "missing" in rows["v4_swizzle"]
    assert "refused" in rows["x_bad"]
    assert "S101" in rows["x_bad"]


def test_list_has_one_line_a_spec_in_80_columns(project: Path, run, monkeypatch) -> None:
    monkeypatch.setattr("rich.console.Console.is_terminal", property(lambda self: True))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    lines = run("list").stdout.splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)


def test_show_prints_the_golden_form_when_piped(project, run) -> None:
    result = run("show", "v5")
    assert result.exit_code == 0
    assert result.stdout == run("show", "v5", "--plain").stdout
    assert "ab_empty[4]" in result.stdout


def test_show_stacks_a_table_that_is_wider_than_the_terminal() -> None:
    section = Section("Barriers", ("barrier", "waits"), (("ab_full", "x" * 60),))
    wide, narrow = Console(width=100, file=None), Console(width=40)
    with wide.capture() as across:
        wide.print(*show._parts(section, wide))
    with narrow.capture() as stacked:
        narrow.print(*show._parts(section, narrow))
    assert across.get().splitlines()[1].startswith("ab_full  xxx")
    assert stacked.get().splitlines()[0] == "ab_full"
    assert stacked.get().count("x") == 60


def test_schema_is_json_on_stdout_or_in_a_file(project: Path, run) -> None:
    printed = json.loads(run("schema").stdout)
    assert run("schema", "-o", "here/schema.json").exit_code == 0
    assert json.loads((project / "here" / "schema.json").read_text()) == printed


def test_explain_knows_codes_in_either_case_and_lists_them_all(run) -> None:
    assert run("explain", "s102", "E201").stdout.startswith("S102: a spec that cannot be read\n")
    listed = run("explain").stdout
    for code in ("S100", "P220", "R301", "C305", "E211", "T405"):
        assert f"\n  {code} " in listed


def test_explain_of_an_unknown_code_is_bad_input(run) -> None:
    result = run("explain", "X999", "S102")
    assert result.exit_code == 2
    assert "error[T408]: no such code: X999" in result.stderr
    assert result.stdout == ""


def _help(result: Result) -> str:
    assert result.exit_code == 0
    return result.stdout


def test_every_command_has_help_and_the_list_fits_80_columns(run) -> None:
    listed = _help(run("--help"))
    assert all(f"  {name} " in listed for name in COMMANDS)
    assert all(len(line) <= 80 for line in listed.splitlines())
    assert "Exit codes" in listed
    for name in COMMANDS:
        assert f"Usage: main {name}" in _help(run(name, "--help"))


def test_an_unknown_command_gets_a_suggestion(run) -> None:
    result = run("rendre")
    assert result.exit_code == 2
    assert "Did you mean 'render'?" in result.stderr
