"""The last line of ``gemmgen test`` says what has been shown, and under which timing."""

from __future__ import annotations

from gemmgen.cli.verdict import verdict
from gemmgen.records import CaseRecord, TestRecord


def record(status: str, runner: str, *timings: str) -> TestRecord:
    cases = tuple(CaseRecord((1, 1, 1), "exact", status, timing=timing) for timing in timings)
    return TestRecord("k.py", "k.toml", "sha256:0", runner, status, cases=cases)


def test_the_emulator_names_the_one_timing_it_ran() -> None:
    records = [record("passed", "emulate", "lazy", "lazy"), record("failed", "emulate", "lazy")]
    assert verdict(records, 3.04) == (
        "1 of 2 kernels verified in the emulator in 3.0 s,"
        " under lazy timing; --schedules N explores"
    )


def test_a_gpu_has_no_timing_to_name() -> None:
    assert (
        verdict([record("passed", "gpu", "")], 1) == "1 of 1 kernels verified on the GPU in 1.0 s"
    )


def test_nothing_is_claimed_for_kernels_that_fail() -> None:
    assert verdict([record("failed", "emulate", "lazy")], 1) == "0 of 1 kernels verified in 1.0 s"
