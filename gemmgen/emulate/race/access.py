"""One access to memory, as race detection remembers it, and who makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.lanes import WARP
from gemmgen.emulate.machine import Cta, lanes_text
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.race.clocks import HAPPENED, Clock, Part, Ticks, WarpClock, flags_of

Offsets = NDArray[np.int64]


@dataclass(eq=False, slots=True)
class Access:
    """A read or write. ``column`` and ``epoch`` name the slot of asynchronous work; with column -1
    it is one of the lanes ``mask`` of a warp at its tick ``epoch``. ``starts`` are the first bytes
    that those lanes touch, ``size`` each; None when every lane touches all of it.
    """

    kind: str
    writes: bool
    instr: Instr | None
    cta: Cta
    warp: int
    mask: int
    base: int
    epoch: int
    column: int = -1
    proxy: str = "generic"
    strong: bool = False
    starts: Offsets | None = None
    size: int = 0
    cluster: int = field(init=False)
    """Index of the cluster that made it."""

    def __post_init__(self) -> None:
        self.cluster = self.cta.cluster.index

    @property
    def asynchronous(self) -> bool:
        """Whether it takes effect some time after it was issued."""
        return self.column >= 0

    def same_warp(self, other: Access) -> bool:
        """Whether one warp made, or issued, both."""
        return self.warp == other.warp and self.cta is other.cta

    def __str__(self) -> str:
        what = f"{self.kind} by {self.cta.where()}, warp {self.warp}, {lanes_text(self.mask)}"
        return what if self.instr is None else f"{what}\n    {self.instr.place}"

    def lanes_at(self, cells: Offsets, unit: int) -> NDArray[np.bool_]:
        """Which lanes touch each cell of `unit` bytes; shape (32, cells)."""
        flags = flags_of(self.mask)
        if self.starts is None:
            return np.repeat(flags[:, None], cells.size, axis=1)
        found = np.zeros((WARP, cells.size), dtype=np.bool_)
        first = self.starts[:, None]
        found[flags] = (first < cells + unit) & (first + self.size > cells)
        return found


@dataclass(frozen=True, slots=True)
class View:
    """What some lanes know of the cluster of an earlier access; None: nothing."""

    mask: int
    ticks: Ticks | None


@dataclass(eq=False, slots=True)
class Actor:
    """Who makes an access now: the access, and what its lanes (or its operation) know."""

    access: Access
    views: Sequence[tuple[int, Part | Clock]]
    memo: dict[tuple[int, int], int] = field(default_factory=dict)
    in_part: set[tuple[int, int]] = field(default_factory=set)
    """Histories in `memo` of which it knows some lanes, so that other pieces are judged anew."""
    touched: set[tuple[int, int, int]] = field(default_factory=set)
    """Columns of Tensor Memory that it has touched before: the memory, first and end."""
    reached: set[Cta] = field(default_factory=set)

    def surely(self, old: Access) -> bool:
        """Whether an earlier access is known by all; False where that takes a longer look."""
        if old.cluster != self.access.cluster or len(self.views) != 1:
            return False
        if old.column == self.access.column and old.column >= 0:
            return True  # one queue: in the order of issue
        return knows(self.views[0][1].near, old, HAPPENED)

    def views_of(self, cluster: int) -> list[View]:
        """What is known of a cluster."""
        out = []
        for mask, source in self.views:
            out.append(View(mask, known_of(source, self.access.cluster, cluster)))
        return out


def known_of(source: Part | Clock, own: int, cluster: int) -> Ticks | None:
    """The ticks of a cluster in a part of a warp, or in a clock."""
    if cluster == own:
        return source.near
    return None if source.far is None else source.far.get(cluster)


def knows(ticks: Ticks | None, old: Access, row: int) -> bool:
    """Whether an access is known, in all its lanes."""
    if ticks is None:
        return False
    if old.column >= 0:
        return old.column < ticks.shape[1] and bool(ticks[row, old.column] >= old.epoch)
    if old.mask & (old.mask - 1):
        seen = ticks[row, old.base : old.base + WARP] >= old.epoch
        return bool((seen | ~flags_of(old.mask)).all())
    return bool(ticks[row, old.base + old.mask.bit_length() - 1] >= old.epoch)


def ordered(
    old: Access, now: Actor, cells: Callable[[], Offsets], unit: int, row: int = HAPPENED
) -> bool:
    """Whether an earlier access comes before `now` at these cells, by knowledge of kind `row`."""
    views = now.views_of(old.cluster)
    if all(knows(view.ticks, old, row) for view in views):
        return True
    access = now.access
    if old.column >= 0 and old.column == access.column and old.cluster == access.cluster:
        return True  # one queue: in the order of issue
    if old.column >= 0 and len(views) == 1:
        return False
    same = old.same_warp(access) and not access.asynchronous and not old.asynchronous
    if same and row == HAPPENED and _each_its_own(old, access):
        return True
    return not _clash(old, access, views, cells(), unit, row, same)


def _each_its_own(old: Access, now: Access) -> bool:
    """Whether each lane touches the same bytes both times, its own."""
    if old.starts is None or now.starts is None:
        return old.mask == now.mask and not old.mask & (old.mask - 1)
    same = old.mask == now.mask and old.size == now.size
    return same and bool((old.starts == now.starts).all())


def _clash(
    old: Access,
    now: Access,
    views: Sequence[View],
    cells: Offsets,
    unit: int,
    row: int,
    same: bool,
) -> bool:
    """Lane by lane: whether some cell is touched by a lane of each that are not ordered."""
    before = old.lanes_at(cells, unit)
    after = now.lanes_at(cells, unit) if not now.asynchronous else None
    for view in views:
        unknown = flags_of(old.mask) & ~_known_lanes(view.ticks, old, row)
        if not unknown.any():
            continue
        if after is None:
            if before[unknown].any():
                return True
            continue
        mine = after & flags_of(view.mask)[:, None]
        pairs = (before & unknown[:, None]).astype(np.int32) @ mine.T.astype(np.int32)
        if same:
            np.fill_diagonal(pairs, 0)
        if pairs.any():
            return True
    return False


def _known_lanes(ticks: Ticks | None, old: Access, row: int) -> NDArray[np.bool_]:
    if ticks is None:
        return np.zeros(WARP, dtype=np.bool_)
    if old.column >= 0:
        return np.full(WARP, knows(ticks, old, row))
    seen: NDArray[np.bool_] = ticks[row, old.base : old.base + WARP] >= old.epoch
    return seen


def actor_of(access: Access, warp: WarpClock, mask: int) -> Actor:
    """The lanes of a warp that make an access."""
    return Actor(access, warp.views(mask))
