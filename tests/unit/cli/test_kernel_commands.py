"""Commands that write and read kernels: render, compile, build, test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


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
