"""Hundreds of compiles in one process: CuTe DSL's thread pools once piled up until it failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gemmgen.compile import KernelUnderTest

torch = pytest.importorskip("torch")
pytest.importorskip("cutlass")
pytestmark = pytest.mark.compile

Edit = Callable[..., Path]


def status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])


def compile_many(edited: Edit, count: int) -> tuple[int, int, int]:
    """Threads, open files and KiB of memory gained by all but the first few of `count` compiles."""
    a, b, d = (torch.zeros(64, 64, dtype=torch.float16) for _ in range(3))
    settled = count // 4
    base = (0, 0, 0)
    for index in range(count):
        kernel = KernelUnderTest(edited(("THREADS = 64", f"THREADS = {32 + index % 64}")))
        assert kernel.launch(a, b, d).grid[1] == 64
        files = len(list(Path("/proc/self/fd").iterdir()))
        now = (status("Threads:"), files, status("VmRSS:"))
        if index == settled:
            base = now
    return now[0] - base[0], now[1] - base[1], now[2] - base[2]


def test_compiles_leave_no_thread_and_no_file_behind(edited: Edit) -> None:
    threads, files, _ = compile_many(edited, 8)
    assert threads <= 0
    assert files <= 0


@pytest.mark.slow
def test_two_hundred_compiles_in_one_process_work(edited: Edit) -> None:
    threads, files, kib = compile_many(edited, 200)
    assert threads <= 0
    assert files <= 0
    assert kib < 200 * 1024
