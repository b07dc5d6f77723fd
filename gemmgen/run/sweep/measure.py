"""Timing combinations on one GPU, in a child process that is ended when a kernel hangs."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gemmgen.run.sweep.state import KERNELS, LIBRARIES, Triple
from gemmgen.run.sweep.tasks import Kernel, Verified

CHILD = "gemmgen.run.sweep.child"
START_LIMIT = 180.0  # seconds for imports and the first CUDA context
CASE_LIMIT = 60.0  # seconds for one kernel's verification, more while timing
TIMING = "(timing)"


@dataclass(frozen=True)
class Batch:
    """Combinations to time in one interleaved run.

    Attributes:
        kernels: each with the files of its library by suffix.
        verify: ``quick``, ``full`` or ``none``: what is compared with torch before; at the timed
            shapes results always are.
    """

    kernels: tuple[tuple[Kernel, Mapping[str, bytes]], ...]
    shapes: tuple[Triple, ...]
    rounds: int
    slice_ms: float
    verify: str


@dataclass
class Measured:
    """What a batch came to.

    Attributes:
        verified: by name.
        shapes: a ``ShapeRecord`` of `gemmgen bench` as plain data by shape: noise and entries.
        device: as in a bench record.
    """

    verified: dict[str, Verified] = field(default_factory=dict)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    device: dict[str, Any] = field(default_factory=dict)


def measure(batch: Batch, device: str = "") -> Measured:
    """Verify and time `batch` on the GPU that CUDA_VISIBLE_DEVICES calls `device`.

    A kernel that hangs or takes its process down is ``failed`` (T416, T415), and the others are
    run without it.

    Raises:
        RuntimeError: the machine runs no kernel at all; the message says why.
    """
    out = Measured()
    with tempfile.TemporaryDirectory(prefix="gemmgen-") as name:
        folder = Path(name)
        for kernel, files in batch.kernels:
            _lay_out(kernel, files, folder)
        groups = [[kernel.name for kernel, _ in batch.kernels]]
        while groups:
            group = groups.pop()
            groups += _attempt(folder, group, batch, device, out) if group else []
    return out


def _lay_out(kernel: Kernel, files: Mapping[str, bytes], folder: Path) -> None:
    kernel.write(folder)
    libraries = folder / LIBRARIES
    libraries.mkdir(exist_ok=True)
    for suffix, data in files.items():
        (libraries / f"{kernel.name}{suffix}").write_bytes(data)


def _attempt(
    folder: Path, names: list[str], batch: Batch, device: str, out: Measured
) -> list[list[str]]:
    """Run a child over `names`; groups of names to try again when it dies."""
    _write_job(folder / "job.json", names, batch, out)
    current, shapes, limit = "", [], START_LIMIT
    slow = CASE_LIMIT + 4e-3 * batch.rounds * batch.slice_ms * (len(names) + 2)
    watch = _Watch(folder / "job.json", device)
    try:
        while (event := watch.next(limit))["event"] != "done":
            limit = slow
            match event["event"]:
                case "device":
                    out.device = event["device"]
                case "unfit":
                    raise RuntimeError(event["reason"])
                case "kernel":
                    current = event["name"]
                case "verified":
                    out.verified[event["name"]] = Verified(**event["verified"])
                case "timing":
                    current = names[0] if len(names) == 1 else TIMING
                case "timed":
                    shapes.append(event["record"])
    except (TimeoutError, EOFError) as error:
        if not current:
            raise RuntimeError(f"the measuring process failed at once: {error}") from None
        if current == TIMING:
            return [[name] for name in names]
        out.verified[current] = _guilty(current, error)
        return [[name for name in names if name != current]]
    finally:
        watch.end()
    out.shapes += shapes
    return []


def _write_job(path: Path, names: list[str], batch: Batch, out: Measured) -> None:
    job = {
        "kernels": str(path.parent / KERNELS),
        "libraries": str(path.parent / LIBRARIES),
        "names": names,
        "checked": [name for name in names if name in out.verified],
        "shapes": batch.shapes,
        "rounds": batch.rounds,
        "slice_ms": batch.slice_ms,
        "verify": batch.verify,
    }
    path.write_text(json.dumps(job), encoding="utf-8")


def _guilty(name: str, error: Exception) -> Verified:
    code, what = "T415", "ended its process"
    if isinstance(error, TimeoutError):
        code, what = "T416", "hangs on the GPU"
    return Verified("failed", 0, f"{code}: {name} {what}: {error}")


class _Watch:
    """A child and the events that it prints."""

    def __init__(self, job: Path, device: str) -> None:
        root = str(Path(__file__).resolve().parents[3])
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        if device:
            environment["CUDA_VISIBLE_DEVICES"] = device
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by end)
        self._process = subprocess.Popen(
            [sys.executable, "-m", CHILD, str(job)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            text=True,
        )
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._events.put(json.loads(line))
        self._events.put(None)

    def next(self, limit: float) -> dict[str, Any]:
        """The next event; raises TimeoutError or EOFError, each with the child's last words."""
        try:
            event = self._events.get(timeout=limit)
        except queue.Empty:
            raise TimeoutError(f"silent for {limit:.0f} s") from None
        if event is None:
            raise EOFError(self._last_words())
        return event

    def _last_words(self) -> str:
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"status {self._process.returncode}"

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()
