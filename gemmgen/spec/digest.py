"""The resolved spec as plain data, and its digest, which the header of a generated file names."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from gemmgen.spec.model import Spec


def resolve(spec: Spec) -> dict[str, Any]:
    """`spec` as plain data in file order, keys as in the file, absent keys left out.

    Absent keys stay out so that a later optional key changes no digest of a spec without it.
    """
    return spec.model_dump(mode="json", by_alias=True, exclude_none=True)


def digest(spec: Spec) -> str:
    """``sha256:`` and 64 hex digits over all of `spec`: texts count, comments and order do not."""
    text = json.dumps(resolve(spec), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()
