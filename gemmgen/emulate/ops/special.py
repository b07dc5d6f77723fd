"""Special registers: PTX ISA, "Special Registers"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gemmgen.emulate.lanes import WARP, Value
from gemmgen.emulate.machine import Group

LANE_IDS = np.arange(WARP, dtype=np.uint32)
_AXES = "xyz"


def _tid(axis: int) -> Callable[[Group], Value]:
    def read(g: Group) -> Value:
        cache: dict[Any, Any] = g.warp.ext.setdefault("tid", {})
        found: Value | None = cache.get(axis)
        if found is None:
            x, y, _ = g.machine.block
            linear = LANE_IDS + np.uint32(g.warp.index * WARP)
            parts = (linear % x, linear // x % y, linear // (x * y))
            array = parts[axis].astype(np.uint32)
            same = bool((array == array[0]).all())
            found = cache[axis] = int(array[0]) if same else array
        return found

    return read


def _of(get: Callable[[Group], int]) -> Callable[[Group], Value]:
    return get


def _cluster_id(g: Group, axis: int) -> int:
    return g.cta.ctaid[axis] // g.machine.cluster_shape[axis]


def _lane_mask(kind: str) -> Callable[[Group], Value]:
    ids = LANE_IDS.astype(np.uint64)
    bit = np.uint64(1) << ids
    low = bit - np.uint64(1)
    table = {
        "eq": bit,
        "lt": low,
        "le": low | bit,
        "gt": np.uint64(0xFFFFFFFF) & ~(low | bit),
        "ge": np.uint64(0xFFFFFFFF) & ~low,
    }
    array = table[kind].astype(np.uint32)
    return lambda g: array


def _table() -> dict[str, Callable[[Group], Value]]:
    out: dict[str, Callable[[Group], Value]] = {
        "%laneid": lambda g: LANE_IDS,
        "%warpid": _of(lambda g: g.warp.index),
        "%nwarpid": _of(lambda g: len(g.cta.warps)),
        "%smid": _of(lambda g: g.cta.linear % g.machine.settings.sm_count),
        "%nsmid": _of(lambda g: g.machine.settings.sm_count),
        "%gridid": _of(lambda g: 0),
        "%clock": _of(lambda g: g.machine.tick() & 0xFFFFFFFF),
        "%clock64": _of(lambda g: g.machine.tick()),
        "%globaltimer": _of(lambda g: g.machine.tick()),
        "%globaltimer_lo": _of(lambda g: g.machine.tick() & 0xFFFFFFFF),
        "%globaltimer_hi": _of(lambda g: g.machine.tick() >> 32),
        "%is_explicit_cluster": _of(lambda g: len(g.cta.cluster.ctas) > 1),
        "%cluster_ctarank": _of(lambda g: g.cta.rank),
        "%cluster_nctarank": _of(lambda g: len(g.cta.cluster.ctas)),
        "%dynamic_smem_size": _of(lambda g: g.machine.shared_bytes - g.machine.dynamic_base),
        "%total_smem_size": _of(lambda g: g.machine.shared_bytes),
        "%aggr_smem_size": _of(lambda g: g.machine.shared_bytes),
    }
    for kind in ("eq", "lt", "le", "gt", "ge"):
        out[f"%lanemask_{kind}"] = _lane_mask(kind)
    for i, letter in enumerate(_AXES):
        out[f"%tid.{letter}"] = _tid(i)
        out[f"%ntid.{letter}"] = _of(lambda g, i=i: g.machine.block[i])  # type: ignore[misc]
        out[f"%ctaid.{letter}"] = _of(lambda g, i=i: g.cta.ctaid[i])  # type: ignore[misc]
        out[f"%nctaid.{letter}"] = _of(lambda g, i=i: g.machine.grid[i])  # type: ignore[misc]
        out[f"%clusterid.{letter}"] = _of(lambda g, i=i: _cluster_id(g, i))  # type: ignore[misc]
        out[f"%nclusterid.{letter}"] = _of(
            lambda g, i=i: g.machine.grid[i] // g.machine.cluster_shape[i]  # type: ignore[misc]
        )
        out[f"%cluster_ctaid.{letter}"] = _of(
            lambda g, i=i: g.cta.ctaid[i] % g.machine.cluster_shape[i]  # type: ignore[misc]
        )
        out[f"%cluster_nctaid.{letter}"] = _of(
            lambda g, i=i: g.machine.cluster_shape[i]  # type: ignore[misc]
        )
    return out


SPECIAL = _table()
