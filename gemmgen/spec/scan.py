"""Where each key of a TOML text stands, and which comment belongs to it.

`tomllib` gives values without positions. `scan` walks a text that `tomllib` has accepted and
records the line of every key path and the owner of every comment; it decides nothing about
validity.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Literal

from gemmgen.frozen import frozen

Key = tuple[str | int, ...]
"""Path of a value: table keys and array indices, outermost first."""

_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})'
    + r"|'''.*?'''(?:'{0,2})"
    + r'|"(?:[^"\\\n]|\\.)*"'
    + r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]+|[^\s,\]}#]+")
_COMMENT = re.compile(r"#[^\n]*")


@frozen
class Comment:
    """One comment line.

    Attributes:
        text: from ``#`` to the end of the line, no trailing space.
        key: path of the owner.
        place: ``head`` of the file (also ``#:`` directives above the first key), ``lead`` (lines
            above the owner), ``trail`` (same line), ``end`` (below the last key of the owner, a
            table or an array).
    """

    text: str
    key: Key
    place: Literal["head", "lead", "trail", "end"]


@dataclass
class Scan:
    """Line (1-based) of each key path, and the comments in file order."""

    lines: dict[Key, int] = field(default_factory=dict)
    comments: list[Comment] = field(default_factory=list)


@dataclass
class _Frame:
    """An array or inline table that is open; `index` counts the entries of an array."""

    key: Key
    is_array: bool
    index: int = 0


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.line = 1
        self.table: Key = ()
        self.counts: dict[Key, int] = {}
        self.last: Key = ()
        self.last_line = 0
        self.loose: list[tuple[str, int]] = []
        self.out = Scan()

    def take(self, pattern: re.Pattern[str]) -> str:
        """Consume a match at the position; an empty text when there is none."""
        found = pattern.match(self.text, self.pos)
        if not found:
            return ""
        self.pos = found.end()
        self.line += found.group().count("\n")
        return found.group()

    def peek(self, token: str) -> bool:
        return self.text.startswith(token, self.pos)

    def run(self) -> Scan:
        while self.pos < len(self.text):
            self.take(_SPACE)
            if self.peek("\n"):
                self.pos += 1
                self.line += 1
            elif self.peek("#"):
                self.comment()
            elif self.peek("["):
                self.header()
            elif self.pos < len(self.text):
                self.pair()
        for text, _ in self.loose:
            self.out.comments.append(Comment(text, self.table, "end"))
        return self.out

    def comment(self) -> None:
        line, text = self.line, self.take(_COMMENT).rstrip()
        if line == self.last_line:
            self.out.comments.append(Comment(text, self.last, "trail"))
        else:
            self.loose.append((text, line))

    def settle(self, header: bool, key: Key, line: int) -> None:
        """Give the comments above a statement at `line` to it, those above a gap to its elder."""
        near = len(self.loose)
        while near and self.loose[near - 1][1] == line - 1 - (len(self.loose) - near):
            near -= 1
        for i, (text, _) in enumerate(self.loose):
            if not self.last and (i < near or text.startswith("#:")):
                self.out.comments.append(Comment(text, (), "head"))
            elif i < near and header:
                self.out.comments.append(Comment(text, self.table, "end"))
            else:
                self.out.comments.append(Comment(text, key, "lead"))
        self.loose.clear()

    def dotted(self) -> list[str]:
        parts: list[str] = []
        while True:
            self.take(_SPACE)
            raw = self.take(_STRING)
            parts.append(_unquote(raw) if raw else self.take(_BARE_KEY))
            self.take(_SPACE)
            if not self.peek("."):
                return parts
            self.pos += 1

    def resolve(self, parts: list[str]) -> Key:
        """Path that a header names: arrays of tables on the way stand for their last entry."""
        key: Key = ()
        for part in parts:
            key = (*key, part)
            if key in self.counts:
                key = (*key, self.counts[key] - 1)
            self.out.lines.setdefault(key, self.line)
        return key

    def header(self) -> None:
        line, is_array = self.line, self.peek("[[")
        self.pos += 2 if is_array else 1
        parts = self.dotted()
        self.pos += 2 if is_array else 1
        if is_array:
            key: Key = (*self.resolve(parts[:-1]), parts[-1])
            index = self.counts.get(key, 0)
            self.counts[key] = index + 1
            self.out.lines.setdefault(key, line)
            key = (*key, index)
        else:
            key = self.resolve(parts)
        self.out.lines[key] = line
        self.settle(header=True, key=key, line=line)
        self.table, self.last, self.last_line = key, key, line

    def pair(self) -> None:
        """Consume ``key = value`` of the current table."""
        line, key = self.line, self.name(self.table)
        self.settle(header=False, key=key, line=line)
        self.value(key)
        self.last, self.last_line = key, self.line

    def name(self, table: Key) -> Key:
        key = table
        for part in self.dotted():
            key = (*key, part)
            self.out.lines.setdefault(key, self.line)
        self.pos += 1  # the equals sign
        self.take(_SPACE)
        return key

    def value(self, key: Key) -> None:
        """Consume one value; the explicit stack makes depth no concern."""
        stack: list[_Frame] = []
        self.scalar_or_open(key, stack)
        while stack:
            self.take(_SPACE)
            top = stack[-1]
            if self.pos >= len(self.text):
                return
            if self.peek("\n"):
                self.pos += 1
                self.line += 1
            elif self.peek("#"):
                self.comment()
            elif self.peek(","):
                self.pos += 1
                top.index += 1
            elif self.peek("]") or self.peek("}"):
                self.pos += 1
                self.hand_over(top.key, "end")
                stack.pop()
                self.last, self.last_line = top.key, self.line
            elif top.is_array:
                self.scalar_or_open((*top.key, top.index), stack)
            else:
                self.scalar_or_open(self.name(top.key), stack)

    def scalar_or_open(self, key: Key, stack: list[_Frame]) -> None:
        self.out.lines.setdefault(key, self.line)
        if stack:
            self.hand_over(key, "lead")
        if self.peek("[") or self.peek("{"):
            stack.append(_Frame(key, is_array=self.peek("[")))
            self.pos += 1
        elif not self.take(_STRING) and not self.take(_SCALAR):
            self.pos += 1
        self.last, self.last_line = key, self.line

    def hand_over(self, key: Key, place: Literal["lead", "end"]) -> None:
        """Give comments met inside an array to `key`."""
        for text, _ in self.loose:
            self.out.comments.append(Comment(text, key, place))
        self.loose.clear()


def _unquote(raw: str) -> str:
    value = tomllib.loads(f"key = {raw}")["key"]
    return str(value)


def scan(text: str) -> Scan:
    """Lines and comments of `text`, which must be valid TOML; ``\\r\\n`` counts as one line end."""
    return _Scanner(text.replace("\r\n", "\n")).run()
