"""What has happened to each piece of a memory: its last write, and the reads since.

A piece is 16 bytes, or one byte where something smaller was touched. Pieces with one history share
a number, so that an access to many pieces costs little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.race.access import Access, Actor, Offsets, ordered

CHUNK = 16
_FINE = -1
_WRITTEN = -2
_MOST_READS = 64

Cells = Callable[[], Offsets]
"""First bytes of some pieces."""


class Judge(Protocol):
    """Knows which accesses are races."""

    def __call__(self, old: Access, now: Actor, cells: Cells, unit: int) -> None:
        """Raise when an earlier access and `now` are a race at these pieces of `unit` bytes."""

    def simple(self, old: Access, now: Access) -> bool:
        """Whether it is enough that `now` is known to come later."""


@dataclass(frozen=True, slots=True)
class History:
    """The last write of a piece and the reads after it."""

    write: Access | None = None
    reads: tuple[Access, ...] = ()


class Shadow:
    """The histories of a memory. ``unit`` is the size of a piece; ``grid`` are the pieces
    in rows.
    """

    def __init__(self, pieces: int, judge: Judge, unit: int = CHUNK, rows: int = 1) -> None:
        self.coarse: NDArray[np.int32] = np.zeros(pieces, dtype=np.int32)
        self.grid = self.coarse.reshape(rows, -1)
        self.fine: NDArray[np.int32] | None = None
        self.histories = [History()]
        self.judge = judge
        self.unit = unit

    def holds(self, starts: Offsets, size: int) -> bool:
        """Whether all of these runs of `size` bytes are in the memory."""
        return int(starts.min()) >= 0 and int(starts.max()) + size <= self.coarse.size * self.unit

    def touch(self, now: Actor, where: slice | tuple[slice, slice] | Offsets) -> None:
        """An access to whole pieces: their numbers, or places in ``grid``."""
        memory = self.grid if isinstance(where, tuple) else self.coarse
        numbers = memory[where]
        low = int(numbers.item(0))
        if low != _FINE and np.count_nonzero(numbers == low) == numbers.size:
            memory[where] = self._next(now, low, partial(self._bytes, where), self.unit)
            return
        after = numbers.copy()
        for number in np.unique(numbers).tolist():
            mine = numbers == number
            if number == _FINE:
                self._touch_fine(now, self._indices(where)[mine])
            else:
                cells = partial(self._bytes, where, mine)
                after[mine] = self._next(now, number, cells, self.unit)
        memory[where] = after

    def _indices(self, where: slice | tuple[slice, slice] | Offsets) -> Offsets:
        if isinstance(where, np.ndarray):
            return where
        every = np.arange(self.coarse.size, dtype=np.int64)
        return every.reshape(self.grid.shape)[where] if isinstance(where, tuple) else every[where]

    def _bytes(
        self,
        where: slice | tuple[slice, slice] | Offsets,
        mine: NDArray[np.bool_] | None = None,
    ) -> Offsets:
        index = self._indices(where)
        return (index.ravel() if mine is None else index[mine]) * self.unit

    def _touch_fine(self, now: Actor, chunks: Offsets) -> None:
        bytes_ = (chunks[:, None] * CHUNK + np.arange(CHUNK)).ravel()
        self._touch_bytes(now, bytes_)

    def touch_runs(self, now: Actor, starts: Offsets, size: int) -> None:
        """An access to `size` bytes at each of `starts`."""
        if size % CHUNK == 0 and not int(np.bitwise_or.reduce(starts)) & (CHUNK - 1):
            chunks = starts >> 4
            if size > CHUNK:
                chunks = (chunks[:, None] + np.arange(size >> 4)).ravel()
            self.touch(now, chunks)
            return
        bytes_ = (starts[:, None] + np.arange(size)).ravel()
        chunks = np.unique(bytes_ >> 4)
        self._refine(chunks[self.coarse[chunks] != _FINE])
        self._touch_bytes(now, bytes_)

    def _refine(self, chunks: Offsets) -> None:
        if self.fine is None:
            self.fine = np.zeros((self.coarse.size, CHUNK), dtype=np.int32)
        self.fine[chunks] = self.coarse[chunks][:, None]
        self.coarse[chunks] = _FINE

    def _touch_bytes(self, now: Actor, bytes_: Offsets) -> None:
        assert self.fine is not None
        flat = self.fine.reshape(-1)
        numbers = flat[bytes_]
        for number in np.unique(numbers).tolist():
            mine = bytes_[numbers == number]
            flat[mine] = self._next(now, number, mine.view, 1)

    def _next(self, now: Actor, number: int, cells: Cells, unit: int) -> int:
        """The number of the history that follows; judges the access against the one before."""
        key = (id(self), number)
        found = now.memo.get(key)
        if found is not None and key not in now.in_part:
            return found
        before, access = self.histories[number], now.access
        if access is before.write or (before.reads and access is before.reads[-1]):
            return number
        olds: tuple[Access, ...] = (before.write,) if before.write is not None else ()
        if access.writes:
            olds += before.reads
        for old in olds:
            self._judge(old, now, cells, unit)
        if found is not None:
            return found
        if access.starts is None and not all(self._settled(old, now) for old in olds):
            now.in_part.add(key)
        if access.writes:
            found = self._written(now)
            if access.starts is None:
                now.memo[key] = found
            return found
        kept = tuple(r for r in before.reads if not _covered(r, now, cells, unit))
        found = self._new(History(before.write, (*kept[-_MOST_READS:], access)))
        if access.starts is None:
            now.memo[key] = found
        return found

    def _written(self, now: Actor) -> int:
        """The number of the history that begins with this write."""
        key = (id(self), _WRITTEN)
        found = now.memo.get(key)
        if found is None:
            found = now.memo[key] = self._new(History(now.access))
        return found

    def _new(self, history: History) -> int:
        self.histories.append(history)
        return len(self.histories) - 1

    def _judge(self, old: Access, now: Actor, cells: Cells, unit: int) -> None:
        if not self._simply(old, now):
            self.judge(old, now, cells, unit)

    def _simply(self, old: Access, now: Actor) -> bool:
        return now.surely(old) and self.judge.simple(old, now.access)

    def _settled(self, old: Access, now: Actor) -> bool:
        """Whether one verdict is that of all pieces: lanes of a warp may each be known or not."""
        one = old.column >= 0 or not old.mask & (old.mask - 1)
        return one or self._simply(old, now)


def _covered(read: Access, now: Actor, cells: Cells, unit: int) -> bool:
    return now.surely(read) or ordered(read, now, cells, unit)
