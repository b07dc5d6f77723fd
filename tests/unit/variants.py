"""Plans of the committed specs with some keys changed."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

from gemmgen.plan import Plan, make_plan
from gemmgen.spec import Spec

SPECS = Path(__file__).parents[2] / "specs"


def _assign(data: dict[str, Any], path: str, value: Any) -> None:
    """Set ``barriers.ab_full.ring`` or ``tile.m``; None removes the key."""
    *parents, last = path.split(".")
    here: Any = data
    for part in parents:
        if isinstance(here, list):
            here = here[int(part)] if part.isdigit() else next(b for b in here if b["name"] == part)
        else:
            here = here.setdefault(part, {})
    if isinstance(here, list):
        here[:] = [item for item in here if item["name"] != last] if value is None else here
    elif value is None:
        here.pop(last, None)
    else:
        here[last] = value


def vary(name: str, changes: dict[str, Any] | None = None) -> Plan:
    """The plan of spec `name` with some keys changed: ``vary("v8_persistent", {"tile.m": 64})``."""
    data = copy.deepcopy(tomllib.loads((SPECS / f"{name}.toml").read_text("utf-8")))
    for path, value in (changes or {}).items():
        _assign(data, path, value)
    return make_plan(Spec.model_validate(data))
