"""Pydantic's errors as findings: coded, with the key path and a way out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gemmgen.spec.scan import Key
from gemmgen.spec.source import key_text, parse_key
from gemmgen.spec.walk import choices, field_at, is_array, nearest, table_in, unknown_key_help
from gemmgen.terms import Finding

_FOUND = {
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    str: "a string",
    list: "an array",
    dict: "a table",
}
_WANTED = {
    "int_type": "an integer",
    "float_type": "a number",
    "string_type": "a string",
    "bool_type": "true or false",
    "tuple_type": "an array",
    "model_type": "a table",
    "enum": "a string",
    "literal_error": "an integer",
}
_RANGE = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "finite_number": "a finite number",
    "too_long": "at most {max_length} entries, this has {actual_length}",
}
_NAME_RULE = (
    "a name has lower-case letters, digits and `_`, starts with a letter, and is at most 63 long"
)


def _either(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _missing(key: Key) -> tuple[str, str, str]:
    info = field_at(key)
    if info is None:
        return "S101", "missing key", "add it"
    table, name = table_in(info.annotation), key[-1]
    if table and len(key) == 1:
        form = f"[[{name}]]" if is_array(info.annotation) else f"[{name}]"
    else:
        form = f"{name} = …"
    words = choices(info.annotation) if table is None else []
    tail = f"; one of {_either(words)}" if words else ""
    return "S101", "missing key", f"add `{form}`: {info.description}{tail}"


def _wrong_type(kind: str, value: object, key: Key) -> tuple[str, str, str]:
    wanted = _WANTED[kind]
    found = _FOUND.get(type(value), "a date or time")
    plain = value.strip().lower() if isinstance(value, str) else ""
    info = field_at(key[:-1] if isinstance(key[-1], int) else key)
    words = choices(info.annotation) if info and table_in(info.annotation) is None else []
    help_ = f"one of {_either(words)}" if words else f"this is: {info.description}" if info else ""
    unquoted = {"an integer": r"-?\d{1,9}", "true or false": "true|false"}.get(wanted)
    if unquoted and re.fullmatch(unquoted, plain):
        help_ = f"write it without quotes: {plain}"
    elif wanted == "an array":
        help_ = "write `[…]` around the entries, `[]` for none"
    return "S103", f"wrong type: expected {wanted}, found {found}", help_


def _one_of(kind: str, value: object, key: Key, allowed: str) -> tuple[str, str, str]:
    """An enum or a literal; `allowed` is pydantic's list: ``'a' or 'b'``, ``1 or 2``, ``True``."""
    if allowed == "True":
        code, title = "S104", "not one of the allowed values"
        if type(value) is not bool:
            code, title, _ = _wrong_type("bool_type", value, key)
        return code, title, "`true`; leave it out for false"
    if type(value) is not (str if kind == "enum" else int):
        return _wrong_type(kind, value, key)
    words = [quoted or bare for quoted, bare in re.findall(r"'([^']*)'|(\d+)", allowed)]
    near = nearest(value, words) if isinstance(value, str) else ""
    tail = f"; did you mean `{near}`?" if near else ""
    return "S104", "not one of the allowed values", f"one of {_either(words)}{tail}"


def _unsafe(value: object) -> tuple[str, str, str]:
    safe = re.sub(r"[^a-z0-9]+", "_", str(value).lower()).lstrip("_0123456789")[:63].rstrip("_")
    return "S106", "unsafe name", _NAME_RULE + (f": `{safe}`" if safe else "")


def _outcome(error: Mapping[str, Any], key: Key) -> tuple[str, str, str]:
    """Code, title and help of one pydantic error."""
    kind, value, context = str(error["type"]), error["input"], error.get("ctx", {})
    if re.fullmatch(r"S\d{3}", kind):
        return kind, str(context["title"]), str(context["help"])
    if kind == "missing":
        return _missing(key)
    if kind == "extra_forbidden":
        return "S102", "unknown key", unknown_key_help(key)
    if kind == "literal_error" and key == ("schema",) and type(value) is int:
        help_ = "this gemmgen reads `schema = 1`; a newer file needs a newer gemmgen"
        return "S108", "unknown schema version", help_
    if kind in ("enum", "literal_error"):
        return _one_of(kind, value, key, str(context["expected"]))
    if kind == "string_pattern_mismatch":
        return _unsafe(value)
    if kind in _RANGE:
        return "S105", "out of range", _RANGE[kind].format(**context)
    if kind in _WANTED:
        return _wrong_type(kind, value, key)
    return "S103", f"not valid here: {error['msg']}", ""


def without_echoes(findings: list[Finding]) -> list[Finding]:
    """`findings` without the missing keys that an unknown key beside them was meant to be."""
    meant = set()
    for finding in findings:
        if finding.code == "S102" and (found := re.match(r"did you mean `(\w+)`", finding.help)):
            meant.add(key_text((*parse_key(finding.key)[:-1], found.group(1))))
    return [f for f in findings if f.code != "S101" or f.key not in meant]


def to_finding(error: Mapping[str, Any]) -> Finding:
    """One pydantic error as a finding without a place; `Source.place` adds file and line."""
    context = error.get("ctx", {})
    key: Key = tuple(error["loc"])
    code, title, help_ = _outcome(error, key)
    if "index" in context:
        key = (*key, int(context["index"]))
    if "at" in context:
        key = (*key, str(context["at"]))
    return Finding(code, title, key=key_text(key), help=help_)
