"""Whatever goes wrong is a message and an exit code, never a traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from gemmgen.cli import COMMANDS, main
from gemmgen.cli.common import ALLOWED
from gemmgen.compile.resources import ALLOWABLE
from gemmgen.report.explain import LAYERS, every_code, explain

PACKAGE = Path(__file__).parents[3] / "gemmgen"
LONG = ("--shape", "2048,2048,2048")  # runs for longer than the test waits
GEMMGEN = [sys.executable, "-m", "gemmgen"]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):
    """`gemmgen list`, made to raise."""

    def make(error: BaseException) -> None:
        @click.command("list")
        def command() -> None:
            raise error

        monkeypatch.setattr("gemmgen.cli.list.command", command)

    return make


def test_a_fault_of_gemmgen_is_one_message_and_exit_code_3(run, failing) -> None:
    failing(RuntimeError("one\ntwo"))
    result = run("list")
    assert result.exit_code == 3
    assert "error[T499]: gemmgen failed unexpectedly: RuntimeError: one\\ntwo" in result.stderr
    assert "GEMMGEN_TRACEBACK=1" in result.stderr


def test_a_traceback_can_be_asked_for(failing, monkeypatch) -> None:
    monkeypatch.setenv("GEMMGEN_TRACEBACK", "1")
    failing(RuntimeError("why"))
    with pytest.raises(RuntimeError, match="why"):
        main(["list"], standalone_mode=False)


def test_a_full_disk_is_told_with_its_file(run, failing) -> None:
    failing(OSError(28, "No space left on device", "out.json"))
    result = run("list")
    assert result.exit_code == 2
    assert (
        "error[T405]: cannot use the file: No space left on device\n  --> out.json" in result.stderr
    )


def test_an_interrupt_is_one_word_and_exit_code_130(run, failing) -> None:
    failing(KeyboardInterrupt())
    result = run("list")
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")


def test_a_closed_pipe_ends_the_command_in_silence(project: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*GEMMGEN, "render", "v5", "--stdout"], stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert done.stderr.strip() == ""
    assert done.returncode != 0


@pytest.mark.compile
def test_ctrl_c_while_kernels_run_leaves_no_traceback_and_no_process(kernel: Path) -> None:
    process = subprocess.Popen(
        [*GEMMGEN, "test", "generated", "--runner", "emulate", "--jobs", "2", *LONG],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=_heed_interrupts,
    )
    time.sleep(6)
    assert process.poll() is None, process.communicate()[0]
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert "Traceback" not in output, output
    assert process.returncode == 130, output
    assert _ends(process.pid, seconds=10)


def _heed_interrupts() -> None:
    """Undo what a shell does for a job in the background: it and its children ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _ends(group: int, seconds: float) -> bool:
    """Whether every process of `group` is gone within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_every_code_that_gemmgen_can_print_is_explained() -> None:
    used = set()
    for path in PACKAGE.rglob("*.py"):
        used |= set(re.findall(r"[\"']([A-Z]\d{3})[\"']", path.read_text(encoding="utf-8")))
    used = {code for code in used if code[0] in LAYERS}
    assert len(used) > 100
    assert used - set(every_code()) == set()


def test_what_commands_can_allow_is_what_the_compile_layer_can() -> None:
    assert set(ALLOWED) == ALLOWABLE


def test_explanations_are_sentences() -> None:
    for code in every_code():
        found = explain(code.lower())
        assert found is not None
        assert found.text.endswith(".")
        assert len(found.text) > 25


def test_importing_the_command_line_imports_no_heavy_package() -> None:
    code = f"""
import sys
from gemmgen.cli import main
import click
for name in {sorted(COMMANDS)!r}:
    assert main.get_command(click.Context(main), name) is not None
print(sorted({{"torch", "cutlass", "cuda"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_no_template_prints_has_a_heading_of_its_own(run) -> None:
    unprinted, wrong = explain("P293"), explain("P258")
    assert unprinted is not None
    assert wrong is not None
    assert (unprinted.layer, wrong.layer) == (LAYERS["P29"], LAYERS["P"])
    listed = run("explain").output.splitlines()
    heads = [line for line in listed if not line.startswith(" ")]
    assert len(heads) == len(set(heads)) == len(LAYERS)
