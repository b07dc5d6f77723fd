"""Which keys a spec has, and values for them, from the model and the committed specs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from gemmgen.spec.source import key_text, parse_key
from gemmgen.spec.walk import choices, field_at, fields, is_array, table_at

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "specs"
GENERATED = ROOT / "generated"
WORDS_ONLY = ("schema", "name", "title", "lineage")  # no kernel depends on them

# Keys that belong together: a change of the one alone is refused nearly always.
EQUAL = {"tile.n": "mma.n", "tile.m": "mma.m"}
TOGETHER = {
    "mma.m": ("mma.cta_group", "tile.m"),
    "mma.cta_group": ("mma.m", "cluster", "barriers"),
    "mainloop.kind": ("roles", "barriers"),
    "scheduler.kind": ("barriers", "scheduler.group_m"),
    "epilogue.kind": ("epilogue.d_stages", "epilogue.chunks"),
    "load.kind": ("roles", "barriers", "mainloop.kind"),
    "load.multicast": ("cluster", "barriers"),
}

# Keys whose change most specs can take, and with more keys that can be changed alone, with the
# values that are legal somewhere.
GENTLE = (
    "pipeline.ab_stages",
    "pipeline.acc_stages",
    "tile.n",
    "epilogue.chunks",
    "epilogue.register_buffers",
    "epilogue.d_stages",
    "scheduler.group_m",
    "launch",
)
FREE: dict[str, tuple[Any, ...]] = {
    "pipeline.ab_stages": tuple(range(1, 13)),
    "pipeline.acc_stages": (1, 2, 3, 4),
    "tile.n": tuple(range(16, 257, 16)),
    "tile.k": (16, 32, 64, 128),
    "epilogue.chunks": (1, 2, 3, 4, 8, 16),
    "epilogue.register_buffers": (1, 2),
    "epilogue.d_stages": (1, 2, 3, 4),
    "scheduler.group_m": (None, 1, 2, 3, 4, 8, 16),
    "scheduler.kind": ("grid", "persistent", "single"),
    "smem.swizzle": ("none", "32b", "64b", "128b"),
    "problem.k_extent": ("one_step", "any"),
    "roles.producer.warps": tuple([n] for n in range(6)),
    "roles.mma.warps": tuple([n] for n in range(6)),
    "cluster.m": (1, 2, 4),
    "cluster.n": (1, 2, 4),
    "load.multicast": ([], ["a"], ["b"], ["a", "b"]),
    "launch": (None, {"dependent": True}),
}


@cache
def texts() -> dict[str, str]:
    """The committed specs that have a kernel, by path below ``specs/`` without suffix."""
    found = {}
    for path in sorted(SPECS.rglob("*.toml")):
        name = path.relative_to(SPECS).with_suffix("").as_posix()
        if (GENERATED / f"{name}.py").is_file():
            found[name] = path.read_text("utf-8")
    return found


@cache
def data(name: str) -> dict[str, Any]:
    """The values of a committed spec."""
    return tomllib.loads(texts()[name])


def _paths(node: dict[str, Any], above: str = "") -> Iterator[str]:
    """Every key that a spec could have at the tables that it has, whole tables and arrays too."""
    table = table_at(parse_key(above)) if above else table_at(())
    for word in fields(table) if table is not None else ():
        path = f"{above}.{word}" if above else word
        if path.split(".")[0] in WORDS_ONLY:
            continue
        yield path
        inside = node.get(word)
        if isinstance(inside, dict):
            yield from _paths(inside, path)
        elif isinstance(inside, list) and inside and isinstance(inside[0], dict):
            for index, entry in enumerate(inside):
                at = f"{path}[{index}]"
                yield at
                yield from _paths(entry, at)


@cache
def paths(name: str) -> tuple[str, ...]:
    """Keys of a committed spec that can be changed."""
    return tuple(path for path in _paths(data(name)) if not path.endswith(".name"))


@cache
def tiers(name: str) -> tuple[tuple[str, ...], ...]:
    """Keys of a committed spec to choose among: those of `GENTLE`, those of `FREE`, all."""
    every = paths(name)
    present = (path for path in every if value_at(data(name), path) is not None)
    return tuple(p for p in present if p in GENTLE), tuple(p for p in every if p in FREE), every


def usual_values(name: str, path: str) -> tuple[Any, ...]:
    """What a key of `FREE` could become."""
    now = value_at(data(name), path)
    return tuple(value for value in FREE[path] if value not in (now, None))


def value_at(node: Any, path: str) -> Any:
    """The value at `path`, None where there is none."""
    for part in parse_key(path):
        if isinstance(node, list):
            node = node[part] if isinstance(part, int) and part < len(node) else None
        elif isinstance(node, dict):
            node = node.get(str(part))
        else:
            return None
    return node


def _anywhere(path: str) -> str:
    """`path` with every index as 0: what it is, wherever in its array."""
    return key_text(tuple(0 if isinstance(part, int) else part for part in parse_key(path)))


@cache
def _seen() -> dict[str, tuple[Any, ...]]:
    """Values that the committed specs have, by key."""
    found: dict[str, list[Any]] = {}
    for name in texts():
        for path in paths(name):
            values = found.setdefault(_anywhere(path), [])
            value = value_at(data(name), path)
            if value not in values:
                values.append(value)
    return {path: tuple(values) for path, values in found.items()}


def values(name: str, path: str) -> tuple[Any, ...]:
    """What the key at `path` could become: seen elsewhere, of its type, or near its value."""
    now = value_at(data(name), path)
    found = [*FREE.get(path, ()), *_seen().get(_anywhere(path), ())]
    info = field_at(parse_key(path))
    if info is not None:
        words: list[Any] = list(choices(info.annotation))
        if words and all(word.isdigit() for word in words):
            words = [int(word) for word in words]
        found += [[word] for word in words] if is_array(info.annotation) else words
        found += [] if info.is_required() else [None]
    if isinstance(now, bool):
        found += [not now]
    elif isinstance(now, int):
        found += [now - 1, now + 1, now // 2, now * 2, now + 8, now - 8, now * 3 // 2, 1]
    return tuple(value for i, value in enumerate(found) if value != now and value not in found[:i])
