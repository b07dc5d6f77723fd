"""Worker processes that take one mutant at a time; one that dies or overruns is replaced."""

from __future__ import annotations

import multiprocessing as mp
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from mutants.model import Detector, Mutant, Outcome

SECONDS = 600.0
RECYCLE = 150  # mutants a process: compilers keep what they made


def _work(pipe: Connection) -> None:
    """Take mutants until told to stop."""
    import torch

    from mutants.catalogue import kind_named
    from mutants.detect import detect, subject_of

    torch.set_num_threads(1)
    while (job := pipe.recv()) is not None:
        kind, rung, site, content = job
        mutant = Mutant(kind_named(kind), rung, site, content)
        try:
            outcome = detect(mutant, subject_of(rung))
        except Exception as error:
            outcome = Outcome(Detector.BROKEN, type(error).__name__, str(error)[:500])
        pipe.send(outcome)


@dataclass
class Worker:
    """A process, its pipe, and what it works on since when."""

    process: Any
    pipe: Connection
    mutant: Mutant | None = None
    since: float = 0.0
    done: int = 0

    def give(self, mutant: Mutant) -> None:
        """Hand over a mutant."""
        self.mutant, self.since = mutant, time.monotonic()
        self.pipe.send((mutant.kind.name, mutant.rung, mutant.site, mutant.content))

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _start() -> Worker:
    context = mp.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, ours)


def run(mutants: Iterable[Mutant], jobs: int) -> Iterator[tuple[Mutant, Outcome]]:
    """Outcomes, as they come."""
    todo = iter(mutants)
    workers: list[Worker] = []
    try:
        for mutant in todo:
            if len(workers) < jobs:
                workers.append(_start())
                workers[-1].give(mutant)
                continue
            worker, found = _next(workers)
            yield found
            _free(workers, worker).give(mutant)
        while any(worker.mutant for worker in workers):
            yield _next(workers)[1]
    finally:
        for worker in workers:
            worker.end()


def _free(workers: list[Worker], worker: Worker) -> Worker:
    """`worker`, or a new one in its place."""
    if worker.process.is_alive() and worker.done < RECYCLE:
        return worker
    worker.end()
    workers[workers.index(worker)] = fresh = _start()
    return fresh


def _next(workers: list[Worker]) -> tuple[Worker, tuple[Mutant, Outcome]]:
    """The next worker that is done, or has died or overrun, and what became of its mutant."""
    while True:
        busy = {worker.pipe: worker for worker in workers if worker.mutant is not None}
        for pipe in wait(list(busy), timeout=1.0):
            worker = busy[pipe]  # type: ignore[index]
            try:
                outcome = worker.pipe.recv()
            except (EOFError, OSError):
                worker.process.kill()
                worker.process.join()
                outcome = Outcome(Detector.BROKEN, "died", "the worker process died")
            return worker, _taken(worker, outcome)
        for worker in busy.values():
            if time.monotonic() - worker.since > SECONDS:
                worker.process.kill()
                worker.process.join()
                outcome = Outcome(Detector.BROKEN, "overran", f"no outcome in {SECONDS:.0f} s")
                return worker, _taken(worker, outcome)


def _taken(worker: Worker, outcome: Outcome) -> tuple[Mutant, Outcome]:
    mutant, worker.mutant = worker.mutant, None
    worker.done += 1
    assert mutant is not None
    return mutant, outcome
