"""Exploring many schedules of generated files in parallel worker processes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gemmgen.records import CaseRecord, ExploreRecord, ShrinkRecord, Triple
from gemmgen.run.processes import WorkerPool
from gemmgen.run.require import require_torch
from gemmgen.run.schedules import DEFAULT_SM_COUNT, Schedule, command_line, plan_schedules
from gemmgen.run.subject import Subject, read_subject
from gemmgen.run.worker import Chunk, run_chunk, shrink_case, start_worker
from gemmgen.terms import GemmgenError

CHUNK = 5  # schedules handed to a worker at a time


@dataclass(frozen=True)
class Exploration:
    """What to explore.

    Attributes:
        schedules: runs of each file.
        seed: of the first schedule; the others count on from it.
        sm_count: SMs of the emulated device; see `gemmgen.run.schedules.problems`.
        shapes: (M, N, K) to run; empty for the plan's default shapes.
        allow: compile findings to let pass, by name.
        races: look for races in every run.
        shrink_seconds: time to look for a smaller failing run; 0 does not look.
    """

    schedules: int
    seed: int = 0
    sm_count: int = DEFAULT_SM_COUNT
    shapes: tuple[Triple, ...] = ()
    allow: tuple[str, ...] = ()
    shrink_seconds: float = 60.0
    races: bool = True


@dataclass(frozen=True)
class Step:
    """Progress of one file: `done` of `total`; `doing` is ``exploring`` or ``shrinking``."""

    file: str
    done: int
    total: int
    doing: str = "exploring"


@dataclass
class _File:
    """A file under way."""

    path: Path
    subject: Subject
    schedules: tuple[Schedule, ...]
    waiting: dict[Future[Chunk], int] = field(default_factory=dict)
    shrinking: Future[ShrinkRecord] | None = None
    cases: dict[int, CaseRecord] = field(default_factory=dict)
    message: str = ""

    @property
    def failed(self) -> int | None:
        """The lowest index that failed so far."""
        return min((i for i, case in self.cases.items() if case.status == "failed"), default=None)

    def take(self, future: Future[Chunk]) -> None:
        """Add a chunk's results; after a failure, drop the chunks of later schedules."""
        del self.waiting[future]
        chunk = future.result()
        self.cases.update(chunk.cases)
        self.message = self.message or chunk.message
        first = self.failed
        for later, start in list(self.waiting.items()):
            if (self.message or (first is not None and start > first)) and later.cancel():
                del self.waiting[later]

    def record(self, shrunk: ShrinkRecord | None, seed: int) -> ExploreRecord:
        """What was found; runs after the first failure do not count."""
        last = self.failed
        kept = [case for i, case in self.cases.items() if last is None or i <= last]
        passed = Counter(case.timing for case in kept if case.status == "passed")
        refused = [case for case in kept if case.status == "refused"]
        failure = None if last is None else self.cases[last]
        settings = None if last is None else self.schedules[last].settings
        command = (
            ""
            if failure is None or settings is None
            else command_line(self.path, failure.shape, settings)
        )
        nothing = not passed and not failure
        status = "failed" if failure or self.message else "refused" if nothing else "passed"
        return ExploreRecord(
            str(self.path),
            self.subject.spec,
            self.subject.digest,
            status,
            len(self.schedules),
            seed=seed,
            runs=dict(sorted(passed.items())),
            refused=len(refused),
            instructions=sum(case.instructions for case in kept),
            seconds=sum(case.seconds for case in kept),
            index=-1 if last is None else last,
            failure=failure,
            command=command,
            shrunk=shrunk,
            message=self.message or (refused[0].message if nothing and refused else ""),
        )


def explore_paths(
    paths: list[Path], options: Exploration, jobs: int | None = None
) -> Iterator[Step | ExploreRecord]:
    """Run `options.schedules` schedules of each file in the emulator.

    Yields progress and each file's record once. A file stops at its first failure, which is then
    shrunk. Equal options give equal records, but for seconds, whatever the number of workers. When
    a worker process dies, each file that has no record yet begins again by itself: the one that
    ends its process fails with T415, the others lose nothing.

    Args:
        jobs: worker processes; the number of CPUs by default.

    Raises:
        GemmgenError: T417, torch is not installed.
    """
    require_torch()
    files = []
    for path in paths:
        try:
            subject = read_subject(path)
        except GemmgenError as error:
            yield _refused(path, options, str(error))
            continue
        files.append(_File(path, subject, _planned(subject, options)))
    if not files:
        return
    count = jobs or os.cpu_count() or 1
    with WorkerPool(count, start_worker) as pool:
        left = yield from _follow(files, pool, options)
    for file in left:
        with WorkerPool(count, start_worker) as pool:
            yield from _follow([_File(file.path, file.subject, file.schedules)], pool, options)


def _planned(subject: Subject, options: Exploration) -> tuple[Schedule, ...]:
    return plan_schedules(
        subject.plan,
        options.schedules,
        seed=options.seed,
        sm_count=options.sm_count,
        shapes=options.shapes,
        races=options.races,
    )


def _refused(path: Path, options: Exploration, message: str) -> ExploreRecord:
    return ExploreRecord(
        str(path), "", "", "failed", options.schedules, seed=options.seed, message=message
    )


def _submit(file: _File, pool: ProcessPoolExecutor, options: Exploration) -> None:
    for start in range(0, len(file.schedules), CHUNK):
        part = file.schedules[start : start + CHUNK]
        file.waiting[pool.submit(run_chunk, file.path, part, options.allow)] = start


def _follow(
    files: list[_File], pool: ProcessPoolExecutor, options: Exploration
) -> Generator[Step | ExploreRecord, None, list[_File]]:
    """Returns the files that are without a record when a process of several files died."""
    live = list(files)
    try:
        for file in files:
            _submit(file, pool, options)
    except BrokenProcessPool:
        if len(files) > 1:
            return live
        yield _died(files[0], options)
        return []
    while live:
        every: list[Future[Any]] = []
        for file in live:
            every += file.waiting
            every += [file.shrinking] if file.shrinking else []
        wait(every, timeout=0.5, return_when=FIRST_COMPLETED)
        for file in list(live):
            try:
                step = _advance(file, pool, options)
            except BrokenProcessPool:
                if len(files) > 1:
                    return live
                step = _died(file, options)
            if step is not None:
                yield step
            if isinstance(step, ExploreRecord):
                live.remove(file)
    return []


def _died(file: _File, options: Exploration) -> ExploreRecord:
    file.message = f"T415: a worker process died while {file.path.name} was running"
    return file.record(None, options.seed)


def _advance(
    file: _File, pool: ProcessPoolExecutor, options: Exploration
) -> Step | ExploreRecord | None:
    """Take what is ready; the record when the file is done, progress when there is some."""
    if file.shrinking is not None:
        return file.record(file.shrinking.result(), options.seed) if file.shrinking.done() else None
    ready = [future for future in file.waiting if future.done()]
    for future in ready:
        if future in file.waiting:
            file.take(future)
    if file.waiting:
        return Step(str(file.path), len(file.cases), len(file.schedules)) if ready else None
    first = file.failed
    if file.message or first is None or not options.shrink_seconds:
        return file.record(None, options.seed)
    file.shrinking = pool.submit(
        shrink_case, file.path, file.schedules[first], options.allow, options.shrink_seconds
    )
    return Step(str(file.path), len(file.cases), len(file.schedules), "shrinking")
