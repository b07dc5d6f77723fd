"""Global memory: the buffers of a launch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import DTYPES, WARP, Lanes, Value, lane_of, spread
from gemmgen.emulate.space import Bytes, Space, check_aligned

if TYPE_CHECKING:
    from gemmgen.emulate.machine import Group

_ORIGIN = 32  # bytes: the widest access of one lane


@dataclass
class Buffer:
    """Host memory that the kernel may reach: ``data`` is a uint8 1-D view, read and written in
    place. ``once``: each byte is written once at the most, or race detection says so (E269).
    """

    name: str
    address: int
    data: Bytes
    writable: bool = True
    once: bool = False


class _Mapped:
    """A buffer and typed views of it from ``origin`` on, the first address that is aligned for
    every access; accesses before it take the slow path.
    """

    __slots__ = ("buffer", "end", "origin", "room", "space")

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.end = buffer.address + buffer.data.size
        pad = min(-buffer.address % _ORIGIN, buffer.data.size)
        self.origin = buffer.address + pad
        self.space = Space(buffer.data[pad:])
        self.room = buffer.data.size - pad


class GlobalMemory:
    """The buffers of a launch, found by address."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = sorted(buffers, key=lambda b: b.address)
        self._starts = [b.address for b in self.buffers]
        self._mapped = [_Mapped(b) for b in self.buffers]

    def find(self, address: int, size: int, write: bool = False) -> Buffer:
        """The buffer that holds ``size`` bytes at ``address``. Raises E204, E212."""
        return self._find(address, size, write).buffer

    def _find(self, address: int, size: int, write: bool) -> _Mapped:
        index = bisect_right(self._starts, address) - 1
        if index >= 0:
            mapped = self._mapped[index]
            if address + size <= mapped.end:
                if write and not mapped.buffer.writable:
                    raise EmulationError("E212", f"write at {address:#x} in `{mapped.buffer.name}`")
                return mapped
        raise EmulationError("E204", self._outside(address, size, index))

    def _outside(self, address: int, size: int, index: int) -> str:
        near = "no buffer is below it"
        if index >= 0:
            buffer = self.buffers[index]
            past = address + size - buffer.address - buffer.data.size
            near = f"{past} bytes past the end of `{buffer.name}` ({buffer.data.size} bytes)"
        return f"{size} bytes at {address:#x}: {near}"

    def read(self, address: int, size: int) -> bytes:
        """Bytes at an address. Raises E204."""
        buffer = self.find(address, size)
        start = address - buffer.address
        return buffer.data[start : start + size].tobytes()

    def write(self, address: int, data: bytes) -> None:
        """Write bytes at an address. Raises E204, E212."""
        buffer = self.find(address, len(data), write=True)
        start = address - buffer.address
        buffer.data[start : start + len(data)] = np.frombuffer(data, dtype=np.uint8)

    def load(self, group: Group, address: Value, size: int, count: int) -> list[Value]:
        """``count`` elements of ``size`` bytes for each active lane. Raises E204, E206."""
        total = size * count
        if not isinstance(address, np.ndarray):
            check_aligned(address, total, "global")
            raw = self.read(address, total)
            return [int.from_bytes(raw[k * size : (k + 1) * size], "little") for k in range(count)]
        found = self._locate(group, address, total, total, False)
        if found is None:
            return self._load_each(group, address, size, count)
        mapped, offsets = found
        return mapped.space.gather(offsets, group.lanes, size, count)

    def _locate(
        self, group: Group, address: Lanes, total: int, align: int, write: bool
    ) -> tuple[_Mapped, Lanes] | None:
        """The buffer that holds all lanes' addresses and their offsets in it, if there is one."""
        lanes = group.lanes
        active = address if lanes.size == WARP else address[lanes]
        mapped = self._find(int(active[0]), total, write)
        offsets: Lanes = active - mapped.origin
        union = int(np.bitwise_or.reduce(offsets))  # not below the largest; low bits: alignment
        if union & (align - 1):
            check_aligned(active, align, "global")
            return None
        if union > mapped.room - total and int(offsets.max()) > mapped.room - total:
            return None
        return mapped, offsets.view(np.int64)

    def _load_each(self, group: Group, address: Lanes, size: int, count: int) -> list[Value]:
        out = [np.zeros(WARP, dtype=DTYPES[size * 8]) for _ in range(count)]
        for lane in group.lanes.tolist():
            for k, value in enumerate(self.load(group, int(address[lane]), size, count)):
                out[k][lane] = value
        return list(out)

    def store(self, group: Group, address: Value, size: int, values: Sequence[Value]) -> None:
        """Store ``values`` (elements of ``size`` bytes) at each active lane's address. Raises
        E204, E206, E212.
        """
        total = size * len(values)
        if not isinstance(address, np.ndarray):
            check_aligned(address, total, "global")
            last = int(group.lanes[-1])
            self.write(address, b"".join(lane_of(v, last).to_bytes(size, "little") for v in values))
            return
        found = self._locate(group, address, total, total, True)
        if found is not None:
            mapped, offsets = found
            mapped.space.scatter(offsets, group.lanes, size, values)
            return
        for lane in group.lanes.tolist():
            self.store(group, int(address[lane]), size, [lane_of(v, lane) for v in values])

    def store_run(
        self, group: Group, address: Lanes, align: int, size: int, values: Sequence[Value]
    ) -> bool:
        """Store many consecutive elements at each active lane's address, a multiple of ``align``.

        Returns False, with nothing stored, when they are not all in one writable buffer.
        """
        lanes = group.lanes
        total = size * len(values)
        try:
            found = self._locate(group, address, total, align, True)
        except EmulationError:
            return False
        if found is None:
            return False
        mapped, offsets = found
        bits = size * 8
        block = np.concatenate([spread(v, bits) for v in values]).reshape(len(values), WARP)
        columns = np.arange(len(values), dtype=np.int64)
        places = (offsets // size)[:, None] + columns
        mapped.space.views[size][places] = (block if lanes.size == WARP else block[:, lanes]).T
        return True
