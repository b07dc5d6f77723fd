"""Writing files so that an interrupt loses nothing, and finding the project around a path."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path


def write_atomic(path: Path, data: str | bytes) -> None:
    """Write `data` to `path` through a temporary file in the same folder and a rename.

    Text is UTF-8 with ``\n`` line ends. Missing parent folders are made. A link stays one: the file
    that it names is written. What is there and is no regular file (a device, a pipe, whatever a
    name under ``/dev`` or ``/proc`` stands for) is written to as it is. A file keeps its mode, a
    new one gets what the umask leaves.

    Raises:
        OSError: with the name of `path`; the old file is untouched.
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    try:
        before = os.stat(path).st_mode
    except FileNotFoundError:
        before = None
    with _named(path):
        if before is not None and (not stat.S_ISREG(before) or _stands_for_another(path)):
            with path.open("ab") as out:
                out.write(raw)
            return
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, raw, before)


def _replace(target: Path, raw: bytes, mode: int | None) -> None:
    name = target.parent / f".{target.name[:64]}.{os.urandom(6).hex()}"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as out:
            if mode is not None:
                os.fchmod(handle, stat.S_IMODE(mode))
            out.write(raw)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _stands_for_another(path: Path) -> bool:
    """``/dev/stdout``, say: what it stands for is open already, and goes on being written."""
    return path.absolute().parts[1:2] in (("dev",), ("proc",)) and path.is_symlink()


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of the system name `path`, not a temporary file or none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def cache_folder(name: str) -> Path | None:
    """A folder of the user's cache, for what can be made again; None where it cannot be written."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) / "gemmgen" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def project_root(start: Path) -> Path | None:
    """Nearest folder at or above `start` that has a ``specs`` folder, or None."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / "specs").is_dir():
            return folder
    return None
