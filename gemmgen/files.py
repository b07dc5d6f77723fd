"""Writing files so that an interrupt loses nothing, and finding the project around a path."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomic(path: Path, data: str | bytes) -> None:
    """Write `data` to `path` through a temporary file in the same folder and a rename.

    Text is UTF-8 with ``\\n`` line ends. Missing parent folders are made.

    Raises:
        OSError: the folder cannot be written; the old file is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = data.encode("utf-8") if isinstance(data, str) else data
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(raw)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


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
