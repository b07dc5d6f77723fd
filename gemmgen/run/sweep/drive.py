"""Taking a sweep as far as this machine can: build, verify, time; every step is kept at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gemmgen.files import write_atomic
from gemmgen.run.executor import Died, Executor
from gemmgen.run.sweep import measure as gpu
from gemmgen.run.sweep import tasks
from gemmgen.run.sweep.results import judge_final, ranking, timings
from gemmgen.run.sweep.state import (
    BROKEN,
    BUILT,
    LIBRARIES,
    MEASURED,
    PLANNED,
    SETTLE,
    VERIFIED,
    WRONG,
    Point,
    Sweep,
    shape_name,
)
from gemmgen.terms import GemmgenError

BATCH = 16
FINALISTS = 4
FINAL_ROUNDS = 3  # times the rounds of a batch

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Work:
    """The functions that do the work; tests put others in."""

    build: Callable[[tasks.Kernel], tasks.BuildResult] = tasks.build
    verify_quick: Callable[[tasks.Kernel], tasks.Verified] = tasks.verify_quick
    verify_full: Callable[[tasks.Kernel], tasks.Verified] = tasks.verify_full
    measure: Callable[[gpu.Batch, str], gpu.Measured] = gpu.measure


@dataclass
class Driver:
    """One sweep in its folder.

    Args:
        tell: called as ``(step, done, total)`` after each piece of work.
    """

    state: Sweep
    folder: Path
    executor: Executor
    tell: Tell
    work: Work = Work()

    def build(self) -> None:
        """Build every planned combination; a failure is its status."""
        self._drop_damaged()
        todo = self.state.with_status(PLANNED)
        kernels = [tasks.read_kernel(self.folder, point.name) for point in todo]
        for index, result in self._each("building", self.work.build, kernels):
            point = todo[index]
            if isinstance(result, Died):
                result = tasks.BuildResult(code="C312", reason=f"C312 {result.reason}")
            self._keep_build(point, result)

    def _keep_build(self, point: Point, result: tasks.BuildResult) -> None:
        point.build_seconds = round(result.seconds, 2)
        point.status, point.code, point.reason = BROKEN, result.code, result.reason
        if result.files:
            for suffix, data in result.files.items():
                write_atomic(self.folder / LIBRARIES / f"{point.name}{suffix}", data)
            point.status, point.resources = BUILT, result.resources
        self.state.write(self.folder)

    def _drop_damaged(self) -> None:
        """Plan again what is said to be built and is not whole."""
        from gemmgen.compile.manifest import check_library

        for point in self.state.with_status(BUILT, VERIFIED):
            try:
                check_library(self.folder / LIBRARIES / f"{point.name}.json")
            except GemmgenError:
                point.status = PLANNED

    def verify(self) -> None:
        """Run what is built in the emulator, and compare with torch."""
        if self.state.verify == "none":
            return
        todo = self.state.with_status(BUILT)
        kernels = [tasks.read_kernel(self.folder, point.name) for point in todo]
        work = self.work.verify_quick if self.state.verify == "quick" else self.work.verify_full
        for index, result in self._each("verifying", work, kernels):
            _keep_verdict(todo[index], result, "emulator")
            self.state.write(self.folder)

    def measure(self) -> None:
        """Time everything that is built, in interleaved batches, then the best few once more."""
        todo = self.state.with_status(BUILT, VERIFIED)
        groups = [todo[start : start + BATCH] for start in range(0, len(todo), BATCH)]
        batches = [self._batch([point.name for point in group]) for group in groups]
        for index, result in self._on_gpu("timing", batches):
            self._keep_batch(groups[index], result)
            self.state.write(self.folder)
        self._finals()

    def _batch(self, names: Iterable[str]) -> gpu.Batch:
        kernels = tuple(
            (
                tasks.read_kernel(self.folder, name),
                tasks.read_files(self.folder / LIBRARIES, name),
            )
            for name in names
        )
        state = self.state
        return gpu.Batch(kernels, state.shapes, state.rounds, state.slice_ms, state.verify)

    def _keep_batch(self, group: list[Point], result: gpu.Measured | Died) -> None:
        if isinstance(result, Died):
            for point in group:
                point.reason = result.reason
            return
        self._note_device(result)
        for point in group:
            verdict = result.verified.get(point.name)
            if verdict is not None:
                _keep_verdict(point, verdict, "GPU")
        for record in result.shapes:
            self.state.batches += 1
            times = timings(record, self.state.batches)
            for point in group:
                if point.name in times and point.status != WRONG:
                    point.times[shape_name(record["shape"])] = times[point.name]
        for point in group:
            if point.times:
                point.status = MEASURED

    def _note_device(self, result: gpu.Measured) -> None:
        self.state.device = result.device
        self.state.settle_ms = SETTLE * self.state.slice_ms
        self.state.date = time.strftime("%Y-%m-%d", time.gmtime())

    def _finals(self) -> None:
        """Time the best few of each shape once more, in one run, where that is not done yet."""
        todo = []
        for shape in self.state.shapes:
            names = [point.name for point in ranking(self.state, shape_name(shape))[:FINALISTS]]
            if len(names) > 1 and shape_name(shape) not in self.state.finals:
                batch = self._batch(names)
                rounds = self.state.rounds * FINAL_ROUNDS
                todo.append(replace(batch, shapes=(shape,), rounds=rounds, verify="none"))
        for _, result in self._on_gpu("final runs", todo):
            if isinstance(result, Died):
                continue
            for record in result.shapes:
                self.state.batches += 1
                final = judge_final(timings(record, self.state.batches))
                if final is not None:
                    self.state.finals[shape_name(record["shape"])] = final
            self.state.write(self.folder)

    def _each(self, step: str, work: Callable[[Any], Any], items: list[Any]) -> Iterable[Any]:
        return self._counted(step, self.executor.each(work, items) if items else (), len(items))

    def _on_gpu(self, step: str, items: list[gpu.Batch]) -> Iterable[Any]:
        results = self.executor.each_on_gpu(self.work.measure, items) if items else ()
        return self._counted(step, results, len(items))

    def _counted(self, step: str, results: Iterable[Any], total: int) -> Iterable[Any]:
        if total:
            self.tell(step, 0, total)
        for done, result in enumerate(results, 1):
            yield result
            self.tell(step, done, total)


def _keep_verdict(point: Point, result: tasks.Verified | Died, where: str) -> None:
    if isinstance(result, Died):
        point.status, point.reason = WRONG, f"T415: {result.reason}"
    elif result.status == "passed":
        point.status = VERIFIED
        point.verified = f"{where}, {result.cases} cases" if result.cases else point.verified
    else:
        point.status, point.reason = WRONG, result.message
