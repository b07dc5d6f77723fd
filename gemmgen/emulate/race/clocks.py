"""Vector clocks: what a thread, a barrier or an asynchronous operation knows to have happened.

A clock of a cluster is an array with a column for each lane and for each slot of asynchronous work,
and a row for each kind of knowledge:

- ``HAPPENED``: causality order (PTX ISA "Memory Consistency Model, Causality order");
- ``EXECUTED``: the same, but relaxed arrivals count too: they order execution, not memory;
- ``PROXY_SHARED``, ``PROXY_GLOBAL``: what lies before a fence.proxy.async on the way here ("Proxy
  preserved base causality order");
- ``INIT``: mbarrier.init before a fence.mbarrier_init on the way here;
- ``BEFORE``: tcgen05 operations before a tcgen05.fence::before_thread_sync of their own thread, or
  that a commit has signalled, with the way from there to here;
- ``AFTER``: those of them before an ::after_thread_sync of this warp. It is never passed on: the
  fence orders later operations of its own thread only (PTX ISA "Specialized Inter-thread
  Synchronization for tcgen05 instructions").

An entry is the last tick of a lane, or the last epoch of a slot, that is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.lanes import WARP

ROWS = 7
HAPPENED, EXECUTED, PROXY_SHARED, PROXY_GLOBAL, INIT, BEFORE, AFTER = range(ROWS)
_STEP = 64  # columns by which clocks grow

Ticks = NDArray[np.int32]


def blank(columns: int) -> Ticks:
    """A clock that knows nothing, with room for at least `columns`."""
    return np.zeros((ROWS, -(-columns // _STEP) * _STEP), dtype=np.int32)


def grown(ticks: Ticks, columns: int) -> Ticks:
    """The same clock with at least `columns`; may be `ticks` itself."""
    if columns <= ticks.shape[1]:
        return ticks
    wide = blank(columns)
    wide[:, : ticks.shape[1]] = ticks
    return wide


def joined(a: Ticks, b: Ticks) -> Ticks:
    """What either knows, as a new array."""
    if a.shape[1] < b.shape[1]:
        a, b = b, a
    if a.shape[1] == b.shape[1]:
        return np.maximum(a, b)
    out = a.copy()
    part = out[:, : b.shape[1]]
    np.maximum(part, b, out=part)
    return out


def absorbed(a: Ticks, b: Ticks) -> Ticks:
    """`a` with what `b` knows, changed in place where its width allows."""
    a = grown(a, b.shape[1])
    part = a[:, : b.shape[1]]
    np.maximum(part, b, out=part)
    return a


Far = dict[int, Ticks]


@dataclass(frozen=True, slots=True)
class Clock:
    """A snapshot: never changed. ``far`` are clocks of other clusters, by their index."""

    cluster: int
    near: Ticks
    far: Far | None = None

    def of(self, cluster: int) -> Ticks | None:
        """What is known of a cluster."""
        if cluster == self.cluster:
            return self.near
        return None if self.far is None else self.far.get(cluster)

    def join(self, other: Clock | None) -> Clock:
        """What either knows."""
        if other is None or other is self:
            return self
        near = self.near
        far = dict(self.far or {})
        for index, ticks in other.all():
            if index == self.cluster:
                near = joined(near, ticks)
            else:
                far[index] = joined(far[index], ticks) if index in far else ticks
        return Clock(self.cluster, near, far or None)

    def meet(self, other: Clock) -> Clock:
        """What both know."""
        near = self._least(self.near, other.near)
        both = (self.far or {}).keys() & (other.far or {}).keys()
        far = {i: self._least(self.far[i], other.far[i]) for i in both if self.far and other.far}
        return Clock(self.cluster, near, far or None)

    @staticmethod
    def _least(a: Ticks, b: Ticks) -> Ticks:
        width = min(a.shape[1], b.shape[1])
        least: Ticks = np.minimum(a[:, :width], b[:, :width])
        return least

    def all(self) -> list[tuple[int, Ticks]]:
        """Clusters and what is known of each."""
        return [(self.cluster, self.near), *(self.far or {}).items()]

    def relaxed(self, lanes: int) -> Clock:
        """What a relaxed arrival passes on: that things have executed and that asynchronous work
        is done, but no memory of the `lanes` first columns, which are threads.
        """
        near = self.near.copy()
        near[[HAPPENED, PROXY_SHARED, PROXY_GLOBAL], :lanes] = 0
        return Clock(self.cluster, near)

    def with_done(self, slots: list[tuple[int, int]]) -> Clock:
        """The same, and the epochs of these slots, the newest of each, are over."""
        near = grown(self.near.copy(), max(column for column, _ in slots) + 1)
        for column, epoch in slots:
            near[:AFTER, column] = epoch
        return Clock(self.cluster, near, self.far)


@dataclass(eq=False, slots=True)
class Part:
    """Lanes of a warp that know the same; of each other's present they know nothing.

    ``own`` is, for each row, the tick up to which a lane knows its own past, apart from what is in
    ``near``; the first two rows always reach the present.
    """

    mask: int
    near: Ticks
    far: Far = field(default_factory=dict)
    own: Ticks = field(default_factory=lambda: np.zeros(ROWS, dtype=np.int32))

    def split(self, mask: int) -> Part:
        """Take the lanes of `mask` out into a part of their own."""
        self.mask &= ~mask
        return Part(mask, self.near.copy(), dict(self.far), self.own.copy())

    def take(self, clock: Clock, cluster: int) -> None:
        """Learn what a clock knows, but for its row ``AFTER``."""
        if clock.far is None and clock.cluster == cluster:
            self._absorb(clock.near)
            return
        for index, ticks in clock.all():
            if index == cluster:
                self._absorb(ticks)
            else:
                held = self.far.get(index)
                self.far[index] = ticks if held is None else joined(held, ticks)

    def _absorb(self, ticks: Ticks) -> None:
        self.near = grown(self.near, ticks.shape[1])
        absorbed(self.near[:AFTER], ticks[:AFTER])


class WarpClock:
    """The clocks of a warp's lanes. ``tick`` is the present of every lane; it moves on when a lane
    passes its knowledge on, so that what comes later is not part of it. ``base`` is lane 0's
    column.
    """

    __slots__ = ("_held", "base", "bulk", "cluster", "fenced", "heard", "parts", "tick")

    def __init__(self, cluster: int, base: int, mask: int, columns: int) -> None:
        self.cluster = cluster
        self.base = base
        self.tick = 1
        self.parts = [Part(mask, blank(columns))]
        self._held: tuple[int, Clock] | None = None
        self.fenced: dict[int, Clock] = {}
        """Lane -> what it knew at its last fence, which later relaxed writes pass on."""
        self.heard: dict[int, Clock] = {}
        """Lane -> what relaxed reads have seen, which a later fence makes known."""
        self.bulk: dict[int, list[tuple[tuple[int, int], tuple[int, int]]]] = {}
        """Lane that has issued bulk copies -> the last reading and writing slots of its groups."""

    def mark(self) -> int:
        """The tick of something that happens now."""
        self._held = None
        return self.tick

    def parts_of(self, mask: int) -> list[Part]:
        """The parts that make up `mask`, split off where need be."""
        found = []
        for part in list(self.parts):
            inside = part.mask & mask
            if not inside:
                continue
            if inside != part.mask:
                part = part.split(inside)
                self.parts.append(part)
            found.append(part)
        return found

    def views(self, mask: int) -> list[tuple[int, Part]]:
        """The parts that lanes of `mask` belong to, with those lanes."""
        return [(p.mask & mask, p) for p in self.parts if p.mask & mask]

    def release(self, mask: int) -> Clock:
        """What the lanes of `mask` know together, their own present included."""
        held = self._held
        if held is not None and held[0] == mask:
            return held[1]
        views = self.views(mask)
        near = views[0][1].near.copy()
        far = dict(views[0][1].far)
        for _, part in views[1:]:
            near = absorbed(near, part.near)
            for index, ticks in part.far.items():
                far[index] = joined(far[index], ticks) if index in far else ticks
        for lanes, part in views:
            part.own[: EXECUTED + 1] = self.tick
            self._set(near, lanes, part.own)
        self.tick += 1
        clock = Clock(self.cluster, near, far or None)
        self._held = (mask, clock)
        return clock

    def _set(self, near: Ticks, mask: int, own: Ticks) -> None:
        """Enter what each lane of `mask` knows of itself."""
        if mask & (mask - 1):
            columns = near[:, self.base : self.base + WARP]
            wide = own[:, None] * flags_of(mask)
            np.maximum(columns, wide, out=columns)
        else:
            column = near[:, self.base + mask.bit_length() - 1]
            np.maximum(column, own, out=column)

    def acquire(self, mask: int, clock: Clock | None) -> None:
        """The lanes of `mask` learn what a clock knows."""
        if clock is None:
            return
        self._held = None
        for part in self.parts_of(mask):
            part.take(clock, self.cluster)

    def agree(self, mask: int, clock: Clock) -> None:
        """The lanes of `mask` learn a clock that each of them has released into.

        What one of them knows by ``AFTER`` counts for all: warps load Tensor Memory as one.
        """
        self.acquire(mask, clock)
        first, *rest = self.parts_of(mask)
        for part in rest:
            first.mask |= part.mask
            first.near = grown(first.near, part.near.shape[1])
            absorbed(first.near[AFTER:], part.near[AFTER:])
            np.minimum(first.own, part.own, out=first.own)
            self.parts.remove(part)

    def sync(self, mask: int) -> None:
        """bar.warp.sync: the lanes of `mask` learn what each of them knows."""
        self.agree(mask, self.release(mask))

    def finish(self, slots: list[tuple[int, int]], mask: int) -> None:
        """The lanes of `mask` learn by a wait of their own that the epochs of these slots are over.

        Other threads learn it by a tcgen05.fence::before_thread_sync (PTX ISA "tcgen05, Canonical
        synchronization patterns": tcgen05.wait::ld, then the fence, then the arrival); only a
        tcgen05.commit has that fence in it.
        """
        if not slots:
            return
        self._held = None
        for part in self.parts_of(mask):
            part.near = grown(part.near, max(column for column, _ in slots) + 1)
            for column, epoch in slots:
                if part.near[HAPPENED, column] < epoch:
                    part.near[:BEFORE, column] = epoch

    def fence(self, mask: int, row: int, source: int = HAPPENED) -> None:
        """What the lanes of `mask` know by `source` they know by `row` as well."""
        self._held = None
        for part in self.parts_of(mask):
            np.maximum(part.near[row], part.near[source], out=part.near[row])
            part.own[row] = self.tick if source == HAPPENED else part.own[source]
            for index, ticks in part.far.items():
                part.far[index] = ticks.copy()
                np.maximum(ticks[row], ticks[source], out=part.far[index][row])
        self.tick += 1

    def fence_own(self, mask: int, columns: list[int]) -> None:
        """tcgen05.fence::before_thread_sync: of what has happened in the slots `columns`, where the
        warp's own operations are, the lanes of `mask` know by ``BEFORE`` as well.
        """
        self._held = None
        for part in self.parts_of(mask):
            part.near = grown(part.near, max(columns, default=0) + 1)
            part.near[BEFORE, columns] = part.near[HAPPENED, columns]
        self.tick += 1


_FLAGS: dict[int, NDArray[np.bool_]] = {}


def flags_of(mask: int) -> NDArray[np.bool_]:
    found = _FLAGS.get(mask)
    if found is None:
        found = _FLAGS[mask] = np.array([mask >> i & 1 for i in range(WARP)], dtype=np.bool_)
    return found
