"""Executors: results of all work, deaths told, one measurement a GPU at a time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gemmgen.run.executor import Died, Executor, LocalExecutor


def work(item: int) -> int:
    """Squares; minus one raises, minus two takes its process down."""
    if item == -1:
        raise ValueError("no")
    if item == -2:
        os._exit(3)
    return item * item


class Watched:
    """Work on a GPU that notices company."""

    def __init__(self) -> None:
        self.lock, self.now, self.most = threading.Lock(), dict[str, int](), 0

    def __call__(self, item: int, device: str) -> str:
        with self.lock:
            self.now[device] = self.now.get(device, 0) + 1
            self.most = max(self.most, self.now[device])
        time.sleep(0.02)
        with self.lock:
            self.now[device] -= 1
        return device


def test_local_work_gives_every_result_and_tells_of_deaths() -> None:
    results = dict(LocalExecutor(jobs=2).each(work, [3, -1, 4, -2]))
    assert (results[0], results[2]) == (9, 16)
    assert results[1] == Died("ValueError: no")
    assert isinstance(results[3], Died)


def test_local_gpus_have_one_measurement_each_at_a_time() -> None:
    watched = Watched()
    results = dict(LocalExecutor(devices=["0", "3"]).each_on_gpu(watched, list(range(6))))
    assert set(results.values()) == {"0", "3"}
    assert watched.most == 1


def company(folder: str, device: str) -> int:
    """How many measurements are running, this one too, told by files."""
    mark = Path(folder) / f"{os.getpid()}_{threading.get_ident()}_{time.monotonic_ns()}"
    mark.touch()
    time.sleep(0.1)
    count = len(list(Path(folder).iterdir()))
    mark.unlink()
    return count


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=4,
        resources={"GPU": 1},
        processes=False,
        dashboard_address=":0",
    ) as local:
        yield local.scheduler_address


def test_a_dask_cluster_gives_every_result_and_tells_of_failures(cluster: str) -> None:
    from gemmgen.run.dask_executor import DaskExecutor

    with DaskExecutor(cluster) as executor:
        where: Executor = executor
        results = dict(where.each(work, [3, -1, 4]))
    assert results == {0: 9, 1: Died("ValueError: no"), 2: 16}


def test_a_dask_worker_of_one_gpu_measures_one_at_a_time(cluster: str, tmp_path: Path) -> None:
    from gemmgen.run.dask_executor import DaskExecutor

    with DaskExecutor(cluster) as executor:
        results = dict(executor.each_on_gpu(company, [str(tmp_path)] * 4))
    assert list(results.values()) == [1] * 4


def seen(_: int, device: str) -> str:
    """The GPU that this process was given."""
    time.sleep(0.05)
    return device or os.environ.get("CUDA_VISIBLE_DEVICES", "")


def test_a_dask_cluster_of_this_machine_gives_each_gpu_a_worker_of_its_own() -> None:
    pytest.importorskip("distributed")
    from gemmgen.run.dask_executor import DaskExecutor

    with DaskExecutor(jobs=2, devices=["5"]) as executor:
        assert sorted(dict(executor.each(work, [2, 3])).values()) == [4, 9]
        assert set(dict(executor.each_on_gpu(seen, [0, 1, 2])).values()) == {"5"}


def test_a_dask_cluster_without_a_gpu_and_one_that_is_not_there_are_refused() -> None:
    distributed = pytest.importorskip("distributed")
    from gemmgen.run.dask_executor import DaskExecutor
    from gemmgen.terms import GemmgenError

    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local,
        DaskExecutor(local.scheduler_address) as executor,
        pytest.raises(GemmgenError, match="T452"),
    ):
        list(executor.each_on_gpu(company, [""]))
    with pytest.raises(GemmgenError, match="T451"):
        DaskExecutor("nonsense://nowhere")
