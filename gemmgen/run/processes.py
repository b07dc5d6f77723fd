"""Worker processes that an interrupt ends at once and in silence."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """Processes started within do not see Ctrl-C, which reaches a whole terminal: who started them
    ends them. Without effect outside the main thread, where Python sets no signal handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def end_children() -> None:
    """Kill every process that multiprocessing started from this one."""
    for child in mp.active_children():
        child.kill()


class WorkerPool(ProcessPoolExecutor):
    """Spawned processes; left by an exception, it ends them and waits for none.

    Args:
        start: called in each process first, with `arguments`.
    """

    def __init__(
        self, jobs: int, start: Callable[..., object] | None = None, arguments: tuple[Any, ...] = ()
    ) -> None:
        super().__init__(jobs, mp.get_context("spawn"), start, arguments)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Processes are started here, on demand."""
        with shielded():
            return super().submit(fn, *args, **kwargs)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if kind is not None:
            end_children()
            self.shutdown(cancel_futures=True)
        return super().__exit__(kind, error, trace)
