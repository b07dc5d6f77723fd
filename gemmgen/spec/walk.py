"""What the spec model says of a key path: its table, its fields, the words that it may have."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from gemmgen.spec.fields import Table
from gemmgen.spec.model import Spec

if TYPE_CHECKING:
    from gemmgen.spec.scan import Key


@cache
def fields(table: type[Table]) -> dict[str, FieldInfo]:
    """Fields of `table` by the key that a file uses, in file order."""
    return {info.alias or name: info for name, info in table.model_fields.items()}


def table_in(annotation: Any) -> type[Table] | None:
    """The table that `annotation` holds, through optional, annotated and tuple types."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    if get_origin(annotation) is Literal:
        return None
    return next((t for arg in get_args(annotation) if (t := table_in(arg))), None)


def is_array(annotation: Any) -> bool:
    """Whether `annotation` is a tuple type, also where it is optional or annotated."""
    if get_origin(annotation) is tuple:
        return True
    return get_origin(annotation) is not Literal and any(map(is_array, get_args(annotation)))


def field_at(key: Key) -> FieldInfo | None:
    """The field at `key`; None where the model has none, or where `key` ends in an array index."""
    table = table_at(key[:-1]) if key else None
    return fields(table).get(str(key[-1])) if table else None


def table_at(key: Key) -> type[Table] | None:
    """The model of the table at `key`; array indices and names of barriers are passed over."""
    table: type[Table] | None = Spec
    in_array = False
    for part in key:
        if in_array:
            in_array = False
            continue
        info = fields(table).get(str(part)) if table else None
        table = table_in(info.annotation) if info else None
        in_array = info is not None and is_array(info.annotation)
    return None if in_array else table


def choices(annotation: Any) -> list[str]:
    """The words that an enum or literal in `annotation` allows; empty for other types."""
    if get_origin(annotation) is Literal:
        values = get_args(annotation)
        return [str(v).lower() if isinstance(v, bool) else str(v) for v in values]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(member.value) for member in annotation]
    return [word for arg in get_args(annotation) for word in choices(arg)]


def nearest(word: str, words: Iterable[str]) -> str:
    """The entry of `words` that `word` most likely meant; empty when none is near."""
    import difflib

    near = difflib.get_close_matches(word.lower(), list(words), n=1, cutoff=0.6)
    return near[0] if near else ""


def homes(word: str) -> list[str]:
    """Top-level tables that have a key `word`; the empty text stands for the top of the file."""
    out = [""] if word in fields(Spec) else []
    for name, info in fields(Spec).items():
        table = table_in(info.annotation)
        if table and word in fields(table):
            out.append(name)
    return out


def unknown_key_help(key: Key) -> str:
    """What the unknown key at `key` may have meant."""
    table, word = table_at(key[:-1]), str(key[-1])
    known = list(fields(table)) if table else []
    if near := nearest(word, known):
        return f"did you mean `{near}`?"
    if found := homes(word):
        where = " or ".join(f"`{home}`" for home in found if home)
        return (
            f"`{word}` belongs to {where}" if where else f"`{word}` stands at the top of the file"
        )
    return "known here: " + ", ".join(f"`{name}`" for name in known) if known else "remove it"
