"""Clocks, power, temperature and activity of the current device, read through NVML; never set."""

from __future__ import annotations

import ctypes
import statistics
import threading
from collections.abc import Callable, Sequence
from types import TracebackType

import torch

from gemmgen.bench_records import State

_SM, _MEMORY = 1, 2  # nvmlClockType_t, nvml.h
_DIE = 0  # nvmlTemperatureSensors_t, nvml.h


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
        shares = _Shares()
        failed = library.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(shares))
        return State(
            gpu_active=None if failed else float(shares.gpu),
            memory_active=None if failed else float(shares.memory),
            sm_mhz=number("nvmlDeviceGetClockInfo", _SM),
            memory_mhz=number("nvmlDeviceGetClockInfo", _MEMORY),
            watts=number("nvmlDeviceGetPowerUsage") / 1e3,
            celsius=number("nvmlDeviceGetTemperature", _DIE),
        )

    return read


class _Shares(ctypes.Structure):
    """nvmlUtilization_t, nvml.h."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


def median_state(states: Sequence[State]) -> State:
    """Medians of readings, of which there is at least one."""
    return State(
        sm_mhz=statistics.median(s.sm_mhz for s in states),
        memory_mhz=statistics.median(s.memory_mhz for s in states),
        watts=statistics.median(s.watts for s in states),
        celsius=statistics.median(s.celsius for s in states),
        gpu_active=_median([s.gpu_active for s in states]),
        memory_active=_median([s.memory_active for s in states]),
    )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


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
        return median_state(self.samples) if self.samples else None

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
