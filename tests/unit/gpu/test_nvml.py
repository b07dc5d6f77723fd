"""Readings around a measurement."""

from __future__ import annotations

import threading

from gemmgen.bench_records import State
from gemmgen.gpu.nvml import Watch, median_state


def test_a_watch_reads_before_during_and_after_and_takes_medians_of_what_was_during() -> None:
    enough = threading.Event()
    clocks = iter(range(1000, 2000))

    def read() -> State:
        mhz = next(clocks)
        if mhz >= 1003:
            enough.set()
        return State(mhz, 3201.0, 690.0, 60.0)

    with Watch(read, period=0.001) as watch:
        assert enough.wait(5)
    assert watch.before is not None
    assert watch.after is not None
    assert watch.during is not None
    assert watch.before.sm_mhz == 1000
    middle = [state.sm_mhz for state in watch.samples]
    assert watch.after.sm_mhz == middle[-1] + 1
    assert watch.during.sm_mhz == (middle[0] + middle[-1]) / 2
    assert watch.during.watts == 690.0


def test_a_watch_without_nvml_has_nothing_to_say() -> None:
    with Watch(lambda: None) as watch:
        pass
    assert (watch.before, watch.during, watch.after) == (None, None, None)


def test_activity_that_nvml_does_not_tell_is_absent_and_not_zero() -> None:
    known = [State(1.0, 1.0, 1.0, 1.0, share, None) for share in (98.0, 100.0, 100.0)]
    assert median_state(known).gpu_active == 100.0
    assert median_state(known).memory_active is None
    assert median_state([State(1.0, 1.0, 1.0, 1.0)]).gpu_active is None
