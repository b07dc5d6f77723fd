"""Bytes to `Source`: read within limits and parsed as TOML, or S100 with a way out."""

from __future__ import annotations

import re
import stat
import tomllib
from pathlib import Path

from gemmgen.spec.source import Source
from gemmgen.terms import Finding, GemmgenError

MAX_BYTES = 64 * 1024
MAX_LINE = 512
MAX_DEPTH = 16
_SIZE_HELP = f"a spec has at most {MAX_BYTES:_} bytes: one kernel a file"
_DEPTH_HELP = "a spec has tables in tables and arrays, four levels at most"
_TOML_HELP = {
    "Invalid value": "text needs double quotes; `true` and `false` are lower case",
    "Illegal character": "a text on one line ends with a double quote, a longer one with three",
    "Expected '=' after": "a line is `key = value`, `[table]` or `[[table]]`",
    "Expected newline or end": "one `key = value` a line; comments start with `#`",
    "Invalid statement": "a line is `key = value`, `[table]` or `[[table]]`",
}


def _fail(file: str, title: str, help_: str, line: int = 0, source: str = "") -> GemmgenError:
    return GemmgenError([Finding("S100", title, file=file, line=line, source=source, help=help_)])


def read_text(path: Path | str) -> str:
    """Text of the file at `path`.

    Raises:
        GemmgenError: S100 where it is no regular file, unreadable, over 64 KiB or not UTF-8.
    """
    file = str(path)
    try:
        mode = Path(path).stat().st_mode
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise _fail(file, f"cannot read the spec: it is {what}", "name a .toml file")
        with Path(path).open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        help_ = "check the path; `gemmgen list` names the specs"
        raise _fail(file, f"cannot read the spec: {reason}", help_) from None
    return decode(raw, file)


def decode(raw: bytes, file: str) -> str:
    """`raw` as text, within the limits of a spec; raises S100."""
    if len(raw) > MAX_BYTES:
        raise _fail(file, "the spec is too large", _SIZE_HELP)
    if raw.startswith(b"\xef\xbb\xbf"):
        raise _fail(file, "the spec starts with a byte order mark", "save it without one", 1)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        title = f"the spec is not UTF-8: byte 0x{raw[error.start]:02x}"
        raise _fail(file, title, "save it as UTF-8", line) from None


def parse_source(text: str, file: str) -> Source:
    """`text` parsed as TOML.

    Raises:
        GemmgenError: S100 where it is too large or not TOML, S109 where a key is given twice.
    """
    text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if len(text) > MAX_BYTES:
        raise _fail(file, "the spec is too large", _SIZE_HELP)
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            help_ = f"at most {MAX_LINE} characters, this has {len(line)}"
            raise _fail(file, "a line is too long", help_, number)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(str(error), file, lines) from None
    except RecursionError:
        raise _fail(file, "nested too deeply", _DEPTH_HELP) from None
    except ValueError as error:  # a date that does not exist, an integer of thousands of digits
        raise _fail(file, f"not valid TOML: {error}", "check numbers and dates") from None
    if _depth(data) > MAX_DEPTH:
        from gemmgen.spec.scan import scan

        at = min(at for key, at in scan(text).lines.items() if len(key) >= MAX_DEPTH)
        raise _fail(file, "nested too deeply", _DEPTH_HELP, at, lines[at - 1].strip())
    return Source(file, text, data)


def _depth(data: object) -> int:
    """Tables and arrays within each other, counted level by level so that no depth is too much."""
    depth, level = 0, [data]
    while level:
        depth += 1
        inner = [list(v.values()) if isinstance(v, dict) else v for v in level]
        level = [v for values in inner if isinstance(values, list) for v in values]
    return depth


def _toml_error(message: str, file: str, lines: list[str]) -> GemmgenError:
    """The parser's message with its place as a line, and a way out for the usual slips."""
    found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    what = message[: found.start()] if found else message
    line = int(found.group(1)) if found and found.group(1) else len(lines)
    shown = lines[line - 1].strip()
    if what.startswith(("Cannot overwrite", "Cannot declare", "Cannot mutate")):
        title, help_ = "a key or table is given twice", "remove one of them"
        return GemmgenError([Finding("S109", title, "", file, line, shown, help_)])
    fitting = (text for start, text in _TOML_HELP.items() if what.startswith(start))
    help_ = next(fitting, "the format: https://toml.io/en/v1.0.0")
    return _fail(file, f"not valid TOML: {what[:1].lower()}{what[1:]}", help_, line, shown)
