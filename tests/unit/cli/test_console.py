"""The command as a process: it ends at once when it may, with the same code and output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MARK = "import atexit; atexit.register(print, 'handled')\n"
RUN = "from gemmgen.console import run; run()"
# What Python does last of all: of an object of the main module it is the finaliser.
LAST = "class Last:\n    def __del__(self): print('taken down')\nlast = Last()\n"


def _python(code: str, *args: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload,no-any-return]


def test_a_command_leaves_at_once_after_its_exit_handlers() -> None:
    done = _python(MARK + LAST + RUN, "explain", "S102")
    assert done.returncode == 0
    assert done.stdout.endswith("handled\n")
    assert done.stdout.startswith("S102")


@pytest.mark.parametrize("held", ["multiprocessing", "concurrent.futures", "cProfile"])
def test_a_process_with_more_to_end_is_left_to_python(held: str) -> None:
    done = _python(f"import {held}\n" + LAST + RUN, "explain", "S102")
    assert done.returncode == 0
    assert done.stdout.endswith("taken down\n")


def test_a_thread_that_still_runs_is_waited_for() -> None:
    thread = "import threading\ndef late():\n    threading.main_thread().join(); print('late')\n"
    done = _python(thread + "threading.Thread(target=late).start()\n" + RUN, "explain", "S102")
    assert done.returncode == 0
    assert done.stdout.endswith("late\n")


@pytest.mark.parametrize(
    ("args", "code"), [(("explain", "S999"), 2), (("nothing",), 2), (("--help",), 0)]
)
def test_exit_codes_are_those_of_the_command_line(args: tuple[str, ...], code: int) -> None:
    ordinary = _python("from gemmgen.cli import main; main(prog_name='gemmgen')", *args)
    done = _python("from gemmgen.console import run; run('gemmgen')", *args)
    assert ordinary.returncode == code
    assert (done.returncode, done.stdout, done.stderr) == (
        ordinary.returncode,
        ordinary.stdout,
        ordinary.stderr,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_output_that_cannot_be_written_is_no_success() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "gemmgen", "explain", "S102"]
        done = subprocess.run(
            command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode != 0
    assert "No space left" in done.stderr


def test_output_is_whole_in_a_pipe_that_is_read_late() -> None:
    command = [sys.executable, "-m", "gemmgen", "render", "specs/v8_persistent.toml", "--stdout"]
    kernel = (ROOT / "generated" / "v8_persistent.py").read_bytes()
    reader, writer = os.pipe()
    with subprocess.Popen(command, cwd=ROOT, stdout=writer) as child:
        os.close(writer)
        with open(reader, "rb") as pipe:
            assert pipe.read() == kernel
    assert child.returncode == 0


def test_an_interrupt_while_the_command_line_is_imported_is_one_word() -> None:
    finder = """
import sys
class Finder:
    def find_spec(self, name, *_):
        if name == "gemmgen.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
"""
    done = _python(finder + RUN, "list")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
