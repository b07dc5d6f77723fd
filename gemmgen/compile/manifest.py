"""What a built shared library says about itself; written beside it as ``<stem>.json``."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gemmgen.compile.errors import failure
from gemmgen.files import write_atomic
from gemmgen.terms import Arch

SCHEMA = 1


@dataclass(frozen=True)
class Manifest:
    """A built library.

    Attributes:
        library: file name of the shared library, in the manifest's folder.
        library_sha256: of its bytes: tells a half-copied or exchanged one.
        function: name of the TVM-FFI function; ``kernel``: symbol of the kernel in its cubin.
        parameters: name and kind of each argument in order: ``tensor:Float16`` (2-D, row-major) or
        ``int32``;
            the stream is the caller's current one and no argument.
        source, source_sha256: the generated file and its text's digest.
        spec, spec_digest: from the file's header; empty without one.
        cluster: CTAs of a cluster along x, y and z.
        alignment_bytes: of every base address and row stride.
        constants: the file's integer constants (``TILE_M`` …): what ``check_problem`` goes by.
        resources: figures of :class:`gemmgen.compile.Resources`.
    """

    library: str
    library_sha256: str
    function: str
    kernel: str
    arch: str
    dsl_version: str
    parameters: tuple[tuple[str, str], ...]
    source: str
    source_sha256: str
    spec: str
    spec_digest: str
    cluster: tuple[int, int, int]
    alignment_bytes: int
    constants: dict[str, int] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA

    def write(self, path: Path) -> None:
        """Write as JSON, whole or not at all."""
        write_atomic(path, json.dumps(asdict(self), indent=2) + "\n")


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        CompileError: C317, it is missing or not a manifest of this schema.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        pairs = document.pop("parameters")
        cluster = tuple(document.pop("cluster"))
        parameters = tuple((name, kind) for name, kind in pairs)
        manifest = Manifest(**document, parameters=parameters, cluster=cluster)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        title = "not a manifest of a built library"
        raise failure("C317", title, file=str(path), help=_REBUILD) from None
    if manifest.schema != SCHEMA:
        raise failure(
            "C317",
            f"a manifest of schema {manifest.schema}, and this gemmgen reads {SCHEMA}",
            file=str(path),
            help=_REBUILD,
        )
    return manifest


_REBUILD = "build it again: `gemmgen build FILE -o DIR`"


def check_library(path: Path, *, arch: Arch | None = None, source: Path | None = None) -> Manifest:
    """The manifest of a built library that may be loaded.

    Args:
        path: the manifest.
        arch: architecture of the device that is to run it.
        source: generated file that it must have been built from, as the file is now.

    Raises:
        CompileError: C317, with what does not fit: the library's own bytes, its architecture, or
        its source.
    """
    manifest = read_manifest(path)
    library = path.parent / manifest.library
    reason = ""
    if not library.is_file():
        reason = f"its library {manifest.library} is not there"
    elif hashlib.sha256(library.read_bytes()).hexdigest() != manifest.library_sha256:
        reason = f"{manifest.library} is not the library that this manifest was written for"
    elif arch is not None and manifest.arch != arch.value:
        reason = f"{manifest.library} is built for {manifest.arch}, and the device is {arch.value}"
    elif source is not None and _digest(source) != manifest.source_sha256:
        reason = f"{manifest.library} is stale: {source} has changed since it was built"
    if reason:
        raise failure("C317", reason, file=str(path), help=_REBUILD)
    return manifest


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
