"""The digest that generated files carry, and the JSON Schema for editors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gemmgen.spec import Spec, digest, parse_spec, resolve
from gemmgen.spec.fields import Table
from gemmgen.spec.schema import DIALECT, json_schema, json_schema_text
from gemmgen.spec.walk import fields, table_in

SCHEMA = Path(__file__).parents[3] / "specs" / "schema.json"


def test_resolving_gives_the_file_back_as_plain_data(text: str) -> None:
    plain = resolve(parse_spec(text))
    assert json.loads(json.dumps(plain)) == plain
    assert Spec.model_validate(plain) == parse_spec(text)
    assert list(plain)[:4] == ["schema", "name", "arch", "title"]
    assert "group_m" not in plain["scheduler"]


def test_the_digest_ignores_order_and_comments(edit: Callable[..., str], text: str) -> None:
    moved = edit(('arch = "sm_100a"\n', ""), ("schema = 1\n", 'arch = "sm_100a"\nschema = 1 # s\n'))
    assert digest(parse_spec(moved)) == digest(parse_spec(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ab_stages = 6", "ab_stages = 5"),
        ('persistent"\n\n[epilogue]', 'persistent"\ngroup_m = 1\n\n[epilogue]'),
        ('title = "', 'title = "Two '),
        ("pre_armed = true", "pre_armed = false"),
    ],
)
def test_the_digest_changes_with_any_value_or_text(
    edit: Callable[..., str], text: str, old: str, new: str
) -> None:
    assert digest(parse_spec(edit((old, new)))) != digest(parse_spec(text))


def test_the_digest_has_a_known_form(text: str) -> None:
    kind, _, hexed = digest(parse_spec(text)).partition(":")
    assert kind == "sha256"
    assert len(bytes.fromhex(hexed)) == 32


def test_the_committed_schema_is_current() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == json_schema_text(), (
        "gemmgen schema -o specs/schema.json"
    )


def tables(table: type[Table] = Spec) -> Iterator[type[Table]]:
    yield table
    for info in fields(table).values():
        if inner := table_in(info.annotation):
            yield from tables(inner)


def test_every_key_of_every_table_says_what_it_is() -> None:
    for table in tables():
        assert table.__doc__
        for name, info in fields(table).items():
            assert info.description, f"{table.__name__}.{name}"


def keys_of(node: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield key, value
            yield from keys_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from keys_of(value)


def test_the_schema_is_closed_and_knows_no_null() -> None:
    schema = json_schema()
    assert schema["$schema"] == DIALECT
    assert ("type", "null") not in [(k, v) for k, v in keys_of(schema) if isinstance(v, str)]
    objects = [schema, *(d for d in schema["$defs"].values() if d["type"] == "object")]
    assert all(o["additionalProperties"] is False for o in objects)
    refs = {v for k, v in keys_of(schema) if k == "$ref"}
    assert refs == {f"#/$defs/{name}" for name in schema["$defs"]}


def test_the_schema_requires_what_the_loader_requires() -> None:
    schema = json_schema()
    assert set(schema["properties"]) - set(schema["required"]) == {"cluster", "barriers", "launch"}
    assert set(schema["$defs"]["Mma"]["required"]) == {"kind", "m", "n", "k", "cta_group"}
