"""Typed views of a byte array, and gathers and scatters of a warp's lanes through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import DTYPES, WARP, Lanes, Value

Bytes = NDArray[np.uint8]


class Space:
    """``views[size]``: elements of ``size`` bytes; ``rows(size, count)``: ``count`` of them."""

    __slots__ = ("_rows", "data", "views")

    def __init__(self, data: Bytes) -> None:
        self.data = data
        self.views: dict[int, Lanes] = {
            size: data[: len(data) // size * size].view(DTYPES[size * 8]) for size in (1, 2, 4, 8)
        }
        self._rows: dict[tuple[int, int], Lanes] = {}

    def rows(self, size: int, count: int) -> Lanes:
        """Shape (n, count): row i begins at byte i * size * count."""
        key = (size, count)
        found = self._rows.get(key)
        if found is None:
            total = size * count
            whole = self.data[: len(self.data) // total * total]
            found = self._rows[key] = whole.view(DTYPES[size * 8]).reshape(-1, count)
        return found

    def gather(self, offsets: Lanes, lanes: Lanes, size: int, count: int) -> list[Any]:
        """``count`` consecutive elements at each aligned byte offset, spread over 32 lanes."""
        index = offsets // offsets.dtype.type(size * count)
        full = lanes.size == WARP
        if count == 1:
            found = self.views[size].take(index)
            if full:
                return [found]
            out = np.zeros(WARP, dtype=found.dtype)
            out[lanes] = found
            return [out]
        block = self.rows(size, count).take(index, axis=0)
        if full:
            return list(np.ascontiguousarray(block.T))
        spaced = np.zeros((count, WARP), dtype=block.dtype)
        spaced[:, lanes] = block.T
        return list(spaced)

    def scatter(self, offsets: Lanes, lanes: Lanes, size: int, values: Sequence[Value]) -> None:
        """Store one element of each value at each aligned byte offset; the highest lane wins."""
        count = len(values)
        index = offsets // offsets.dtype.type(size * count)
        full = lanes.size == WARP
        if count == 1:
            value = values[0]
            plain = full or not isinstance(value, np.ndarray)
            self.views[size][index] = value if plain else value[lanes]  # type: ignore[index]
            return
        block = np.empty((lanes.size, count), dtype=DTYPES[size * 8])
        for k, value in enumerate(values):
            plain = full or not isinstance(value, np.ndarray)
            block[:, k] = value if plain else value[lanes]  # type: ignore[index]
        self.rows(size, count)[index] = block


def check_aligned(address: Value, size: int, what: str) -> None:
    """Raise E206 unless every address is a multiple of ``size``."""
    if not isinstance(address, np.ndarray):
        if address & (size - 1):
            raise EmulationError("E206", f"{what} address {address:#x} is not a multiple of {size}")
        return
    if int(np.bitwise_or.reduce(address)) & (size - 1):
        first = int(address[(address & (size - 1)) != 0][0])
        raise EmulationError("E206", f"{what} address {first:#x} is not a multiple of {size}")
