"""Compiled templates of one folder, all in one file of the user's cache.

A kernel takes some forty partials. Jinja's own cache has a file for each, and opening them takes
longer than what the templates then do.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from gemmgen.files import cache_folder, write_atomic

# Bytecode is of one Python, and what Jinja compiles to is of one Jinja.
MADE_BY = f"{sys.implementation.cache_tag} {sys.hexversion:x} jinja {jinja2.__version__}"


class BytecodeFile(jinja2.BytecodeCache):
    """Jinja's cache of compiled templates in one file: read once, and written by `save`.

    A template whose source has changed is compiled anew. A file that cannot be used is as good as
    none, and one that cannot be written is not missed.
    """

    def __init__(self, templates: Path) -> None:
        folder, name = cache_folder("templates"), str(templates.resolve())
        stem = hashlib.sha256(f"{MADE_BY} {name}".encode()).hexdigest()[:32]
        self.file = folder / f"{stem}.bytecode" if folder else None
        self.known: dict[str, tuple[str, CodeType]] | None = None
        self.changed = False

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give `bucket` the code of its template, where the source is still the same."""
        if self.known is None:
            self.known = self._read()
        checksum, code = self.known.get(bucket.key, ("", None))
        if checksum == bucket.checksum:
            bucket.code = code

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled for `bucket`."""
        if self.known is not None and bucket.code is not None:
            self.known[bucket.key] = (bucket.checksum, bucket.code)
            self.changed = True

    def save(self) -> None:
        """Write the file, if anything was compiled since."""
        if self.file is None or not self.changed:
            return
        self.changed = False
        with contextlib.suppress(OSError):
            write_atomic(self.file, marshal.dumps((MADE_BY, self.known)))

    def _read(self) -> dict[str, tuple[str, CodeType]]:
        found: Any = None
        if self.file is not None:
            try:
                found = marshal.loads(self.file.read_bytes())
            except (OSError, EOFError, TypeError, ValueError):
                found = None
        whole = isinstance(found, tuple) and len(found) == 2 and found[0] == MADE_BY
        return found[1] if whole and isinstance(found[1], dict) else {}
