"""Change single keys of a spec text (`--set key=value`), for sweeps and one-off experiments."""

from __future__ import annotations

import copy
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gemmgen.spec.fmt import emit
from gemmgen.spec.read import parse_source
from gemmgen.spec.scan import Key
from gemmgen.spec.source import key_text, parse_key
from gemmgen.spec.walk import field_at, is_array, table_at, unknown_key_help
from gemmgen.terms import Finding, GemmgenError

_WORD = re.compile(r"[A-Za-z0-9_.+-]+")
_RANGE = re.compile(r"\s*(\d{1,6})\.\.(\d{1,6})\s*")
MAX_POINTS = 4096


def override(text: str, assignments: Mapping[str, Any], file: str = "<text>") -> str:
    """`text` with each key of `assignments` set to its value, in the one form, comments kept.

    A key is a path such as ``pipeline.ab_stages``, ``barriers.ab_full.wait`` or
    ``roles.mma.warps[0]``. None takes an optional key or table away. The values are not judged:
    parse the result.

    Raises:
        GemmgenError: S102 where the format has no such key, S130 where an array has no such entry
            or a value has no TOML form; S100, S109 where `text` is not TOML.
    """
    source = parse_source(text, file)
    data = copy.deepcopy(source.data)
    findings = []
    for name, value in assignments.items():
        key = source.canonical(parse_key(name))
        finding = _unknown(key, name) or _unwritable(value, name)
        finding = finding or _set(data, key, copy.deepcopy(value), name)
        findings += [finding] if finding else []
    if findings:
        raise GemmgenError(findings)
    return emit(data, source.scan.comments, file)


def parse_assignment(text: str) -> tuple[str, Any]:
    """``key=value`` as key and value: TOML, or a bare word for a string; no value is None.

    Raises:
        GemmgenError: S130 where it is neither.
    """
    name, equals, raw = text.partition("=")
    if not equals or not name.strip():
        help_ = "write `key=value`, for instance `pipeline.ab_stages=4`"
        raise GemmgenError([Finding("S130", "not an assignment", source=text, help=help_)])
    return name.strip(), _value(raw.strip(), text)


def sweep(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Every combination of ``key=value,value,…`` texts, the last key fastest.

    ``2..8`` stands for the whole numbers from 2 to 8.

    Raises:
        GemmgenError: S130, a text is no assignment, a range is empty, one key has two texts, or
            there are more than `MAX_POINTS` combinations.
    """
    axes = []
    for text in texts:
        name, equals, raw = text.partition("=")
        values = [item for value in _split(raw) for item in _counted(value, text)]
        axes.append([parse_assignment(f"{name}{equals}{value}") for value in values])
    names = [axis[0][0] for axis in axes]
    if twice := [name for name in names if names.count(name) > 1]:
        raise _fault("a key is set twice", twice[0], "give all its values at once: `key=1,2`")
    if (count := math.prod(map(len, axes))) > MAX_POINTS:
        title = f"{count} combinations are more than {MAX_POINTS}"
        raise _fault(title, " ".join(texts), "sweep fewer keys at a time")
    return [dict(point) for point in itertools.product(*axes)]


def _counted(value: str, text: str) -> list[str]:
    """The values that ``a..b`` stands for; any other text is itself."""
    match = _RANGE.fullmatch(value)
    if match is None:
        return [value]
    first, last = int(match[1]), int(match[2])
    if not 0 <= last - first < MAX_POINTS:
        raise _fault("not a range", text, "write the smaller number first: `key=2..8`")
    return [str(number) for number in range(first, last + 1)]


def _fault(title: str, source: str, help_: str) -> GemmgenError:
    return GemmgenError([Finding("S130", title, source=source, help=help_)])


def _split(raw: str) -> list[str]:
    """`raw` at its commas outside of brackets and quotes."""
    pieces = re.findall(r'"(?:[^"\\]|\\.)*"|.', raw, re.DOTALL)
    out, depth = [""], 0
    for piece in pieces:
        depth += (piece in "[{") - (piece in "]}")
        if piece == "," and depth == 0:
            out.append("")
        else:
            out[-1] += piece
    return out


def _value(raw: str, text: str) -> Any:
    if not raw:
        return None
    if _WORD.fullmatch(raw) and not _is_toml(raw):
        return raw
    if "\n" not in raw and _is_toml(raw):
        return parse_source(f"value = {raw}", "--set").data["value"]
    help_ = "write a number, true, false, a word, or TOML in quotes or brackets"
    raise GemmgenError([Finding("S130", "not a value", source=text, help=help_)])


def _is_toml(raw: str) -> bool:
    try:
        parse_source(f"value = {raw}", "--set")
    except GemmgenError:
        return False
    return True


def _unknown(key: Key, name: str) -> Finding | None:
    """S102 for the first part of `key` that the format does not have."""
    for end in range(1, len(key) + 1):
        part = key[:end]
        if isinstance(part[-1], int):
            info = field_at(part[:-1])
            if info is None or not is_array(info.annotation):
                return Finding("S102", "not an array", name, help="leave the index out")
        elif table_at(part[:-1]) is None and _is_array_key(part[:-1]):
            help_ = f"no entry is named `{part[-1]}`; give its index: `{key_text(part[:-1])}[0]`"
            return Finding("S102", "unknown entry", name, help=help_)
        elif field_at(part) is None:
            return Finding("S102", "unknown key", name, help=unknown_key_help(part))
    return None if key else Finding("S102", "unknown key", name, help="name a key")


def _is_array_key(key: Key) -> bool:
    info = field_at(key) if key else None
    return info is not None and is_array(info.annotation)


def _unwritable(value: object, name: str) -> Finding | None:
    if isinstance(value, list | tuple):
        return next((f for item in value if (f := _unwritable(item, name))), None)
    if isinstance(value, dict):
        return next((f for item in value.values() if (f := _unwritable(item, name))), None)
    if value is None or isinstance(value, bool | int | float | str):
        return None
    return Finding("S130", f"a {type(value).__name__} has no TOML form", name, help="give a number")


def _set(data: dict[str, Any], key: Key, value: Any, name: str) -> Finding | None:
    """Set or remove the value at `key`, which the format has; tables on the way are made."""
    node: Any = data
    for part in key[:-1]:
        if isinstance(node, dict) and part not in node and value is None:
            return None
        node = node.setdefault(part, {}) if isinstance(node, dict) else _entry(node, part)
        if not isinstance(node, dict | list):
            return Finding("S130", "no such entry", name, help="the array is shorter")
    last = key[-1]
    if isinstance(node, dict) and value is None:
        node.pop(last, None)
    elif isinstance(node, dict):
        node[last] = list(value) if isinstance(value, tuple) else value
    elif isinstance(last, int) and last < len(node):
        node[last : last + 1] = [] if value is None else [value]
    else:
        return Finding("S130", "no such entry", name, help="the array is shorter")
    return None


def _entry(node: Any, part: object) -> Any:
    has = isinstance(node, list) and isinstance(part, int) and part < len(node)
    return node[part] if has else None
