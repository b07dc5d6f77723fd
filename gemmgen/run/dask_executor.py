"""The executor over a Dask cluster (the `dask` extra): many hosts, many GPUs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

from gemmgen.run.executor import Died, died_of
from gemmgen.terms import Finding, GemmgenError

T = TypeVar("T")
R = TypeVar("R")
RESOURCE = "GPU"


class DaskExecutor:
    """Work on the workers of a Dask scheduler.

    A worker of a GPU is started with ``dask worker ADDRESS --nthreads 1 --resources "GPU=1"`` and
    its own CUDA_VISIBLE_DEVICES; measurements ask for one GPU each, so that a GPU has one at a
    time. Builds run on any worker. Every host has gemmgen installed; no folder is shared.

    Args:
        address: of the scheduler, ``tcp://HOST:8786`` say; empty starts workers on this machine.
        jobs: workers of a cluster on this machine; one a core by default.
        devices: CUDA_VISIBLE_DEVICES of each GPU of this machine, one worker each.

    Raises:
        GemmgenError: T450, `distributed` is not installed; T451, no scheduler answers.
    """

    def __init__(
        self, address: str = "", jobs: int | None = None, devices: Sequence[str] = ()
    ) -> None:
        try:
            distributed = importlib.import_module("distributed")
        except ImportError:
            raise _fault(
                "T450",
                "the package distributed is not installed",
                "install the `dask` extra, or leave out --executor dask",
            ) from None
        self._distributed: Any = distributed
        self._cluster: Any = None
        if not address:
            self._cluster = _local_cluster(distributed, jobs or os.cpu_count() or 1, devices)
        try:
            self.client: Any = self._distributed.Client(self._cluster or address, timeout=10)
        except (OSError, ValueError) as error:
            help_ = "start `dask scheduler`, and give the address that it prints"
            raise _fault("T451", f"no Dask scheduler at {address}: {error}", help_) from None

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R | Died]]:
        """As :meth:`gemmgen.run.executor.Executor.each`."""
        futures = {self.client.submit(work, item, pure=False): i for i, item in enumerate(items)}
        yield from self._collect(futures)

    def each_on_gpu(
        self, work: Callable[[T, str], R], items: Sequence[T]
    ) -> Iterator[tuple[int, R | Died]]:
        """As :meth:`gemmgen.run.executor.Executor.each_on_gpu`.

        Raises:
            GemmgenError: T452, no worker of the cluster has a GPU.
        """
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        if not any(worker.get("resources", {}).get(RESOURCE) for worker in workers):
            help_ = 'start workers with `--nthreads 1 --resources "GPU=1"`, one a GPU'
            raise _fault("T452", "no worker of the Dask cluster has the resource GPU", help_)
        futures = {
            self.client.submit(work, item, "", pure=False, resources={RESOURCE: 1}): i
            for i, item in enumerate(items)
        }
        yield from self._collect(futures)

    def _collect(self, futures: dict[Any, int]) -> Iterator[tuple[int, Any]]:
        try:
            for future in self._distributed.as_completed(list(futures)):
                try:
                    result = future.result()
                except Exception as error:
                    result = died_of(error)
                yield futures[future], result
        finally:
            self.client.cancel(list(futures))

    def __enter__(self) -> DaskExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.close()
        if self._cluster is not None:
            self._cluster.close()


def _local_cluster(distributed: Any, jobs: int, devices: Sequence[str]) -> Any:
    """Worker processes on this machine: one a device, with that device alone, and others."""
    workers = {}
    for index in range(max(jobs, len(devices))):
        options: dict[str, Any] = {"nthreads": 1, "dashboard": False}
        if index < len(devices):
            options["resources"] = {RESOURCE: 1}
            options["env"] = {"CUDA_VISIBLE_DEVICES": devices[index]}
        workers[index] = {"cls": distributed.Nanny, "options": options}
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"dashboard_address": ":0", "host": "127.0.0.1", "port": 0},
    }
    return distributed.SpecCluster(workers=workers, scheduler=scheduler)


def _fault(code: str, title: str, help_: str) -> GemmgenError:
    return GemmgenError([Finding(code, title, help=help_)])
