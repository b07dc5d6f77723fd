"""Where independent pieces of work run: in processes here, or on a Dask cluster.

Builds and measurements go through one `Executor`. Work is a module-level function of one argument;
arguments and results can be pickled and name no files, so that nothing need be shared with a host.
"""

from __future__ import annotations

import ctypes
import os
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeVar

from gemmgen.run.processes import WorkerPool

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Died:
    """What became of work that raised, or whose process died."""

    reason: str


def died_of(error: BaseException) -> Died:
    """What `error` says, for a person."""
    return Died(f"{type(error).__name__}: {error}")


class Executor(Protocol):
    """Runs work; leaving it as a context manager ends what still runs."""

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R | Died]]:
        """``work(item)`` for every item, each result with its item's index, as they finish."""

    def each_on_gpu(
        self, work: Callable[[T, str], R], items: Sequence[T]
    ) -> Iterator[tuple[int, R | Died]]:
        """``work(item, device)``, one at a time a GPU.

        ``device`` is the CUDA_VISIBLE_DEVICES for it, or empty where the process has one already.
        """

    def __enter__(self) -> Executor: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class LocalExecutor:
    """Processes on this machine.

    Args:
        jobs: processes for work without a GPU; one a core by default.
        devices: CUDA_VISIBLE_DEVICES of each GPU; by default those that are here.
    """

    def __init__(self, jobs: int | None = None, devices: Sequence[str] | None = None) -> None:
        self.jobs = jobs or os.cpu_count() or 1
        self._devices = devices

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R | Died]]:
        """As :meth:`Executor.each`; work whose process dies takes no other with it."""
        left = dict(enumerate(items))
        with WorkerPool(min(self.jobs, max(1, len(items)))) as pool:
            futures = {pool.submit(work, item): index for index, item in left.items()}
            for future in as_completed(futures):
                result: R | Died
                try:
                    result = future.result()
                except BrokenProcessPool:
                    continue
                except Exception as error:
                    result = died_of(error)
                del left[futures[future]]
                yield futures[future], result
        for index, item in left.items():
            yield index, _alone(work, item)

    def each_on_gpu(
        self, work: Callable[[T, str], R], items: Sequence[T]
    ) -> Iterator[tuple[int, R | Died]]:
        """As :meth:`Executor.each_on_gpu`: a thread a GPU, whose work starts its own process."""
        devices: queue.SimpleQueue[str] = queue.SimpleQueue()
        names = self._devices if self._devices is not None else visible_gpus()
        for name in names:
            devices.put(name)

        def take(item: T) -> R:
            device = devices.get()
            try:
                return work(item, device)
            finally:
                devices.put(device)

        pool = ThreadPoolExecutor(max(1, len(names)))
        try:
            futures: dict[Future[R], int] = {
                pool.submit(take, item): index for index, item in enumerate(items)
            }
            for future in as_completed(futures):
                error = future.exception()
                yield futures[future], died_of(error) if error else future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing outlives its iterator."""


def _alone(work: Callable[[T], R], item: T) -> R | Died:
    """Work from a broken pool, again, in a process of its own."""
    try:
        with WorkerPool(1) as pool:
            return pool.submit(work, item).result()
    except BrokenProcessPool:
        return Died("its process died")
    except Exception as error:
        return died_of(error)


def visible_gpus() -> list[str]:
    """CUDA_VISIBLE_DEVICES of each GPU of this machine; the driver is asked, torch is not."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip()]
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return [str(index) for index in range(count.value)]
