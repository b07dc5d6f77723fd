"""Global and shared memory: bounds, alignment, and which shared bytes have been written.

Address map of the emulated device. Global addresses are the host's own. Shared addresses are 32
bits with the CTA's rank in the cluster from bit 24 up, so that `address & 0xFEFFFFFF` names the
even CTA of a pair, as CUTLASS's two-CTA code relies on (include/cute/arch/copy_sm100_tma.hpp,
`Sm100MmaPeerBitMask`). Generic addresses of shared, parameter and local memory lie above all
host addresses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import DTYPES, WARP, Lanes, Value, spread

if TYPE_CHECKING:
    from gemmgen.emulate.machine import Cta, Group

SHARED_WINDOW = 1 << 48
PARAM_WINDOW = 1 << 49
LOCAL_WINDOW = 1 << 50
SHARED_RANK_SHIFT = 24
SHARED_OFFSET_MASK = (1 << SHARED_RANK_SHIFT) - 1
SHARED_START = (
    0x400  # the first KiB is the system's: CUDA Programming Guide, "reserved shared memory"
)

Bytes = NDArray[np.uint8]
_STEPS = {n: np.arange(n, dtype=np.int64) for n in (1, 2, 4, 8, 16, 32)}


def is_shared(address: int) -> bool:
    """Whether a generic address lies in the shared window."""
    return SHARED_WINDOW <= address < SHARED_WINDOW + (1 << 32)


@dataclass
class Buffer:
    """Host memory that the kernel may reach: ``data`` is a uint8 1-D view, read and written in
    place.
    """

    name: str
    address: int
    data: Bytes
    writable: bool = True


class _Space:
    """Typed views of a byte array, and gathers and scatters of lanes through them."""

    __slots__ = ("data", "views")

    def __init__(self, data: Bytes) -> None:
        self.data = data
        self.views: dict[int, Lanes] = {}
        for size in (1, 2, 4, 8):
            self.views[size] = data[: len(data) // size * size].view(DTYPES[size * 8])


def _aligned(address: Value, size: int, what: str) -> None:
    bad = address & (size - 1) if isinstance(address, int) else int((address & (size - 1)).max())
    if bad:
        first = (
            address if isinstance(address, int) else int(address[(address & (size - 1)) != 0][0])
        )
        raise EmulationError("E206", f"{what} address {first:#x} is not a multiple of {size}")


class GlobalMemory:
    """The buffers of a launch, found by address."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = sorted(buffers, key=lambda b: b.address)
        self._starts = [b.address for b in self.buffers]
        self._spaces = [_Space(b.data) for b in self.buffers]

    def find(self, address: int, size: int, write: bool = False) -> Buffer:
        """The buffer that holds ``size`` bytes at ``address``. Raises E204, E212."""
        return self.buffers[self._find(address, size, write)]

    def _find(self, address: int, size: int, write: bool) -> int:
        index = bisect_right(self._starts, address) - 1
        if index >= 0:
            buffer = self.buffers[index]
            if address + size <= buffer.address + buffer.data.size:
                if write and not buffer.writable:
                    raise EmulationError("E212", f"write at {address:#x} in `{buffer.name}`")
                return index
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
        if isinstance(address, int):
            _aligned(address, total, "global")
            index = self._find(address, total, False)
            start = (address - self.buffers[index].address) // size
            view = self._spaces[index].views[size]
            return [int(view[start + k]) for k in range(count)]
        lanes = group.lanes
        active = address[lanes]
        _aligned(active, total, "global")
        low, high = int(active.min()), int(active.max())
        index = self._find(low, total, False)
        if high + total > self.buffers[index].address + self.buffers[index].data.size:
            return self._load_each(group, address, size, count)
        places = ((active - np.uint64(self.buffers[index].address)) // np.uint64(size)).astype(
            np.int64
        )
        return gathered(self._spaces[index].views[size], places, lanes, count)

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
        if isinstance(address, int):
            _aligned(address, total, "global")
            index = self._find(address, total, True)
            start = (address - self.buffers[index].address) // size
            view = self._spaces[index].views[size]
            for k, value in enumerate(values):
                view[start + k] = value if isinstance(value, int) else value[group.lanes[-1]]
            return
        lanes = group.lanes
        active = address[lanes]
        _aligned(active, total, "global")
        low, high = int(active.min()), int(active.max())
        index = self._find(low, total, True)
        if high + total > self.buffers[index].address + self.buffers[index].data.size:
            for lane in lanes.tolist():
                one = [v if isinstance(v, int) else int(v[lane]) for v in values]
                self.store(group, int(address[lane]), size, one)
            return
        places = ((active - np.uint64(self.buffers[index].address)) // np.uint64(size)).astype(
            np.int64
        )
        scattered(self._spaces[index].views[size], places, lanes, values)


def gathered(view: Lanes, places: Lanes, lanes: Lanes, count: int) -> list[Value]:
    """``count`` consecutive elements for each place, spread over 32 lanes."""
    if count == 1:
        found = view[places]
        if lanes.size == WARP:
            return [found]
        out = np.zeros(WARP, dtype=view.dtype)
        out[lanes] = found
        return [out]
    block = view[places[:, None] + _STEPS[count]].T
    if lanes.size == WARP:
        return list(np.ascontiguousarray(block))
    spaced = np.zeros((count, WARP), dtype=view.dtype)
    spaced[:, lanes] = block
    return list(spaced)


def scattered(view: Lanes, places: Lanes, lanes: Lanes, values: Sequence[Value]) -> None:
    """Store one element of each value for each place; lanes in ascending order, so the highest
    wins.
    """
    full = lanes.size == WARP
    if len(values) == 1:
        value = values[0]
        view[places] = value if isinstance(value, int) or full else value[lanes]
        return
    bits = view.dtype.itemsize * 8
    block = np.stack([spread(v, bits) for v in values], axis=1)
    view[places[:, None] + _STEPS[len(values)]] = block if full else block[lanes]


class SharedMemory:
    """Shared memory of one CTA, indexed by offset (the address without its rank bits).

    ``data`` is uint8; ``init`` holds 0xFF for each byte that was written. Offsets below
    ``SHARED_START`` are the system's.
    """

    __slots__ = ("cta", "data", "init", "init_views", "size", "strict", "views")

    def __init__(self, cta: Cta, size: int, strict: bool) -> None:
        self.cta = cta
        self.size = size
        self.strict = strict
        padded = -(-size // 16) * 16
        self.data: Bytes = np.zeros(padded, dtype=np.uint8)
        self.init: Bytes = np.zeros(padded, dtype=np.uint8)
        self.views = _Space(self.data).views
        self.init_views = _Space(self.init).views

    def check(self, offset: int, size: int, align: int = 1) -> None:
        """Raise E205 unless ``size`` bytes at ``offset`` are in bounds, E206 unless aligned."""
        if offset & (align - 1):
            raise EmulationError("E206", f"shared offset {offset:#x} is not a multiple of {align}")
        if offset < SHARED_START or offset + size > self.size:
            raise EmulationError("E205", self._outside(offset, size))

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
                raise self._unwritten(offset + int(missing[0]))

    def _unwritten(self, offset: int) -> EmulationError:
        return EmulationError(
            "E207", f"nothing has written shared offset {offset:#x} of {self.cta.where()}"
        )

    def mark(self, offset: int, size: int) -> None:
        """Note that these bytes are written."""
        self.init[offset : offset + size] = 0xFF

    def read(self, offset: int, size: int) -> bytes:
        """Bytes at an offset. Raises E205, E207."""
        self.check(offset, size)
        self.check_init(offset, size)
        return self.data[offset : offset + size].tobytes()

    def write(self, offset: int, data: bytes) -> None:
        """Write bytes at an offset. Raises E205."""
        self.check(offset, len(data))
        self.data[offset : offset + len(data)] = np.frombuffer(data, dtype=np.uint8)
        self.mark(offset, len(data))

    def load(self, group: Group, offset: Value, size: int, count: int) -> list[Value]:
        """``count`` elements of ``size`` bytes for each active lane. Raises E205, E206, E207."""
        total = size * count
        if isinstance(offset, int):
            self.check(offset, total, total)
            self.check_init(offset, total)
            start = offset // size
            view = self.views[size]
            return [int(view[start + k]) for k in range(count)]
        lanes = group.lanes
        places = self._places(offset, lanes, size, total)
        if self.strict:
            unit = min(total, 8)
            heads = places if unit == size else places * size // unit
            flags = self.init_views[unit]
            good = flags[heads]
            if total == 16:
                good = good & flags[heads + 1]
            if int(good.min()) != (1 << 8 * unit) - 1:
                for place in places.tolist():
                    self.check_init(place * size, total)
        return gathered(self.views[size], places, lanes, count)

    def _places(self, offset: Lanes, lanes: Lanes, size: int, total: int) -> Lanes:
        active = offset if lanes.size == WARP else offset[lanes]
        _aligned(active, total, "shared")
        low, high = int(active.min()), int(active.max())
        if low < SHARED_START or high + total > self.size:
            bad = low if low < SHARED_START else high
            raise EmulationError("E205", self._outside(bad, total))
        return (active // size).astype(np.int64)

    def store(self, group: Group, offset: Value, size: int, values: Sequence[Value]) -> None:
        """Store ``values`` (elements of ``size`` bytes) at each active lane's offset. Raises
        E205, E206.
        """
        total = size * len(values)
        if isinstance(offset, int):
            self.check(offset, total, total)
            start = offset // size
            view = self.views[size]
            for k, value in enumerate(values):
                view[start + k] = value if isinstance(value, int) else value[group.lanes[-1]]
            self.init[offset : offset + total] = 0xFF
            return
        lanes = group.lanes
        places = self._places(offset, lanes, size, total)
        scattered(self.views[size], places, lanes, values)
        ones = (1 << 8 * size) - 1
        flags = self.init_views[size]
        for k in range(len(values)):
            flags[places + k] = ones
