"""JSON Schema of a spec file, for completion and checks in editors (`specs/schema.json`)."""

from __future__ import annotations

import json
from typing import Any

from gemmgen.spec.model import Spec

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Schema of a spec file, draft 2020-12.

    Optional keys lose pydantic's ``null`` (TOML has none: a key is there or it is not).
    """
    schema = Spec.model_json_schema(by_alias=True)
    body = {k: v for k, v in _tidy(schema).items() if k not in ("title", "description")}
    return {
        "$schema": DIALECT,
        "title": "gemmgen kernel spec",
        "description": "One GEMM kernel. Sizes are in elements unless a key says otherwise.",
        **body,
    }


def json_schema_text() -> str:
    """What `specs/schema.json` holds."""
    return json.dumps(json_schema(), indent=2) + "\n"


def _tidy(node: Any) -> Any:
    """`node` without null types, and without the titles that only spell a key again."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: _tidy(value) for key, value in node.items()}
    for name, value in out.get("properties", {}).items():
        if isinstance(value, dict) and value.get("title", "") == name.replace("_", " ").title():
            del value["title"]
    if "anyOf" in out and {"type": "null"} in out["anyOf"]:
        kept = [item for item in out.pop("anyOf") if item != {"type": "null"}]
        out.pop("default", None)
        out = {**out, **kept[0]} if len(kept) == 1 else {**out, "anyOf": kept}
    return out
