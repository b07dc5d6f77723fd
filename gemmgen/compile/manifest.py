"""What a built shared library says about itself; written beside it as ``<stem>.json``."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from gemmgen.compile.errors import failure
from gemmgen.files import write_atomic
from gemmgen.terms import Arch

SCHEMA = 2


@dataclass(frozen=True)
class Extent:
    """The values of M, N or K that a kernel takes: ``min``, ``min + step`` … ``max``.

    ``min`` and ``max`` are equal where one value alone is taken.
    """

    min: int
    step: int
    max: int


@dataclass(frozen=True)
class Manifest:
    """A built library.

    Attributes:
        library: file name of the shared library, in the manifest's folder. Beside it lie the cubin
            and the generated file, of the same stem.
        library_bytes: its size, for a loader that knows no SHA-256.
        library_sha256, cubin_sha256: of their bytes: tell a half-copied or exchanged one.
        function: name of the TVM-FFI function; ``kernel``: symbol of the kernel in its cubin.
        parameters: name and kind of each argument in order: ``tensor:Float16`` (2-D, row-major)
            or ``int32``; the stream is the caller's current one and no argument.
        source, source_sha256: the generated file and its text's digest.
        spec, spec_digest: from the file's header; empty without one.
        cluster: CTAs of a cluster along x, y and z.
        alignment_bytes: of every base address and row stride.
        extents: what ``m``, ``n`` and ``k`` may be, as ``check_problem`` of the generated file
            answers; empty for a file without one.
        constants: the file's integer constants (``TILE_M`` …).
        resources: figures of :class:`gemmgen.compile.Resources`.
    """

    library: str
    library_bytes: int
    library_sha256: str
    cubin_sha256: str
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
    extents: dict[str, Extent] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA

    def write(self, path: Path) -> None:
        """Write as JSON, whole or not at all."""
        write_atomic(path, json.dumps(asdict(self), indent=2) + "\n")


_MANIFEST = TypeAdapter(Manifest)
_REBUILD = "build it again: `gemmgen build FILE -o DIR`"
_COPY = "copy the .so, .json, .cubin and .py of a library together, or build it again"


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        CompileError: C317, it is missing, or not a manifest of this schema.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        title = f"cannot read the manifest: {error.strerror}"
        raise failure("C317", title, file=str(path), help=_COPY) from None
    try:
        schema = json.loads(text)["schema"]
        if schema == SCHEMA:
            return _checked(_MANIFEST.validate_json(text, strict=True), path)
    except (ValueError, TypeError, KeyError, RecursionError, ValidationError):
        title = "not a manifest of a built library"
        raise failure("C317", title, file=str(path), help=_REBUILD) from None
    title = f"a manifest of schema {schema}, and this gemmgen reads {SCHEMA}"
    raise failure("C317", title, file=str(path), help=_REBUILD)


def _checked(manifest: Manifest, path: Path) -> Manifest:
    """`manifest`, when it speaks of the files beside it and of a known architecture."""
    if manifest.library != f"{path.stem}.so":
        raise ValueError(manifest.library)
    Arch(manifest.arch)
    return manifest


def check_library(path: Path, *, arch: Arch | None = None, source: Path | None = None) -> Manifest:
    """The manifest of a built library that may be loaded.

    Args:
        path: the manifest.
        arch: architecture of the device that is to run it.
        source: generated file that it must have been built from, as the file is now.

    Raises:
        CompileError: C317, with what does not fit: a file that was not copied with it or is
            another one, its architecture, or its source.
    """
    manifest = read_manifest(path)
    library = manifest.library
    help_ = _REBUILD
    reason = _damage(path, manifest)
    if reason:
        help_ = _COPY
    elif arch is not None and manifest.arch != arch.value:
        reason = f"{library} is built for {manifest.arch}, and the device is {arch.value}"
    elif source is not None and not source.is_file():
        reason = f"{library} is stale: {source} is no longer there"
    elif source is not None and _text_digest(source) != manifest.source_sha256:
        reason = f"{library} is stale: {source} has changed since it was built"
    if reason:
        raise failure("C317", reason, file=str(path), help=help_)
    return manifest


def _damage(path: Path, manifest: Manifest) -> str:
    """What is wrong with the files beside the manifest, or an empty string."""
    for suffix, digest, wanted in (
        (".so", _digest, manifest.library_sha256),
        (".cubin", _digest, manifest.cubin_sha256),
        (".py", _text_digest, manifest.source_sha256),
    ):
        file = path.with_suffix(suffix)
        if not file.is_file():
            return f"{file.name} is not there"
        if digest(file) != wanted:
            return f"{file.name} is not the one that this manifest was written for"
    return ""


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _text_digest(path: Path) -> str:
    """Like the digest of a source that is read: of the text, whatever its line ends."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return hashlib.sha256(text.encode()).hexdigest()
