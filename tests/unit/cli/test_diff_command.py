"""`gemmgen diff`: two kernels, or the steps of a ladder."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_diff_exits_as_diff_does(project, run) -> None:
    assert run("diff", "v5", "v5").exit_code == 0
    result = run("diff", "v4", "v5", "--stat")
    assert result.exit_code == 1
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["spec", "kernel"]
    assert run("diff", "v4", "nope").exit_code == 2


def test_colours_are_left_out_where_the_environment_declines_them(monkeypatch) -> None:
    from gemmgen.cli.diff import _wanted

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert _wanted() is None
    monkeypatch.setenv("NO_COLOR", "1")
    assert _wanted() is False
    monkeypatch.setenv("NO_COLOR", "")
    assert _wanted() is None
    monkeypatch.setenv("TERM", "dumb")
    assert _wanted() is False


def test_diff_takes_edited_copies_and_ignores_header_and_indentation(kernel: Path, run) -> None:
    copy = kernel.with_name("mine.py")
    copy.write_text("# another header\n" + kernel.read_text())
    assert run("diff", kernel, copy).exit_code == 0
    assert run("diff", kernel, copy, "--exact").exit_code == 1
    copy.write_text(kernel.read_text().replace("phase ^= 1", "phase ^= 0"))
    result = run("diff", "v5", copy)
    assert result.exit_code == 1
    assert "+" in result.stdout
    assert "phase ^= 0" in result.stdout


def test_diff_of_a_file_that_cannot_be_read_is_bad_input(kernel: Path, run) -> None:
    kernel.write_bytes(b"\xff\xfe")
    for name in (kernel, "nope.py", kernel.parent / "folder.py"):
        (kernel.parent / "folder.py").mkdir(exist_ok=True)
        result = run("diff", "v4", name)
        assert result.exit_code == 2
        assert "error[T405]" in result.stderr


def test_diff_wants_two_names_or_a_ladder(project, run) -> None:
    for arguments in (["v4"], [], ["v4", "v5", "--ladder", "cute"], ["v4", "v5", "-U", "-1"]):
        assert run("diff", *arguments).exit_code == 2


def test_diff_of_a_ladder_counts_every_step(project, run) -> None:
    result = run("diff", "--ladder", "cute")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "v4_swizzle -> v5_epilogue"
    assert lines[3].startswith("  regions: epilogue")
    assert lines[-1].startswith("kernel lines a step: median ")
    pair = run("diff", "v4", "v5", "--stat").stdout.splitlines()
    assert [line.strip() for line in lines[1:3]] == pair


def test_specs_that_follow_none_are_named_and_make_no_step(project: Path, run) -> None:
    spec = project / "specs" / "v5_epilogue.toml"
    spec.write_text(spec.read_text().replace('predecessor = "v4_swizzle"\n', ""))
    result = run("diff", "--ladder", "cute")
    assert result.exit_code == 0
    assert "->" not in result.stdout
    assert "without a predecessor, so no step: v4_swizzle, v5_epilogue" in result.stdout


def test_steps_are_told_beside_a_spec_that_is_refused(project: Path, run) -> None:
    spec = project / "specs" / "v5_epilogue.toml"
    draft = spec.read_text().replace('"v5_epilogue"', '"draft"')
    (project / "specs" / "draft.toml").write_text(draft.replace("ab_stages = 4", "ab_stages = 40"))
    above = spec.read_text().replace('"v5_epilogue"', '"above"')
    above = above.replace('predecessor = "v4_swizzle"', 'predecessor = "draft"')
    (project / "specs" / "above.toml").write_text(above)
    result = run("diff", "--ladder", "cute")
    assert result.exit_code == 2
    lines = result.stdout.splitlines()
    assert lines[0] == "v4_swizzle -> v5_epilogue"
    assert lines[-1].startswith("kernel lines a step: median ")
    assert not [line for line in lines if "without a predecessor" in line or "above" in line]
    assert "draft.toml" in result.stderr
    assert run("ladder", "cute").exit_code == 2


def test_an_unknown_ladder_is_bad_input(project, run) -> None:
    for command in (["diff", "--ladder", "cut"], ["ladder", "cut"]):
        result = run(*command)
        assert result.exit_code == 2
        assert "error[T406]: no ladder `cut`" in result.stderr
        assert "known: `cute`" in result.stderr


def test_files_are_compared_with_the_specs_that_they_name(run) -> None:
    by_name = run("diff", "v7", "v8", "--stat").stdout
    files = [ROOT / f"generated/{name}.py" for name in ("v7_two_cta", "v8_persistent")]
    assert run("diff", *files, "--stat").stdout == by_name
    assert by_name.startswith("spec: ")
