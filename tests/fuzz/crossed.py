"""Whole kernels: every feature of the sm_100a ladders drawn for itself, then made to fit.

A change of a committed spec seldom crosses more than two features. Here tile, CTA pair, cluster,
multicast or plain copies, consumers, scheduler, epilogue and warps are drawn beside each other, and
the barriers that they need follow. What does not fit together is for the checker to refuse.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

BASE = "v8_persistent"
SPANS = {"128b": 64, "64b": 32, "32b": 16}


def _choose(draw: st.DrawFn, *values: Any) -> Any:
    return draw(st.sampled_from(values))


@st.composite
def crossings(draw: st.DrawFn) -> dict[str, Any]:
    """Changes of `BASE` that make it another warp-specialized kernel."""
    group = _choose(draw, 1, 2)
    persistent = _choose(draw, True, True, True, False)
    consumers = _choose(draw, 1, 1, 1, 2, 2, 3)
    columns = _choose(draw, 64, 128, 192, 256)
    swizzle = _choose(draw, "128b", "128b", "128b", "64b", "32b", "none")
    changes = {
        "tile.m": 128 * consumers,
        "tile.n": columns,
        "tile.k": _step(draw, swizzle),
        "mma.m": 128 * group,
        "mma.n": columns,
        "mma.cta_group": group,
        "smem.swizzle": swizzle,
        "pipeline.ab_stages": _choose(draw, 2, 3, 4, 5, 6),
        "pipeline.acc_stages": _choose(draw, 1, 2, 3) if persistent else 1,
        "epilogue.chunks": _choose(draw, 1, 2, 4, 8, 16),
        "epilogue.register_buffers": _choose(draw, 1, 1, 2),
    }
    copies = _choose(draw, 0, 0, 0, 0, 1, 2, 4)  # warps that copy where TMA does not load
    shared = _cluster(draw, group, changes, copies > 0)
    _scheduler(draw, persistent, changes)
    changes["roles"] = _roles(draw, consumers, persistent, max(1, copies))
    changes["load.kind"] = "cooperative" if copies else "tma"
    full = "threads" if copies else "tx"
    how = _choose(draw, "thread", "threads") if persistent else ""
    changes["barriers"] = _barriers(group == 2, shared, full, how, persistent or consumers > 1)
    return changes


@st.composite
def rings(draw: st.DrawFn) -> dict[str, Any]:
    """Changes of `BASE` that make it a kernel all of whose threads copy, ahead or in turn."""
    persistent, columns = _choose(draw, True, False), _choose(draw, 64, 128, 192, 256)
    swizzle, first = _choose(draw, *SPANS, "none"), _choose(draw, 0, 0, 4)
    stages = _choose(draw, 1, 2, 3, 4)
    changes = {
        "tile": {"m": 128, "n": columns, "k": _step(draw, swizzle)},
        "mma": {"kind": "tcgen05", "m": 128, "n": columns, "k": 16, "cta_group": 1},
        "cluster": None,
        "smem.swizzle": swizzle,
        "load.kind": "cooperative",
        "mainloop.kind": "serial" if stages == 1 else "prefetch",
        "pipeline.ab_stages": stages,
        "pipeline.acc_stages": 1,
        "epilogue.chunks": _choose(draw, 1, 2, 4, 8),
        "epilogue.register_buffers": _choose(draw, 1, 2),
    }
    _scheduler(draw, persistent, changes)
    every = list(range(first + 4))
    warps = {"producer": every, "mma": [_choose(draw, *every)], "epilogue": every[first:]}
    changes["roles"] = {role: {"warps": those} for role, those in warps.items()}
    changes["barriers"] = [_barrier("mma_done", "single", "mma", "commit", "self", "producer")]
    return changes


def _step(draw: st.DrawFn, swizzle: str) -> int:
    """A tile.k: a span of the swizzle, or several, or anything without one."""
    if swizzle in SPANS:
        return SPANS[swizzle] * int(_choose(draw, 1, 1, 1, 2, 3))
    return int(_choose(draw, 16, 32, 64, 128))


def _cluster(draw: st.DrawFn, group: int, changes: dict[str, Any], plain: bool) -> bool:
    """Set the cluster, the loads that it shares, and whether there are any."""
    m, n = group * _choose(draw, 1, 1, 2, 4), _choose(draw, 1, 1, 2)
    may = ["a"] * (n > 1) + ["b"] * (m > group)
    shared = [matrix for matrix in may if not plain and _choose(draw, True, False)]
    changes["cluster"] = {"m": m, "n": n} if m * n > 1 else None
    changes["load.multicast"] = shared
    return bool(shared)


def _scheduler(draw: st.DrawFn, persistent: bool, changes: dict[str, Any]) -> None:
    changes["scheduler.kind"] = "persistent" if persistent else "grid"
    grouped = _choose(draw, "", "group_m", "group_n")
    if grouped:
        changes[f"scheduler.{grouped}"] = _choose(draw, 1, 2, 3, 8)
    stores = _choose(draw, True, False)
    changes["epilogue.kind"] = "tma_store" if stores else "direct"
    changes["epilogue.d_stages"] = _choose(draw, 1, 2, 4) if stores else None


def _roles(draw: st.DrawFn, consumers: int, persistent: bool, loads: int) -> dict[str, Any]:
    """The epilogue has warps of its own where the kernel is persistent, else any."""
    first = _choose(draw, 0, 0, 4)
    epilogue = list(range(first, first + 4 * consumers))
    every = range(first + 4 * consumers + consumers + loads)
    free = [warp for warp in every if not (persistent and warp in epilogue)]
    loaders = _runs(free, loads)
    producer = _choose(draw, *(run for run in loaders if _runs(_rest(free, run), consumers)))
    mma = _choose(draw, *_runs(_rest(free, producer), consumers))
    warps = {"producer": producer, "mma": mma, "epilogue": epilogue}
    return {role: {"warps": those} for role, those in warps.items()}


def _rest(free: list[int], run: list[int]) -> list[int]:
    return [warp for warp in free if warp not in run]


def _runs(free: list[int], length: int) -> list[list[int]]:
    """Every `length` of warps that follow each other."""
    runs = (free[i : i + length] for i in range(len(free) + 1 - length))
    return [run for run in runs if run[-1] - run[0] + 1 == length]


def _barrier(name: str, ring: str, by: str, how: str, to: str, waits: str) -> dict[str, Any]:
    return {
        "name": name,
        "ring": ring,
        "arrive": [{"by": by, "how": how, "to": to}],
        "wait": [waits],
        "pre_armed": name.endswith("empty"),
    }


def _barriers(
    pair: bool, shared: bool, full: str, releases: str, many: bool
) -> list[dict[str, Any]]:
    """The four hand-overs: `full` is how a stage is announced, `releases` how the epilogue gives
    an accumulator back, or empty.

    `many` accumulators, of some tiles or consumers, have a barrier each.
    """
    own, both = ("leader", "pair") if pair else ("self", "self")
    rows = [
        ("ab_full", "ab", "producer", full, own, "mma"),
        ("ab_empty", "ab", "mma", "commit", "sharers" if shared else both, "producer"),
        ("acc_full", "acc" if many else "single", "mma", "commit", both, "epilogue"),
    ]
    if releases:
        rows.append(("acc_empty", "acc", "epilogue", releases, own, "mma"))
    return [_barrier(*row) for row in rows]
