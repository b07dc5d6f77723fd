"""Shared memory of one CTA: bounds, alignment, and which bytes have been written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import WARP, Lanes, Value
from gemmgen.emulate.space import Bytes, Space, check_aligned
from gemmgen.emulate.windows import SHARED_START

if TYPE_CHECKING:
    from gemmgen.emulate.machine import Cta, Group


class SharedMemory:
    """Shared memory of one CTA, indexed by offset (the address without its rank bits).

    ``data`` is uint8; ``init`` holds 0xFF for each byte that was written. Offsets below
    ``SHARED_START`` are the system's. ``barred`` is the end of the last mbarrier.
    """

    __slots__ = ("barred", "cta", "data", "flags", "init", "size", "space", "strict")

    def __init__(self, cta: Cta, size: int, strict: bool) -> None:
        self.cta = cta
        self.size = size
        self.strict = strict
        self.barred = 0
        padded = -(-size // 32) * 32
        self.data: Bytes = np.zeros(padded, dtype=np.uint8)
        self.init: Bytes = np.zeros(padded, dtype=np.uint8)
        self.space = Space(self.data)
        self.flags = Space(self.init)

    def check(self, offset: int, size: int, align: int = 1) -> None:
        """Raise E205 unless ``size`` bytes at ``offset`` are in bounds, E206 unless aligned."""
        if offset & (align - 1):
            raise EmulationError("E206", f"shared offset {offset:#x} is not a multiple of {align}")
        if offset < SHARED_START or offset + size > self.size:
            raise EmulationError("E205", self._outside(offset, size))

    def _ordinary(self, offset: int, size: int) -> None:
        """Raise E222 when one of these bytes is part of an mbarrier (PTX ISA "mbarrier": an opaque
        object, on which only mbarrier operations are defined).
        """
        for place in range(offset & -8, min(offset + size, self.barred), 8):
            bar = self.cta.barriers.get(place)
            if bar is not None:
                raise EmulationError(
                    "E222", f"{size} bytes at shared offset {offset:#x} overlap {bar.label}"
                )

    def _outside(self, offset: int, size: int) -> str:
        return (
            f"{size} bytes at shared offset {offset:#x} of {self.cta.where()}: "
            f"the CTA has {SHARED_START:#x} to {self.size:#x}"
        )

    def check_init(self, offset: int, size: int) -> None:
        """Raise E207 when any of these bytes was never written."""
        if self.strict:
            missing = np.flatnonzero(self.init[offset : offset + size] == 0)
            if missing.size:
                raise EmulationError(
                    "E207",
                    f"nothing has written shared offset {offset + int(missing[0]):#x} "
                    f"of {self.cta.where()}",
                )

    def mark(self, offset: int, size: int) -> None:
        """Note that these bytes are written."""
        self.init[offset : offset + size] = 0xFF

    def read(self, offset: int, size: int) -> bytes:
        """Bytes at an offset. Raises E205, E207, E222."""
        self.check(offset, size)
        if offset < self.barred:
            self._ordinary(offset, size)
        self.check_init(offset, size)
        return self.data[offset : offset + size].tobytes()

    def write(self, offset: int, data: bytes) -> None:
        """Write bytes at an offset. Raises E205, E222."""
        self.check(offset, len(data))
        if offset < self.barred:
            self._ordinary(offset, len(data))
        self.data[offset : offset + len(data)] = np.frombuffer(data, dtype=np.uint8)
        self.mark(offset, len(data))

    def load(self, group: Group, offset: Value, size: int, count: int) -> list[Value]:
        """``count`` elements of ``size`` bytes for each active lane. Raises E205, E206, E207,
        E222.
        """
        total = size * count
        if not isinstance(offset, np.ndarray):
            self.check(offset, total, total)
            if offset < self.barred:
                self._ordinary(offset, total)
            self.check_init(offset, total)
            start = offset // size
            view = self.space.views[size]
            return [int(view[start + k]) for k in range(count)]
        lanes = group.lanes
        places = self._places(offset, lanes, total)
        if self.strict:
            self._check_lanes(places, total)
        return self.space.gather(places, lanes, size, count)

    def _check_lanes(self, places: Lanes, total: int) -> None:
        unit = min(total, 8)
        written = self.flags.rows(unit, total // unit).take(places // total, axis=0)
        if int(written.min()) != (1 << 8 * unit) - 1:
            for place in places.tolist():
                self.check_init(place, total)

    def _places(self, offset: Lanes, lanes: Lanes, total: int) -> Lanes:
        active = offset if lanes.size == WARP else offset[lanes]
        check_aligned(active, total, "shared")
        low, high = int(active.min()), int(active.max())
        if low < SHARED_START or high + total > self.size:
            bad = low if low < SHARED_START else high
            raise EmulationError("E205", self._outside(bad, total))
        if low < self.barred:
            for place in active.tolist():
                self._ordinary(place, total)
        return active.astype(np.int64)

    def store(self, group: Group, offset: Value, size: int, values: Sequence[Value]) -> None:
        """Store ``values`` (elements of ``size`` bytes) at each active lane's offset. Raises E205,
        E206, E222.
        """
        total = size * len(values)
        if not isinstance(offset, np.ndarray):
            self.check(offset, total, total)
            if offset < self.barred:
                self._ordinary(offset, total)
            start = offset // size
            view = self.space.views[size]
            for k, value in enumerate(values):
                view[start + k] = value[group.lanes[-1]] if isinstance(value, np.ndarray) else value
            self.init[offset : offset + total] = 0xFF
            return
        lanes = group.lanes
        places = self._places(offset, lanes, total)
        self.space.scatter(places, lanes, size, values)
        unit = min(total, 8)
        self.flags.rows(unit, total // unit)[places // total] = (1 << 8 * unit) - 1
