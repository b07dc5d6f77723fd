"""The one form of a spec file (`gemmgen fmt`): order, spacing and quoting; comments stay.

A file is rewritten from its values and comments: ``key = value`` lines in the order of the model,
one blank line before each table, tables within tables inline, arrays on one line where they fit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, time
from typing import Any

from gemmgen.spec.read import parse_source
from gemmgen.spec.scan import Comment, Key, scan
from gemmgen.spec.walk import fields, table_at
from gemmgen.terms import Finding, GemmgenError

WIDTH = 110
_PLACES = ("lead", "trail", "end")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def format_spec(text: str, file: str = "<text>") -> str:
    """`text` in the one form. Any TOML will do: keys that no spec has stay, after the others.

    Raises:
        GemmgenError: S100 or S109 where it is not TOML, S140 where a rewrite would change a value.
    """
    source = parse_source(text, file)
    return emit(source.data, source.scan.comments, file)


def is_formatted(text: str, file: str = "<text>") -> bool:
    """Whether `format_spec` would leave `text` as it is."""
    return format_spec(text, file) == text


def check_format(text: str, file: str) -> list[Finding]:
    """S140 with the first line that `format_spec` would change; empty where there is none."""
    old, new = text.split("\n"), format_spec(text, file).split("\n")
    if old == new:
        return []
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(new) - 1)
    shown = old[at].strip() if at < len(old) else ""
    help_ = f"run `gemmgen fmt {file}`"
    return [Finding("S140", "not in the one form", "", file, at + 1, shown, help_)]


def emit(data: dict[str, Any], comments: list[Comment], file: str = "<text>") -> str:
    """Text for `data` with `comments` at the keys that own them, or at the end.

    Raises:
        GemmgenError: S140 where the text would not read as `data` again, S100 where it is too long.
    """
    text = _Writer(data, comments).run()
    if not _same(parse_source(text, file).data, data) or len(scan(text).comments) != len(comments):
        title = "cannot bring this into the one form without changing it"
        raise GemmgenError([Finding("S140", title, file=file, help="report this file as a bug")])
    return text


def _same(a: object, b: object) -> bool:
    """Equality that tells 1 from true and 1.0, and finds nan equal to itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == b or (a != a and b != b)


def _is_table_array(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _ordered(table: dict[str, Any], key: Key) -> list[tuple[str, Any]]:
    """Entries of the table at `key`: known keys in the order of the model, then the others."""
    model = table_at(key)
    known = list(fields(model)) if model else []
    rank = {name: i for i, name in enumerate(known)}
    return sorted(table.items(), key=lambda item: rank.get(item[0], len(known)))


class _Writer:
    def __init__(self, data: dict[str, Any], comments: list[Comment]) -> None:
        self.data = data
        self.left = list(comments)
        self.lines: list[str] = []

    def run(self) -> str:
        top = _ordered(self.data, ())
        self.lines += [*self.take((), "head"), ""]
        for name, value in top:
            if not isinstance(value, dict) and not _is_table_array(value):
                self.pair((name,), value)
        self.lines += self.take((), "end")
        for name, value in top:
            if isinstance(value, dict):
                self.table((name,), value, f"[{key_word(name)}]")
            elif _is_table_array(value):
                above = [c for place in _PLACES for c in self.take((name,), place)]
                for index, entry in enumerate(value):
                    self.table((name, index), entry, f"[[{key_word(name)}]]", above)
                    above = []
        self.lines += [comment.text for comment in self.left]
        return "\n".join(_single_gaps(self.lines)).strip("\n") + "\n"

    def take(self, key: Key, *places: str, within: bool = False) -> list[str]:
        """Comments of `key` at `places` (all where none is named), which are then used up."""

        def wanted(c: Comment) -> bool:
            own = c.key[: len(key)] == key if within else c.key == key
            return own and (not places or c.place in places)

        mine = [c.text for c in self.left if wanted(c)]
        self.left = [c for c in self.left if not wanted(c)]
        return mine

    def own(self, key: Key) -> tuple[list[str], list[str]]:
        """Comments for above the line of `key`, and the one for its end."""
        lead, trail = self.take(key, "lead"), self.take(key, "trail")
        return [*lead, *trail[1:]], trail[:1]

    def table(
        self, key: Key, table: dict[str, Any], header: str, above: Sequence[str] = ()
    ) -> None:
        lead, trail = self.own(key)
        self.lines += ["", *above, *lead, " ".join([header, *trail])]
        for name, value in _ordered(table, key):
            self.pair((*key, name), value)
        self.lines += self.take(key, "end")

    def pair(self, key: Key, value: Any) -> None:
        """``key = value``; comments from within a value on one line go above it."""
        lead, trail = self.own(key)
        name = key_word(str(key[-1]))
        text = f"{name} = {value_text(value, key)}"
        inner = any(c.key[: len(key)] == key for c in self.left)
        if isinstance(value, list) and (inner or (value and len(text) > WIDTH)):
            self.lines += [*lead, " ".join([f"{name} = [", *trail])]
            self.entries(key, value)
            self.lines += [*_indented(self.take(key, "end")), "]"]
        else:
            self.lines += [*lead, *self.take(key, within=True), " ".join([text, *trail])]

    def entries(self, key: Key, values: list[Any]) -> None:
        """The entries of an array, one a line."""
        for index, value in enumerate(values):
            at = (*key, index)
            lead, trail = self.own(at)
            text = value_text(value, at, inline=True) + ","
            self.lines += _indented([*lead, *self.take(at, within=True), " ".join([text, *trail])])


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _single_gaps(lines: list[str]) -> list[str]:
    return [line for i, line in enumerate(lines) if line or (i and lines[i - 1])]


def key_word(name: str) -> str:
    """`name` as a TOML key, quoted where it must be."""
    return name if _BARE.fullmatch(name) else _quoted(name)


def value_text(value: Any, key: Key = (), inline: bool = False) -> str:
    """`value` as TOML; on one line, but for a text with line feeds that is not `inline`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value) if inline or "\n" not in value else _long(value)
    if isinstance(value, dict):
        entries = _ordered(value, key)
        pairs = [f"{key_word(k)} = {value_text(v, (*key, k), inline=True)}" for k, v in entries]
        return "{ " + ", ".join(pairs) + " }" if pairs else "{}"
    if isinstance(value, list):
        texts = [value_text(v, (*key, i), inline=True) for i, v in enumerate(value)]
        return "[" + ", ".join(texts) + "]"
    if isinstance(value, date | time):
        return value.isoformat()
    return repr(value)


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _long(text: str) -> str:
    """A text over several lines; double quotes are escaped only where three could meet."""
    keep = "\n" if '""' in text or text.endswith('"') else '\n"'
    return '"""\n' + "".join(c if c in keep else _escaped(c) for c in text) + '"""'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() else f"\\U{ord(char):08x}"
