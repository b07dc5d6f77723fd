"""Ctrl-C while native code calls Python: it waits, for an exception there would end the process."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_INTERRUPTED = 130


@contextlib.contextmanager
def held_interrupts() -> Iterator[None]:
    """An interrupt takes effect at the end of the block; a second one ends the process at once.

    CuTe DSL traces through callbacks of MLIR, where KeyboardInterrupt would abort the process
    (seen with 4.8.1). Without effect outside the main thread, where Python handles no signals.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    frames: list[FrameType | None] = []

    def note(_: int, frame: FrameType | None) -> None:
        if frames:
            os.write(2, b"interrupted\n")
            os._exit(_INTERRUPTED)
        frames.append(frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if frames:
            before(signal.SIGINT, frames[0])
