"""Testing many files in worker processes that stay warm, with every case told as it finishes."""

from __future__ import annotations

import multiprocessing as mp
import os
import queue
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from gemmgen.records import CaseRecord, TestRecord
from gemmgen.run.verify import Options, verify_file

Event = tuple[str, CaseRecord | None, int]
_events: Any = None


def _start_worker(events: Any) -> None:
    global _events
    _events = events
    import torch

    torch.set_num_threads(1)


def _tell(file: str, case: CaseRecord | None, total: int) -> None:
    _events.put((file, case, total))


def _work(path: Path, options: Options) -> TestRecord:
    return verify_file(path, options, _tell)


def verify_paths(
    paths: list[Path], options: Options, jobs: int | None = None
) -> Iterator[Event | TestRecord]:
    """Test every file; yields an event for each compile and case, and each file's record once.

    Args:
        jobs: worker processes; the number of CPUs by default, never more than there are files.
    """
    if options.runner in ("gpu", "both") or (options.runner == "auto" and _gpu_is_here()):
        from gemmgen.run.watched import verify_watched

        yield from verify_watched(paths, options)
        return
    jobs = min(jobs or os.cpu_count() or 1, len(paths))
    context = mp.get_context("spawn")
    events = context.Manager().Queue()
    with ProcessPoolExecutor(jobs, context, _start_worker, (events,)) as pool:
        waiting = {pool.submit(_work, path, options) for path in paths}
        try:
            while waiting:
                yield from _drain(events)
                done = {future for future in waiting if future.done()}
                waiting -= done
                yield from _drain(events, wait=False)
                yield from (future.result() for future in done)
        finally:
            _cancel(waiting)


def _gpu_is_here() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def _cancel(futures: set[Future[TestRecord]]) -> None:
    for future in futures:
        future.cancel()


def _drain(events: Any, *, wait: bool = True) -> Iterator[Event]:
    try:
        yield events.get(timeout=0.2) if wait else events.get_nowait()
        while True:
            yield events.get_nowait()
    except queue.Empty:
        return
