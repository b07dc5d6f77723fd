"""Clocks, power and temperature of the current device, read through NVML; never set."""

from __future__ import annotations

import ctypes
import statistics
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

import torch

_SM, _MEMORY = 1, 2  # nvmlClockType_t, nvml.h
_DIE = 0  # nvmlTemperatureSensors_t, nvml.h


@dataclass(frozen=True)
class State:
    """What NVML says at one moment, or the medians of many.

    Attributes:
        sm_mhz, memory_mhz: clocks.
        watts: drawn by the board.
        celsius: of the die.
    """

    sm_mhz: float
    memory_mhz: float
    watts: float
    celsius: float


Reader = Callable[[], State | None]


def reader() -> Reader:
    """A function that reads the state of the current device; it gives None without NVML."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return lambda: None
    handle = ctypes.c_void_p()
    uuid = f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}"
    if library.nvmlInit_v2():
        return lambda: None
    if library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle)):
        return lambda: None

    def number(function: str, *arguments: int) -> float:
        value = ctypes.c_uint()
        failed = getattr(library, function)(handle, *arguments, ctypes.byref(value))
        return float("nan") if failed else float(value.value)

    def read() -> State:
        return State(
            sm_mhz=number("nvmlDeviceGetClockInfo", _SM),
            memory_mhz=number("nvmlDeviceGetClockInfo", _MEMORY),
            watts=number("nvmlDeviceGetPowerUsage") / 1e3,
            celsius=number("nvmlDeviceGetTemperature", _DIE),
        )

    return read


class Watch:
    """Reads the state on entry, on exit, and every `period` seconds in between.

    Attributes:
        before, after: on entry and on exit; None without NVML.
        samples: in between, in order.
    """

    def __init__(self, read: Reader, period: float = 0.05) -> None:
        self.before: State | None = None
        self.after: State | None = None
        self.samples: list[State] = []
        self._read, self._period = read, period
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    @property
    def during(self) -> State | None:
        """Medians of the samples; None where there are none."""
        if not self.samples:
            return None
        return State(
            sm_mhz=statistics.median(s.sm_mhz for s in self.samples),
            memory_mhz=statistics.median(s.memory_mhz for s in self.samples),
            watts=statistics.median(s.watts for s in self.samples),
            celsius=statistics.median(s.celsius for s in self.samples),
        )

    def __enter__(self) -> Watch:
        self.before = self._read()
        if self.before is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self.after = self._read()

    def _sample(self) -> None:
        while not self._stop.wait(self._period):
            state = self._read()
            if state is not None:
                self.samples.append(state)
