"""Nsight Compute figures of a kernel: one run of ncu, parsed to a record."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gemmgen.gpu.launch_once import LAUNCHES
from gemmgen.run.subject import digest_of
from gemmgen.terms import Finding, GemmgenError

Run = Callable[[list[str]], subprocess.CompletedProcess[str]]
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS = (
    "barrier",
    "branch_resolve",
    "dispatch_stall",
    "gmma",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "no_instruction",
    "short_scoreboard",
    "sleeping",
    "wait",
)
OF_PEAK = ".avg.pct_of_peak_sustained_active"
# Metric names of ncu 2025.3 (``ncu --query-metrics``), seen on an H200; the first that this ncu and
# GPU have is taken. A pipe has another name in each generation.
FIGURES = {
    "microseconds": ("gpu__time_duration.sum",),
    "tensor_percent": (
        f"sm__pipe_tensor_op_hmma_type_hmma_hgmma_qgmma_cycles_active{OF_PEAK}",  # sm_90
        f"sm__pipe_tensor_cycles_active{OF_PEAK}",
        f"sm__pipe_tensor_op_hmma_cycles_active{OF_PEAK}",
    ),
    "dram_percent": ("dram__throughput.avg.pct_of_peak_sustained_elapsed",),
    "dram_bytes": ("dram__bytes.sum",),
    "l1tex_percent": ("l1tex__throughput.avg.pct_of_peak_sustained_active",),
    "l2_hit_percent": ("lts__t_sector_hit_rate.pct",),
    "waves": ("launch__waves_per_multiprocessor",),
    "cycles": ("sm__cycles_elapsed.max",),
    "sm_mhz": ("gpc__cycles_elapsed.avg.per_second",),
}
TO_BASE = {"nsecond": 1e-3, "ns": 1e-3, "usecond": 1.0, "us": 1.0, "msecond": 1e3, "ms": 1e3}
TO_BYTES = {"byte": 1.0, "kbyte": 1e3, "mbyte": 1e6, "gbyte": 1e9}
TO_MHZ = {"hz": 1e-6, "mhz": 1.0, "ghz": 1e3, "cycle/second": 1e-6, "cycle/nsecond": 1e3}


@dataclass(frozen=True)
class Profile:
    """What ncu says about one launch.

    Attributes:
        kernel: stem of the file.
        shape: (M, N, K).
        figures: by the names of `FIGURES`; percent of peak, microseconds, bytes, cycles, MHz; a
            metric that this ncu or GPU does not have is left out.
        stalls: warps stalled for a reason an issued instruction, most first.
        digest: of the resolved spec, as the file's header says; empty without one.
    """

    kernel: str
    shape: tuple[int, int, int]
    figures: dict[str, float]
    stalls: tuple[tuple[str, float], ...]
    digest: str = ""


def profile(
    path: Path,
    shape: tuple[int, int, int],
    libraries: Path | None = None,
    *,
    run: Run | None = None,
) -> Profile:
    """Run `path` under ncu at one shape, with clocks left alone.

    Args:
        run: starts the command; for tests.

    Raises:
        GemmgenError: T430, there is no ncu; T431, it may not read counters; T432, it failed.
    """
    tool = shutil.which("ncu")
    if tool is None and run is None:
        raise _fault("T430", "ncu is not installed", "install Nsight Compute, or add it to PATH")
    metrics = [metric for names in FIGURES.values() for metric in names]
    metrics += [*(STALL.format(reason) for reason in STALLS)]
    command = [tool or "ncu", "--clock-control", "none", "--csv", "--page", "raw"]
    command += ["--kernel-name", "regex:gemm_kernel", "--launch-skip", str(LAUNCHES - 1)]
    command += ["--launch-count", "1", "--metrics", ",".join(metrics)]
    command += [sys.executable, "-m", "gemmgen.gpu.launch_once", str(path), *map(str, shape)]
    command += [str(libraries)] if libraries is not None else []
    done = (run or _run)(command)
    text = done.stdout + done.stderr
    if "ERR_NVGPUCTRPERM" in text:
        raise _fault(
            "T431",
            "ncu has no permission to read performance counters",
            "run as root, or let users read them (NVIDIA ERR_NVGPUCTRPERM page)",
        )
    if done.returncode != 0:
        raise _fault("T432", "ncu failed", "run the command yourself", text[-2000:])
    return replace(parse(done.stdout, path.stem, shape), digest=digest_of(path))


def document(profiles: Sequence[Profile], device: dict[str, Any], date: str) -> dict[str, Any]:
    """The record of `profiles`, as ``--json`` writes it.

    Args:
        device: as in a bench record: name, driver and what else is known of it.
        date: ``2026-11-30``.
    """
    return {
        "schema": 1,
        "device": device,
        "date": date,
        "profiles": [asdict(item) for item in profiles],
    }


def parse(text: str, kernel: str, shape: tuple[int, int, int]) -> Profile:
    """Read ncu's raw CSV page: a line of names, a line of units, a line a launch.

    Raises:
        GemmgenError: T432, there is no launch in it.
    """
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    rows = list(csv.reader(io.StringIO("\n".join(lines[start:])))) if start is not None else []
    if len(rows) < 3:
        raise _fault("T432", "ncu saw no launch of gemm_kernel", "run the file alone", text[-2000:])
    names, units, values = rows[0], rows[1], rows[2]
    cells = {name: (unit, value) for name, unit, value in zip(names, units, values, strict=False)}
    figures = {}
    for figure, metrics in FIGURES.items():
        numbers = (_number(figure, *cells.get(metric, ("", ""))) for metric in metrics)
        first = next((number for number in numbers if number is not None), None)
        if first is not None:
            figures[figure] = first
    stalls = [
        (reason, number)
        for reason in STALLS
        if (number := _number("", *cells.get(STALL.format(reason), ("", "")))) is not None
    ]
    stalls.sort(key=lambda item: -item[1])
    return Profile(kernel, shape, figures, tuple(stalls))


def _number(figure: str, unit: str, value: str) -> float | None:
    try:
        number = float(value.replace(",", ""))
    except ValueError:
        return None
    scales = {"microseconds": TO_BASE, "sm_mhz": TO_MHZ, "dram_bytes": TO_BYTES}
    scale = scales.get(figure, {})
    return number * scale.get(unit.lower(), 1.0)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _fault(code: str, title: str, help_: str, source: str = "") -> GemmgenError:
    return GemmgenError([Finding(code=code, title=title, source=source, help=help_)])
