"""The last line of ``gemmgen test``: how many kernels passed, where, and under which timing."""

from __future__ import annotations

from collections.abc import Sequence

from gemmgen.records import TestRecord

WHERE = {
    "emulate": "in the emulator",
    "gpu": "on the GPU",
    "both": "in the emulator and on the GPU, which agree",
    "none": "nowhere: compiled only",
}


def verdict(records: Sequence[TestRecord], seconds: float) -> str:
    """`1 of 2 kernels verified in the emulator in 3.0 s, under lazy timing; …`.

    A run in the emulator is one of many possible timings, so the line names the one it had.
    """
    passed = [record for record in records if record.status == "passed"]
    where = ", ".join(sorted({WHERE[record.runner] for record in passed}))
    words = f"verified {where}" if passed else "verified"
    timings = sorted({case.timing for r in passed for case in r.cases if case.timing})
    how = f", under {', '.join(timings)} timing; --schedules N explores" if timings else ""
    return f"{len(passed)} of {len(records)} kernels {words} in {seconds:.1f} s{how}"
