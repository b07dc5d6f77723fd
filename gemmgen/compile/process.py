"""One worker process, seen from its parent."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

_LAST_LINES = 8


class WorkerError(Exception):
    """A worker that gave no answer; ``last_words`` is the end of what it printed."""

    def __init__(self, reason: str, last_words: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.last_words = last_words


class Worker:
    """A ``gemmgen.compile.worker`` process, started on the first request and after each failure."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._killed = False
        self._lock = threading.Lock()

    def ask(self, request: dict[str, object], time_limit: float) -> object:
        """Send a request and wait for its answer.

        Raises:
            WorkerError: the process died, or took longer than ``time_limit`` seconds.
        """
        process = self._running()
        deadline = time.monotonic() + time_limit
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            size = int.from_bytes(self._read(process, 8, deadline), "little")
            return pickle.loads(self._read(process, size, deadline))
        except TimeoutError:  # an OSError too: must come first
            raise self._failure(f"took longer than {time_limit:.0f} s") from None
        except (OSError, EOFError):
            status = process.wait()
            raise self._failure(f"died with status {status}") from None

    def kill(self) -> None:
        """End the process for good; safe from another thread than the one that asks."""
        with self._lock:
            self._killed = True
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._killed:
                raise WorkerError("was stopped", "")
            if self._process is None:
                self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _end)
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "gemmgen.compile.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._log,
                    env=_environment(),
                )
            return self._process

    def _read(self, process: subprocess.Popen[bytes], size: int, deadline: float) -> bytes:
        assert process.stdout is not None
        handle = process.stdout.fileno()
        parts = bytearray()
        while len(parts) < size:
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            part = os.read(handle, min(1 << 20, size - len(parts)))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    def _failure(self, reason: str) -> WorkerError:
        words = ""
        with self._lock:
            if self._log is not None and not self._log.closed:
                self._log.seek(0)
                text = self._log.read().decode(errors="replace")
                words = "\n".join(text.strip().splitlines()[-_LAST_LINES:])
            self._end()
        return WorkerError(reason, words)

    def _end(self) -> None:
        process, log = self._process, self._log
        self._process = self._log = None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):  # a request that never went out
                        stream.close()
        if log is not None:
            log.close()


def _environment() -> dict[str, str]:
    """The parent's environment, in which the worker finds this very gemmgen."""
    root = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([root, inherited] if inherited else [root])
    return {**os.environ, "PYTHONPATH": path}
