"""A headless Chromium, driven over a pipe: for PNG files, and for tests of the page.

Chrome DevTools Protocol: NUL-terminated JSON on file descriptors 3 and 4
(``--remote-debugging-pipe``), so nothing listens on a port.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from gemmgen.files import write_atomic
from gemmgen.terms import Finding, GemmgenError

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
LIMIT = 60.0  # seconds for one answer


def find_browser() -> str | None:
    """Path of a Chromium: ``$GEMMGEN_BROWSER``, else the first on PATH."""
    wanted = os.environ.get("GEMMGEN_BROWSER")
    found = [shutil.which(name) for name in ((wanted,) if wanted else NAMES)]
    return next((path for path in found if path), None)


class Browser:
    """One tab.

    Attributes:
        events: everything that it reported, in order: method and parameters.

    Raises:
        GemmgenError: T472, there is no Chromium, or it ends, or does not answer.
    """

    def __init__(self) -> None:
        path = find_browser()
        if path is None:
            raise _fault("no Chromium is installed here")
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._folder = tempfile.TemporaryDirectory(prefix="gemmgen-", ignore_cleanup_errors=True)
        self._number, self._session, self._rest = 0, "", b""
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        self._process = _start(path, self._folder.name, to_read, to_write)
        os.close(to_read)
        os.close(to_write)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        opened = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = opened["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and give its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        try:
            os.write(self._write, json.dumps(message).encode() + b"\0")
        except OSError:
            raise _fault("Chromium has ended") from None
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise _fault(f"Chromium refuses {method}: {answer['error'].get('message')}")
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + LIMIT
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise _fault("Chromium ends or does not answer")
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append((message["method"], message.get("params", {})))
        return message

    def open(self, url: str) -> None:
        """Load `url`, until its load event."""
        before = len(self.events)
        self.call("Page.navigate", url=url)
        while not any(name == "Page.loadEventFired" for name, _ in self.events[before:]):
            self._receive()

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression in the tab."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    def resize(self, width: int, height: int, scale: float = 1.0, *, mobile: bool = False) -> None:
        """Size of the window in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=mobile,
        )

    def prefer(self, scheme: str) -> None:
        """Prefer ``light`` or ``dark``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self, *, whole: bool = False) -> bytes:
        """PNG of the window, or of the whole page."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(taken["data"])


def png_files(drawings: Mapping[Path, tuple[str, float, float]]) -> list[Path]:
    """Write each SVG text, with its width and height, as a PNG of twice the size, in light.

    Raises:
        GemmgenError: T472, there is no Chromium, or it fails.
    """
    with Browser() as browser, tempfile.TemporaryDirectory(prefix="gemmgen-") as folder:
        browser.prefer("light")
        for path, (text, width, height) in drawings.items():
            file = Path(folder) / "figure.svg"
            file.write_text(text, encoding="utf-8")
            browser.resize(round(width), round(height), 2.0)
            browser.open(file.as_uri())
            write_atomic(path, browser.screenshot())
    return list(drawings)


def _start(path: str, folder: str, to_read: int, to_write: int) -> subprocess.Popen[bytes]:
    """Chromium with its pipe on descriptors 3 and 4, its profile in `folder`."""
    command = [path, "--headless", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
    command += ["--no-first-run", "--disable-gpu", "--hide-scrollbars", "--disable-extensions"]
    command += ["--disable-background-networking", "--disable-dev-shm-usage"]
    command += ["--no-sandbox"] if os.geteuid() == 0 else []
    # The shell moves the two descriptors to where Chromium looks for them.
    script = f'exec "$@" 3<&{to_read} 4>&{to_write}'
    return subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        pass_fds=(to_read, to_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _fault(title: str) -> GemmgenError:
    help_ = "install Chromium, or name one in GEMMGEN_BROWSER; --no-png writes SVG files alone"
    return GemmgenError([Finding("T472", title, help=help_)])
