"""The text of a spec with its values: says where a key stands, and places findings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gemmgen.frozen import frozen
from gemmgen.terms import Finding

if TYPE_CHECKING:
    from gemmgen.spec.scan import Key, Scan

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|\[\d+\]|[^.\[\]"]+')


def key_text(key: Key) -> str:
    """`key` as errors print it: ``barriers[0].arrive[1].by``."""
    out = ""
    for part in key:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            word = part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False)
            out += f".{word}" if out else word
    return out


def parse_key(text: str) -> Key:
    """The path that `text` spells, the inverse of `key_text`."""
    key: list[str | int] = []
    for part in _PART.findall(text):
        if part.startswith("["):
            key.append(int(part[1:-1]))
        elif part.startswith('"'):
            key.append(str(json.loads(part)))
        else:
            key.append(part.strip())
    return tuple(key)


@frozen
class Source:
    """Text of one spec and the values in it.

    Attributes:
        file: path as given, for messages.
        text: the whole file, line ends normalised to line feeds.
        data: what `tomllib` reads from it.
    """

    file: str
    text: str
    data: dict[str, Any]

    @cached_property
    def scan(self) -> Scan:
        from gemmgen.spec.scan import scan

        return scan(self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def canonical(self, key: Key) -> Key:
        """`key` with barriers' names as indices: ``barriers.ab_full`` is ``barriers[0]``."""
        out: Key = ()
        value: Any = self.data
        for part in key:
            if isinstance(value, list) and isinstance(part, str):
                names = [item.get("name") if isinstance(item, dict) else None for item in value]
                part = names.index(part) if part in names else part
            out = (*out, part)
            if isinstance(value, dict):
                value = value.get(str(part))
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                value = None
        return out

    def line(self, key: Key) -> int:
        """1-based line of `key`, or of the nearest table around it; 0 when there is none."""
        path = self.canonical(key)
        while path and path not in self.scan.lines:
            path = path[:-1]
        return self.scan.lines.get(path, 0)

    def has(self, key: Key) -> bool:
        return self.canonical(key) in self.scan.lines

    def place(self, finding: Finding) -> Finding:
        """`finding` with the file, the line of its key and, before its own source, that line."""
        key = parse_key(finding.key)
        line = finding.line or (self.line(key) if key else 0)
        shown = [self.lines[line - 1].strip()] if line and self.has(key) else []
        source = "\n".join([*shown, *([finding.source] if finding.source else [])])
        return replace(finding, file=self.file, line=line or 1, source=source)

    def place_all(self, findings: Iterable[Finding]) -> list[Finding]:
        """`place` for each finding, sorted by line."""
        return sorted((self.place(f) for f in findings), key=lambda f: f.line)
