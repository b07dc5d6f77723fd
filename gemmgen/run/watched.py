"""Testing files on a GPU, each in a process of its own that is ended when a kernel hangs."""

from __future__ import annotations

import multiprocessing as mp
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gemmgen.records import CaseRecord, TestRecord
from gemmgen.run.options import Options
from gemmgen.run.verify import unexpected, verify_file

START_LIMIT = 120.0  # seconds for imports, compiling and the first CUDA context
CASE_LIMIT = 20.0  # seconds for one case, reference included

Event = tuple[str, CaseRecord | None, int]


def verify_watched(
    paths: list[Path],
    options: Options,
    *,
    start_limit: float = START_LIMIT,
    case_limit: float = CASE_LIMIT,
) -> Iterator[Event | TestRecord]:
    """Test every file on the GPU; events as `gemmgen.run.many.verify_paths` gives them.

    A file that is silent for too long is ended, and its record says which case hung.
    """
    context = mp.get_context("spawn")
    for path in paths:
        events = context.Queue()
        process = context.Process(target=_work, args=(path, options, events), daemon=True)
        process.start()
        try:
            yield from _follow(path, process, events, start_limit, case_limit)
        finally:
            process.kill()
            process.join()


def _work(path: Path, options: Options, events: Any) -> None:
    try:
        record = verify_file(path, options, lambda *event: events.put(event))
    except Exception as error:  # GEMMGEN_TRACEBACK, in a process that nobody reads
        record = unexpected(path, "gpu", error)
    events.put(record)


def _follow(
    path: Path, process: Any, events: Any, start_limit: float, case_limit: float
) -> Iterator[Event | TestRecord]:
    limit, last = start_limit, "in its first case"
    while True:
        try:
            event = _next(process, events, limit)
        except TimeoutError:
            message = f"T416: {path.name} hangs on the GPU: silent for {limit:.0f} s {last}"
            yield TestRecord(str(path), "", "", "gpu", "failed", message=message)
            return
        except EOFError:
            message = f"T415: the process that ran {path.name} died {last}"
            yield TestRecord(str(path), "", "", "gpu", "failed", message=message)
            return
        yield event
        if isinstance(event, TestRecord):
            return
        limit = case_limit
        if event[1] is not None:
            last = f"after {event[1].numerics} {'x'.join(map(str, event[1].shape))}"


def _next(process: Any, events: Any, limit: float) -> Event | TestRecord:
    """The next event; TimeoutError when there is none in time, EOFError when none will come."""
    waited = 0.0
    while waited < limit:
        try:
            event: Event | TestRecord = events.get(timeout=0.2)
        except queue.Empty:
            waited += 0.2
            if not process.is_alive() and events.empty():
                raise EOFError from None
            continue
        return event
    raise TimeoutError
