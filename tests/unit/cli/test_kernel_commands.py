"""Commands that write and read kernels: render, diff, ladder, compile, build, test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gemmgen.records import CaseRecord, TestRecord, write_records
from gemmgen.spec import digest, load_spec

ROOT = Path(__file__).parents[3]

MARKS = "before\n<!-- ladder cute -->\nold\n<!-- end ladder -->\nafter\n"


def test_render_writes_once_and_then_finds_the_file_current(kernel: Path, run) -> None:
    source = kernel.read_bytes()
    kernel.unlink()
    assert run("render", "v5").stdout == "written  generated/v5_epilogue.py\n"
    assert kernel.read_bytes() == source
    assert run("render", "v5").stdout == "current  generated/v5_epilogue.py\n"


def test_render_check_fails_on_a_stale_file_and_leaves_it(kernel: Path, run) -> None:
    kernel.write_text("stale\n")
    result = run("render", "--all", "--check")
    assert result.exit_code == 1
    assert "STALE    generated/v5_epilogue.py" in result.stdout
    assert kernel.read_text() == "stale\n"


def test_render_to_stdout_prints_the_file_and_writes_nothing(kernel: Path, run) -> None:
    source = kernel.read_text()
    kernel.unlink()
    assert run("render", "v5", "--stdout").stdout == source
    assert not kernel.exists()


def test_render_writes_no_file_when_one_spec_is_refused(project: Path, run) -> None:
    spec = project / "specs" / "v4_swizzle.toml"
    spec.write_text(spec.read_text().replace("ab_stages = 4", "ab_stages = 40"))
    kernel = project / "generated" / "v5_epilogue.py"
    kernel.unlink()
    assert run("render", "--all").exit_code == 2
    assert not kernel.exists()


@pytest.mark.parametrize("command", [("render", "v5"), ("schema",)])
def test_an_output_that_cannot_be_written_is_bad_input(kernel: Path, run, command) -> None:
    target = kernel / "inside_a_file.py"
    result = run(*command, "-o", target)
    assert result.exit_code == 2
    assert "error[T405]: cannot use the file" in result.stderr


HUGE = "9" * 20


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("test", ("--seed", "--sm-count", "--schedules", "--jobs")),
        ("trace", ("--seed", "--sm-count", "--width")),
        ("compile", ("--jobs",)),
        ("bench", ("--rounds", "--slice-ms", "--settle-ms", "--alone")),
        ("ablate", ("--rounds", "--slice-ms")),
        ("sweep", ("--rounds", "--slice-ms", "--jobs")),
    ],
)
def test_a_number_beyond_all_use_is_bad_input(project, run, command: str, options) -> None:
    for option in options:
        result = run(command, "v5", option, HUGE)
        assert result.exit_code == 2
        assert f"Invalid value for '{option}'" in result.stderr


def test_nothing_is_called_written_that_is_not(kernel: Path, run) -> None:
    result = run("render", "v5", "-o", kernel / "inside_a_file.py")
    assert result.stdout == ""


@pytest.mark.parametrize(
    "command",
    [("render", "v5"), ("compile", "x.py"), ("test", "x.py"), ("build", "x.py", "-o", "o")],
)
def test_allowing_what_there_is_not_is_bad_input(project, run, command) -> None:
    result = run(*command, "--allow", "nonsense")
    assert result.exit_code == 2
    assert "--allow" in result.stderr


def test_render_takes_one_spec_for_one_output(project, run) -> None:
    assert run("render", "--all", "-o", "x.py").exit_code == 2


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


def test_ladder_brings_the_table_of_a_document_up_to_date(project: Path, run) -> None:
    document = project / "README.md"
    document.write_text(MARKS)
    assert run("ladder", "--into", document, "--check").exit_code == 1
    assert document.read_text() == MARKS
    assert run("ladder", "--into", document).stdout == f"written  {document}\n"
    text = document.read_text()
    assert text.startswith("before\n<!-- ladder cute -->\n| kernel |")
    assert text.endswith("<!-- end ladder -->\nafter\n")
    assert "[`v5_epilogue`](generated/v5_epilogue.py)" in text
    assert run("ladder", "--into", document, "--check").exit_code == 0


@pytest.mark.parametrize("text", ["no marks\n", MARKS.replace("cute", "other")])
def test_a_document_without_a_place_for_the_table_is_bad_input(project: Path, run, text) -> None:
    document = project / "README.md"
    document.write_text(text)
    assert run("ladder", "--into", document).exit_code == 2
    assert document.read_text() == text


def test_ladder_calls_verified_only_what_was_verified_in_this_form(spec: Path, run) -> None:
    case = CaseRecord((128, 256, 64), "exact", "passed", 0.0)
    figures = {
        "registers": 94, "dynamic_smem_bytes": 1024, "static_smem_bytes": 0, "tmem_columns": 256,
    }  # fmt: skip
    mark = digest(load_spec(spec))
    record = TestRecord("x.py", "x", mark, "emulate", "passed", figures, (case,))
    write_records(Path("records.json"), [record])
    line = run("ladder", "--records", "records.json").stdout.splitlines()[-1]
    assert line.endswith("| emulator, 1 cases |")
    assert "94, 1.0 KiB, 256 columns" in line
    spec.write_text(spec.read_text().replace("register_buffers = 2", "register_buffers = 1"))
    changed = run("ladder", "--records", "records.json").stdout.splitlines()[-1]
    assert changed.endswith("| no |")


@pytest.mark.parametrize("text", ["{", "{}", '{"schema": 9, "tests": []}', "\udcff"])
def test_what_is_no_record_is_bad_input(project: Path, run, text: str) -> None:
    Path("records.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    result = run("ladder", "--records", "records.json")
    assert result.exit_code == 2
    assert "error[T411]" in result.stderr


@pytest.mark.parametrize("command", ["compile", "test", "build"])
@pytest.mark.parametrize("path", ["nope.py", "empty", "specs/v5_epilogue.toml"])
def test_a_path_without_a_kernel_is_bad_input(project: Path, run, command, path) -> None:
    (project / "empty").mkdir()
    (project / "empty" / "plain.py").write_text("x = 1\n")
    result = run(command, path, *(["-o", "out"] if command == "build" else []))
    assert result.exit_code == 2
    assert "error[T404]" in result.stderr


@pytest.mark.parametrize("shape", ["256", "1,2", "a,b,c", "1,2,3,4", "-1,256,64", "1.5,256,64"])
def test_a_shape_that_is_none_is_bad_input(kernel: Path, run, shape: str) -> None:
    result = run("test", kernel, "--shape", shape)
    assert result.exit_code == 2
    assert "is not M,N,K, for instance" in result.stderr


@pytest.mark.parametrize("shape", ["0,256,64", "128,256,0", "1000000,1000000,64"])
def test_a_shape_without_elements_or_beyond_memory_is_bad_input(kernel, run, shape) -> None:
    result = run("test", kernel, "--shape", shape)
    assert result.exit_code == 2
    assert "a matrix has 1 to 2^31 elements" in result.stderr


@pytest.mark.parametrize(
    "option", [("--sm-count", "0"), ("--jobs", "0"), ("--max-failures", "-1"), ("--timing", "x")]
)
def test_an_option_out_of_range_is_bad_input(kernel: Path, run, option) -> None:
    result = run("test", kernel, *option)
    assert result.exit_code == 2
    assert f"Invalid value for '{option[0]}'" in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [("x = 1\n", "error[T402]"), ("# spec: specs/gone.toml\nx = 1\n", "error[T403]")],
)
def test_a_file_without_a_spec_fails_with_a_way_out(kernel: Path, run, text, said) -> None:
    kernel.write_text(text)
    result = run("test", kernel)
    assert result.exit_code == 1
    assert said in result.output
    assert "   = " in result.output


def test_a_file_that_is_no_kernel_fails_to_compile(kernel: Path, run) -> None:
    pytest.importorskip("cutlass")
    kernel.write_text("# spec: specs/v5_epilogue.toml\nx = 1\n")
    for command in (
        ["test", kernel],
        ["compile", kernel, "--jobs", "0"],
        ["build", kernel, "-o", "o"],
    ):
        result = run(*command)
        assert result.exit_code == 1, command
        assert "error[C304]: the file has no `gemm`" in result.output


def test_a_gpu_that_is_not_there_is_named(
    kernel: Path, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gemmgen.run.many.driver_is_here", lambda: False)
    for runner in ("gpu", "both"):
        result = run("test", kernel, "--runner", runner)
        assert result.exit_code == 2
        assert "error[T410]: cannot run kernels on a GPU" in result.stderr


def test_two_files_of_one_name_are_not_built_over_each_other(kernel: Path, run) -> None:
    other = kernel.parent / "other" / kernel.name
    other.parent.mkdir()
    other.write_bytes(kernel.read_bytes())
    for command in ("build", "compile"):
        result = run(command, kernel.parent, "-o", "out")
        assert result.exit_code == 2
        assert "several files are called v5_epilogue" in result.stderr


@pytest.mark.compile
def test_compile_writes_ptx_and_cubin_and_a_table(kernel: Path, run) -> None:
    result = run("compile", kernel, "-o", "out", "--jobs", "0")
    assert result.exit_code == 0
    assert (kernel.parents[1] / "out" / "v5_epilogue.ptx").read_text().count(".entry") == 1
    assert (kernel.parents[1] / "out" / "v5_epilogue.cubin").read_bytes()[:4] == b"\x7fELF"
    assert "v5_epilogue.py" in result.stdout


@pytest.mark.compile
def test_a_good_kernel_passes_and_a_broken_copy_fails_with_its_place(kernel: Path, run) -> None:
    shape = ["--shape", "128,256,320"]
    good = run("test", kernel, *shape, "--json", "good.json")
    assert good.exit_code == 0, good.output
    (record,) = json.loads(Path("good.json").read_text())["tests"]
    assert (record["status"], len(record["cases"])) == ("passed", 2)
    copy = kernel.with_name("mine.py")
    text = kernel.read_text()
    broken = text.replace("phase ^= 1  # a barrier is reused once a lap", "phase ^= 0", 1)
    assert broken != text
    copy.write_text(broken)
    bad = run("test", copy, *shape)
    assert bad.exit_code == 1
    assert "FAILED mine.py exact 128x256x320" in bad.output


@pytest.mark.compile
def test_a_shape_that_the_kernel_cannot_do_is_refused_by_name(kernel: Path, run) -> None:
    result = run("test", kernel, "--shape", "100,256,64")
    assert result.exit_code == 1
    assert "refused 100x256x64: M, N = 100, 256: must be multiples of 128, 256" in result.output


def test_files_are_compared_with_the_specs_that_they_name(run) -> None:
    by_name = run("diff", "v7", "v8", "--stat").stdout
    files = [ROOT / f"generated/{name}.py" for name in ("v7_two_cta", "v8_persistent")]
    assert run("diff", *files, "--stat").stdout == by_name
    assert by_name.startswith("spec: ")
