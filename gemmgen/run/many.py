"""Testing many files in worker processes that stay warm, with every case told as it finishes."""

from __future__ import annotations

import ctypes
import multiprocessing as mp
import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gemmgen.records import CaseRecord, TestRecord
from gemmgen.run.processes import WorkerPool, shielded

if TYPE_CHECKING:
    from gemmgen.run.options import Options

Event = tuple[str, CaseRecord | None, int]
_events: Any = None


def verify_paths(
    paths: list[Path], options: Options, jobs: int | None = None
) -> Iterator[Event | TestRecord]:
    """Test every file; yields an event for each compile and case, and each file's record once.

    On a GPU, files run one by one, each in a process that is ended when a kernel hangs. In the
    emulator, a single file runs in this process, several in workers.

    Args:
        jobs: worker processes; the number of CPUs by default, never more than there are files.
    """
    if options.runner in ("gpu", "both") or (options.runner == "auto" and driver_is_here()):
        from gemmgen.run.watched import verify_watched

        return verify_watched(paths, options)
    jobs = min(jobs or os.cpu_count() or 1, len(paths))
    return _verify_here(paths[0], options) if len(paths) == 1 else _pool(paths, options, jobs)


def driver_is_here() -> bool:
    """Whether this machine has a CUDA driver at all; asked before torch is imported."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _verify_here(path: Path, options: Options) -> Iterator[Event | TestRecord]:
    from gemmgen.run.verify import verify_file

    found: queue.SimpleQueue[Event | TestRecord | Exception] = queue.SimpleQueue()

    def work() -> None:
        try:
            found.put(verify_file(path, options, lambda *event: found.put(event)))
        except Exception as error:
            found.put(error)

    threading.Thread(target=work, daemon=True).start()
    while True:
        event = found.get()
        if isinstance(event, Exception):
            raise event
        yield event
        if isinstance(event, TestRecord):
            return


def _start_worker(events: Any) -> None:
    global _events
    _events = events
    import torch

    torch.set_num_threads(1)


def _tell(file: str, case: CaseRecord | None, total: int) -> None:
    _events.put((file, case, total))


def _work(path: Path, options: Options) -> TestRecord:
    from gemmgen.run.verify import verify_file

    return verify_file(path, options, _tell)


def _pool(paths: list[Path], options: Options, jobs: int) -> Iterator[Event | TestRecord]:
    with shielded():
        events = mp.get_context("spawn").Manager().Queue()
    with WorkerPool(jobs, _start_worker, (events,)) as pool:
        waiting = {pool.submit(_work, path, options) for path in paths}
        while waiting:
            yield from _drain(events)
            done = {future for future in waiting if future.done()}
            waiting -= done
            yield from _drain(events, wait=False)
            yield from (future.result() for future in done)


def _drain(events: Any, *, wait: bool = True) -> Iterator[Event]:
    try:
        yield events.get(timeout=0.2) if wait else events.get_nowait()
        while True:
            yield events.get_nowait()
    except queue.Empty:
        return
