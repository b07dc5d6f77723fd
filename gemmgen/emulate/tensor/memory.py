"""Tensor Memory of one CTA: 128 lanes by 512 columns of 32 bits, its allocator and its state.

State is kept per column: which allocation owns it, and how many unfinished MMAs will write it. What
has been written is kept per column and group of 16 lanes, the finest that an accumulator layout
writes. Source: PTX ISA "Tensor Memory", "Tensor Memory Allocation" (power of two columns, at
least 32; a CTA that has relinquished its permit may not allocate again).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.errors import Earlier
from gemmgen.emulate.ptx import Instr
from gemmgen.emulate.tensor.deferred import Deferred
from gemmgen.emulate.tensor.faults import fault
from gemmgen.emulate.tensor.layout import COLUMNS, LANES

LANE_GROUP = 16
_GROUPS = LANES // LANE_GROUP
_POISON = 0x7FD0BAD0
"""What a column holds before anything is written: a float32 NaN."""


class TensorMemory:
    """The cells (`data`, uint32, shape (128, 512)) and the bookkeeping of one CTA, which messages
    call `owner`.
    """

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self._data: NDArray[np.uint32] = np.full((LANES, COLUMNS), _POISON, dtype=np.uint32)
        self.deferred: Deferred | None = None
        """Completed MMAs whose products are still to be formed."""
        self.written = np.zeros((_GROUPS, COLUMNS), dtype=np.bool_)
        self.owned = np.zeros(COLUMNS, dtype=np.bool_)
        self.pending = np.zeros(COLUMNS, dtype=np.int32)
        """Unfinished MMAs (or copies) that will write a column."""
        self.allocations: dict[int, int] = {}
        """First column -> number of columns."""
        self.allocated: dict[int, Earlier] = {}
        self.freed: dict[int, Earlier] = {}
        """First column -> its latest tcgen05.alloc; its latest tcgen05.dealloc."""
        self.relinquished: Earlier | None = None
        self.unwaited: dict[int, list[tuple[str, int, int, Instr | None]]] = {}
        """Warp -> its loads and stores without a wait yet: opcode, first column, columns, and the
        instruction."""

    @property
    def data(self) -> NDArray[np.uint32]:
        """The cells, shape (128, 512), with every completed MMA carried out."""
        if self.deferred is not None:
            self.deferred.settle()
        return self._data

    def find_free(self, columns: int, *others: TensorMemory) -> int | None:
        """Return the lowest first column at which `columns` are free here and in `others`.

        Raises E240 when the number is not a power of two from 32 to 512, or after this CTA
        relinquished its permit.
        """
        if columns < 32 or columns > COLUMNS or columns & (columns - 1):
            raise fault(
                "E240",
                f"tcgen05.alloc of {columns} columns: must be a power of two from 32 to {COLUMNS}",
            )
        if self.relinquished:
            raise fault("E240", "tcgen05.alloc after the permit was relinquished").after(
                self.relinquished, "every tcgen05.alloc of the CTA comes before it relinquishes"
            )
        for first in range(0, COLUMNS, columns):
            if not any(m.owned[first : first + columns].any() for m in (self, *others)):
                return first
        return None

    def allocate(self, first: int, columns: int) -> None:
        """Give `columns` from `first` to the kernel; their contents are undefined."""
        part = slice(first, first + columns)
        self.owned[part] = True
        self.written[:, part] = False
        self.data[:, part] = _POISON
        self.allocations[first] = columns

    def free(self, address: int, columns: int, by: Earlier | None = None) -> None:
        """Release an allocation, which `by` does. Raises E241 when `address` and `columns` are not
        those of one allocation, or an MMA that writes it has not completed.
        """
        first = address & 0xFFFF
        if address >> 16 or self.allocations.get(first) != columns:
            held = ", ".join(f"{n} from column {at}" for at, n in sorted(self.allocations.items()))
            error = fault(
                "E241",
                f"tcgen05.dealloc of {columns} columns at {address:#x}, which is no allocation "
                f"(allocated: {held or 'nothing'})",
            )
            if not self.owned[first : first + columns].any() and first in self.freed:
                missing = "one dealloc an alloc: a single warp of the CTA frees, once"
                raise error.after(self.freed[first], missing)
            near = self.allocated.get(first) or next(iter(self.allocated.values()), None)
            raise error.after(near, "the address and the number of columns of one tcgen05.alloc")
        if self.pending[first : first + columns].any():
            raise fault(
                "E241", f"tcgen05.dealloc of columns {first} on while an MMA still writes them"
            )
        del self.allocations[first]
        if by is not None:
            self.freed[first] = by
        self.owned[first : first + columns] = False

    def check_owned(self, first: int, columns: int, what: str) -> None:
        """Raise E242 unless `columns` columns from `first` are all allocated."""
        if first + columns > COLUMNS or not self.owned[first : first + columns].all():
            raise fault(
                "E242",
                f"{what} uses tensor memory columns {first} to {first + columns - 1}, which are "
                f"not all allocated",
            )

    def check_settled(self, first: int, columns: int, what: str) -> None:
        """Raise E243 when an unfinished MMA will still write one of the columns."""
        if self.pending[first : first + columns].any():
            raise fault(
                "E243",
                f"{what} uses tensor memory columns {first} to {first + columns - 1} before the "
                f"MMA that writes them has completed",
            )

    def check_waited(self, first: int, columns: int, what: str, warp: int = -1) -> None:
        """Raise E243 when another warp's load or store of one of the columns has no wait yet.

        Two loads do not disturb each other: with `warp` given, only other warps' stores count.
        """
        for other, accesses in self.unwaited.items():
            for opcode, start, width, instr in accesses:
                if start >= first + columns or first >= start + width or other == warp:
                    continue
                if warp < 0 or opcode == "tcgen05.st":
                    place = None if instr is None else instr.place
                    raise fault(
                        "E243",
                        f"{what} uses tensor memory columns {first} to {first + columns - 1} while "
                        f"{opcode} of warp {other} (columns {start} to {start + width - 1}) has "
                        "not been waited for",
                    ).after(
                        Earlier(opcode, f"{self.owner}, warp {other}", place),
                        f"tcgen05.wait::{opcode[-2:]} in warp {other}, and a barrier after it "
                        f"on which the warp of the {what} waits",
                    )

    def check_written(self, lane: int, lanes: int, first: int, columns: int, what: str) -> None:
        """Raise E244 unless lanes and columns have all been written."""
        rows = slice(lane // LANE_GROUP, -(-(lane + lanes) // LANE_GROUP))
        if not self.written[rows, first : first + columns].all():
            raise fault(
                "E244",
                f"{what} reads tensor memory columns {first} to {first + columns - 1}, lanes "
                f"{lane} to {lane + lanes - 1}, which nothing has written",
            )

    def mark_written(self, lane: int, lanes: int, first: int, columns: int) -> None:
        """Record that every cell of lanes and columns now holds data."""
        rows = slice(lane // LANE_GROUP, -(-(lane + lanes) // LANE_GROUP))
        self.written[rows, first : first + columns] = True
