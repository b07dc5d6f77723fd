"""The mbarrier object: PTX ISA, "Parallel Synchronization and Communication Instructions:
mbarrier".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gemmgen.emulate.asyncops import Channel
from gemmgen.emulate.errors import Earlier, EmulationError

if TYPE_CHECKING:
    from gemmgen.emulate.machine import Cta, Group, Machine

TX_LIMIT = (1 << 20) - 1  # PTX ISA, "Contents of the mbarrier object": tx-count range
COUNT_LIMIT = (1 << 20) - 1  # the same table: expected and pending arrival counts


class MBarrier:
    """``count`` expected arrivals; ``pending`` of the current phase; ``tx`` bytes still
    expected; ``phase`` is how many phases have completed; ``called`` are the groups that the last
    completion has woken and that have not looked yet.
    """

    __slots__ = (
        "called",
        "channel",
        "count",
        "cta",
        "machine",
        "mark",
        "next_count",
        "offset",
        "origin",
        "pending",
        "phase",
        "tx",
    )

    def __init__(self, machine: Machine, cta: Cta, offset: int, count: int) -> None:
        self.machine = machine
        self.cta = cta
        self.offset = offset
        self.count = count
        self.next_count = count
        self.pending = count
        self.tx = 0
        self.phase = 0
        self.channel = Channel()
        self.called: set[Group] = set()
        self.origin: Earlier | None = None  # its mbarrier.init
        self.mark: Any = None  # the listeners' own

    @property
    def label(self) -> str:
        """Name and slot, such as `ab_full[2] of CTA 1`, or the address when it has no name."""
        return self.machine.barrier_label(self.cta, self.offset)

    def passed(self, parity: int) -> bool:
        """Whether the phase with this parity has completed, which is what test_wait.parity asks."""
        return (self.phase & 1) != parity

    def arrive(self, count: int = 1) -> None:
        """``count`` arrivals. Raises E209 when fewer are pending."""
        if count > self.pending:
            raise EmulationError(
                "E209",
                f"{self.label}: arrive of {count} with {self.pending} of {self.count} arrivals "
                f"pending in phase {self.phase} (tx bytes still expected: {self.tx})",
            )
        if self.machine.hub.signal:
            self.machine.hub.on_signal(self)
        self.pending -= count
        self.machine.progress += 1
        if not self.pending and not self.tx:
            self._flip()

    def expect_tx(self, tx: int) -> None:
        """Expect ``tx`` more bytes in the current phase. Raises E210 out of range."""
        self._set_tx(self.tx + tx)

    def complete_tx(self, tx: int) -> None:
        """``tx`` bytes have landed. Raises E210 out of range."""
        if self.machine.hub.signal:
            self.machine.hub.on_signal(self)
        self._set_tx(self.tx - tx)
        if not self.pending and not self.tx:
            self._flip()

    def _set_tx(self, tx: int) -> None:
        if not -TX_LIMIT <= tx <= TX_LIMIT:
            raise EmulationError("E210", f"{self.label}: tx count {tx} is outside ±{TX_LIMIT}")
        self.tx = tx
        self.machine.progress += 1

    def drop(self, count: int = 1) -> None:
        """arrive_drop: the arrivals also leave the count of the phases to come."""
        self.next_count -= count
        self.arrive(count)

    def _flip(self) -> None:
        """A phase completes. Raises E223 when a wait for the phase before has yet to see it: the
        parity that it looks at is now the old one again (PTX ISA "mbarrier.test_wait": only the
        current and the immediately preceding phase can be told apart).
        """
        for group in self.called:
            raise EmulationError(
                "E223",
                f"{self.label}: phase {self.phase} completes before {group.cta.where()}, warp "
                f"{group.warp.index} has seen that phase {self.phase - 1} did",
            )
        self.called.update(self.channel.waiters)
        self.phase += 1
        self.count = self.pending = self.next_count
        self.machine.barrier_flipped(self)
