"""A file that ends its process on the GPU is a failed record, not a traceback."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import pytest

from gemmgen.run import watched
from gemmgen.run.options import Options


def test_what_the_driver_refuses_is_a_failed_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, options: Options, tell: Any) -> None:
        raise RuntimeError("CUDA error code=201\nmore of it")

    monkeypatch.setattr(watched, "verify_file", refuse)
    events: queue.Queue[Any] = queue.Queue()
    watched._work(Path("generated/h9.py"), Options(), events)
    record = events.get_nowait()
    assert record.status == "failed"
    assert record.message == "T415: h9.py ended with RuntimeError: CUDA error code=201"
