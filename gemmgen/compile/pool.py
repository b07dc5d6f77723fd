"""Compiling many files at once, in worker processes that stay warm."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmgen.compile.cache import load_cached, store
from gemmgen.compile.errors import CompileError, failure
from gemmgen.compile.kernel import Compiled, compile_file, compile_options
from gemmgen.compile.process import Worker, WorkerError
from gemmgen.compile.resources import checked_allow, judge
from gemmgen.terms import Arch

TIME_LIMIT = 300.0


@dataclass(frozen=True)
class Outcome:
    """What became of one file: ``compiled`` or ``error``, and the seconds that it took."""

    path: str
    compiled: Compiled | None
    error: CompileError | None
    seconds: float


def compile_one(
    path: Path | str,
    *,
    allow: frozenset[str] = frozenset(),
    arch: Arch | None = None,
    cache: Path | None = None,
) -> Outcome:
    """Compile one file in this process; a failure is part of the outcome, never raised."""
    begin = time.perf_counter()
    compiled, error = None, None
    try:
        compiled = load_cached(cache, path, arch, compile_options())
        if compiled is None:
            compiled = compile_file(path, allow=allow, arch=arch)
            store(cache, compiled, arch, compile_options())
        findings = judge(compiled.resources, compiled.entry, compiled.path, allow)
        if findings:
            raise CompileError(findings)
    except CompileError as caught:
        compiled, error = None, caught
    except Exception as caught:  # a fault of gemmgen's own must not take the other files with it
        error = failure("C305", f"{type(caught).__name__}: {caught}", file=str(path))
    return Outcome(str(path), compiled, error, time.perf_counter() - begin)


def compile_paths(
    paths: Iterable[Path | str],
    jobs: int | None = None,
    *,
    allow: Iterable[str] = (),
    arch: Arch | None = None,
    cache: Path | None = None,
    time_limit: float = TIME_LIMIT,
) -> Iterator[Outcome]:
    """Compile files in parallel; yields an :class:`Outcome` for each as it finishes.

    Args:
        jobs: worker processes; 0: compile in this process. Default: one a core, and this process
            for a single file.
        allow: see :class:`gemmgen.compile.KernelUnderTest`.
        arch: for files without an ``ARCH`` of their own.
        cache: folder to keep results in, keyed by the file's text and path, the DSL's version and
            options; shared safely by several processes.
        time_limit: seconds for one file, after which its worker is ended.

    A worker that dies or overruns is replaced; its file's outcome is C312. Closing the iterator
    early ends the workers.
    """
    todo = [str(path) for path in paths]
    allowed = checked_allow(allow)
    count = _job_count(jobs, len(todo))
    if count == 0:
        return (compile_one(path, allow=allowed, arch=arch, cache=cache) for path in todo)
    request: dict[str, object] = {
        "allow": sorted(allowed),
        "arch": arch.value if arch else "",
        "cache": str(cache) if cache else "",
    }
    return _Pool(todo, request, count, time_limit).outcomes()


def _job_count(jobs: int | None, files: int) -> int:
    if jobs is None:
        return 0 if files <= 1 else min(files, os.cpu_count() or 1)
    return min(jobs, files)


class _Pool:
    """Threads, each with a worker of its own, that drain one queue of paths."""

    def __init__(
        self, paths: Sequence[str], request: dict[str, object], jobs: int, time_limit: float
    ) -> None:
        self._request = request
        self._time_limit = time_limit
        self._count = len(paths)
        self._todo: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._workers = [Worker() for _ in range(jobs)]
        self._stopped = threading.Event()
        for path in paths:
            self._todo.put(path)

    def outcomes(self) -> Iterator[Outcome]:
        """Start, yield what comes, and leave no process behind."""
        threads = [
            threading.Thread(target=self._drain, args=(worker,), daemon=True)
            for worker in self._workers
        ]
        try:
            for thread in threads:
                thread.start()
            for _ in range(self._count):
                yield self._done.get()
        finally:
            self._stopped.set()
            for worker in self._workers:
                worker.kill()
            for thread in threads:
                thread.join()

    def _drain(self, worker: Worker) -> None:
        while not self._stopped.is_set():
            try:
                path = self._todo.get_nowait()
            except queue.Empty:
                return
            self._done.put(self._ask(worker, path))

    def _ask(self, worker: Worker, path: str) -> Outcome:
        begin = time.perf_counter()
        try:
            outcome = worker.ask({"path": path, **self._request}, self._time_limit)
            assert isinstance(outcome, Outcome)
            return outcome
        except WorkerError as caught:
            error = failure(
                "C312",
                f"the compiler process {caught.reason}",
                file=path,
                source=caught.last_words,
                help="compile this file alone, with --jobs 0, to see all that it prints",
            )
            return Outcome(path, None, error, time.perf_counter() - begin)
