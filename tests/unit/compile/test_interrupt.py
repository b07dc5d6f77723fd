"""An interrupt waits for native code to end, and no longer than the second one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from gemmgen.compile.interrupt import held_interrupts

TWICE = """
import os, signal
from gemmgen.compile.interrupt import held_interrupts
with held_interrupts():
    os.kill(os.getpid(), signal.SIGINT)
    print("still here", flush=True)
    os.kill(os.getpid(), signal.SIGINT)
    print("never", flush=True)
"""
PRESS = """
import os

def press():
    os.kill(os.getpid(), 2)
    os.write(2, b"went on, ")
"""


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    before, done = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        done.append("all")

    with pytest.raises(KeyboardInterrupt), held_interrupts():
        work()
    assert done == ["all"]
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_comes_before_what_the_block_raised() -> None:
    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError

    with pytest.raises(KeyboardInterrupt), held_interrupts():
        work()


def test_a_second_interrupt_ends_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWICE],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "still here\n", "interrupted\n")


def test_other_threads_and_ignored_interrupts_are_left_alone() -> None:
    handlers = []

    def work() -> None:
        with held_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [before]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert handlers[1] is signal.SIG_IGN


@pytest.mark.compile
def test_an_interrupt_while_a_kernel_is_traced_aborts_nothing(edited) -> None:
    path = edited(
        ("THREADS = 64", f"THREADS = 64\n{PRESS}"),
        ("total = cutlass.Float32(0)", "total = (press(), cutlass.Float32(0))[1]"),
    )
    done = subprocess.run(
        [sys.executable, "-m", "gemmgen", "compile", "--jobs", "0", str(path)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == (130, "went on, interrupted\n")
