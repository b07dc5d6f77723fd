"""Testing many files in worker processes that stay warm, with every case told as it finishes."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing as mp
import os
import signal
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from gemmgen.records import CaseRecord, TestRecord
from gemmgen.run.processes import shielded
from gemmgen.run.require import require_torch

if TYPE_CHECKING:
    from gemmgen.run.options import Options

Event = tuple[str, CaseRecord | None, int]


def verify_paths(
    paths: list[Path], options: Options, jobs: int | None = None
) -> Iterator[Event | TestRecord]:
    """Test every file; yields an event for each compile and case, and each file's record once.

    On a GPU, files run one by one, each in a process that is ended when a kernel hangs. In the
    emulator they run in worker processes; a file that ends its process takes no other with it.

    Args:
        jobs: worker processes; the number of CPUs by default, never more than there are files.

    Raises:
        GemmgenError: T417, torch is not installed.
    """
    require_torch()
    if options.runner in ("gpu", "both") or (options.runner == "auto" and driver_is_here()):
        from gemmgen.run.watched import verify_watched

        return verify_watched(paths, options)
    return _emulate(paths, options, min(jobs or os.cpu_count() or 1, len(paths)))


def driver_is_here() -> bool:
    """Whether this machine has a CUDA driver at all; asked before torch is imported."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class _Worker:
    """A process that tests the paths it is sent; events come back, and last the record."""

    def __init__(self, options: Options, *, alone: bool) -> None:
        context = mp.get_context("spawn")
        with shielded():
            self.pipe, theirs = context.Pipe()
            self._process = context.Process(
                target=_serve, args=(theirs, options, alone), daemon=True
            )
            self._process.start()
        theirs.close()
        self.path = Path()
        self._last = ""

    def send(self, path: Path) -> None:
        """Start on a file."""
        self.path, self._last = path, ""
        with contextlib.suppress(OSError):  # it is dead, which `receive` finds
            self.pipe.send(path)

    def receive(self) -> Event | TestRecord:
        """What it tells next: waits. EOFError: it is dead."""
        try:
            event: Event | TestRecord = self.pipe.recv()
        except OSError:
            raise EOFError from None
        if not isinstance(event, TestRecord) and event[1] is not None:
            self._last = f", after {event[1].numerics} {'x'.join(map(str, event[1].shape))}"
        return event

    def died(self, options: Options) -> TestRecord:
        """The record of the file that this process ended with."""
        self._process.join()
        code = self._process.exitcode or 0
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        message = f"T415: {self.path.name} ended the process that tested it: {how}{self._last}"
        name = "none" if options.runner == "none" else "emulate"
        return TestRecord(str(self.path), "", "", name, "failed", message=message)

    def end(self) -> None:
        """At once."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Connection, options: Options, alone: bool) -> None:
    import torch

    from gemmgen.run.verify import verify_file

    if not alone:
        torch.set_num_threads(1)
    with contextlib.suppress(EOFError, OSError):  # who sends is gone
        while True:
            pipe.send(verify_file(pipe.recv(), options, lambda *event: pipe.send(event)))


def _emulate(paths: list[Path], options: Options, jobs: int) -> Iterator[Event | TestRecord]:
    todo = deque(paths)
    workers: dict[Connection, _Worker] = {}

    def start() -> None:
        worker = _Worker(options, alone=jobs == 1)
        workers[worker.pipe] = worker
        worker.send(todo.popleft())

    try:
        for _ in range(jobs):
            start()
        while workers:
            for pipe in wait(list(workers)):
                assert isinstance(pipe, Connection)
                yield from _hear(workers, pipe, todo, options)
            while todo and len(workers) < jobs:
                start()
    finally:
        for worker in workers.values():
            worker.end()


def _hear(
    workers: dict[Connection, _Worker], pipe: Connection, todo: deque[Path], options: Options
) -> Iterator[Event | TestRecord]:
    """One event of a worker; after a record it goes on with the next file, or ends."""
    worker = workers[pipe]
    try:
        event = worker.receive()
    except EOFError:
        yield worker.died(options)
        del workers[pipe]
        worker.end()
        return
    yield event
    if isinstance(event, TestRecord):
        if todo:
            worker.send(todo.popleft())
        else:
            del workers[pipe]
            worker.end()
