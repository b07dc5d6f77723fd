from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def sweep() -> dict[str, Any]:
    """A sweep of two keys at one shape, one combination refused."""
    points: list[dict[str, Any]] = []
    for stages in (2, 3, 4):
        for group in (1, 8):
            ratio = 0.8 + 0.05 * stages + 0.01 * group
            time = {"batch": 0, "microseconds": 100 / ratio, "spread": 0.01, "ratio": ratio}
            times = {"512x512x512": {**time, "tflops": 500 * ratio, "noise": 0.02, "samples": []}}
            values = {"pipeline.ab_stages": stages, "scheduler.group_m": group}
            name = f"s{stages}_{group}"
            points.append({"name": name, "values": values, "status": "measured", "times": times})
    points.append({"name": "bad", "values": {}, "status": "refused", "times": {}})
    final = {"best": "s4_8", "runner_up": "s3_8", "gain": 0.05, "noise": 0.02, "clear": True}
    return {
        "schema": 1,
        "spec": "v8_persistent",
        "sets": ["pipeline.ab_stages=2..4", "scheduler.group_m=1,8"],
        "shapes": [[512, 512, 512]],
        "points": points,
        "finals": {"512x512x512": final},
        "device": {"name": "NVIDIA H200"},
        "date": "2026-11-30",
    }


@pytest.fixture
def ablation() -> dict[str, Any]:
    """A record of `gemmgen ablate` with the full kernel and two variants."""

    def entry(name: str, share: float, says: str, *, is_gemm: bool) -> dict[str, Any]:
        base = {"name": name, "share": share, "says": says, "is_gemm": is_gemm}
        return {**base, "spread": 0.01, "microseconds": 100 * share, "loaded_terabytes": 12.0}

    entries = [
        entry("full", 1.0, "", is_gemm=True),
        entry("loads_only", 0.83, "the loads alone take 83% of the time", is_gemm=False),
        entry("no_swizzle", 2.5, "without the swizzle it takes 2.50x the time", is_gemm=True),
    ]
    shape = {"shape": [4096, 4096, 4096], "sets": 3, "noise": 0.012, "entries": entries}
    return {
        "schema": 1,
        "kind": "ablate",
        "kernel": "h9_persistent",
        "device": {"name": "NVIDIA H200"},
        "date": "2026-11-30",
        "shapes": [shape],
    }
