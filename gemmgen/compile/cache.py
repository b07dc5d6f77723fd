"""Compiled files on disk: one JSON file each, written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from gemmgen.compile.dsl import installed_version
from gemmgen.compile.kernel import Compiled
from gemmgen.compile.resources import Resources
from gemmgen.compile.source import read_source
from gemmgen.files import write_atomic
from gemmgen.terms import Arch

_FORMAT = 1


def load_cached(
    folder: Path | None, path: Path | str, arch: Arch | None, options: str
) -> Compiled | None:
    """The kept result for the file as it is now, or None. A damaged entry counts as none.

    Raises:
        CompileError: C301, the file cannot be read.
    """
    if folder is None:
        return None
    source = read_source(path)
    try:
        entry = _entry(folder, source.path, source.digest, arch, options)
        return _decode(json.loads(entry.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def store(folder: Path | None, compiled: Compiled, arch: Arch | None, options: str) -> None:
    """Keep a result; readers see the old state or the whole new one."""
    if folder is not None:
        entry = _entry(folder, compiled.path, compiled.digest, arch, options)
        write_atomic(entry, json.dumps(_encode(compiled)))


def _entry(folder: Path, path: str, digest: str, arch: Arch | None, options: str) -> Path:
    parts = [_FORMAT, path, digest, arch.value if arch else "", options, installed_version()]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return folder / f"{key}.json"


def _encode(compiled: Compiled) -> dict[str, object]:
    return {**asdict(compiled), "cubin": base64.b64encode(compiled.cubin).decode()}


def _decode(stored: dict[str, object]) -> Compiled:
    resources = stored["resources"]
    cluster = stored["cluster"]
    assert isinstance(resources, dict)
    assert isinstance(cluster, list)
    fields = {
        **stored,
        "arch": Arch(str(stored["arch"])),
        "cubin": base64.b64decode(str(stored["cubin"])),
        "resources": Resources(**{**resources, "remarks": tuple(resources["remarks"])}),
        "cluster": tuple(cluster),
    }
    return Compiled(**fields)  # type: ignore[arg-type]
