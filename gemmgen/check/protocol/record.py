"""What a run leaves behind: every access with its events, for `prove`."""

from __future__ import annotations

from gemmgen.check.protocol.events import History
from gemmgen.frozen import frozen
from gemmgen.plan.steps import Item, Mma, Program, Read, Step, Thread

Key = tuple[str, int, int]
"""A barrier slot: name, CTA rank, slot."""


class Slot:
    """An mbarrier: what it still waits for, and what has completed each of its phases.

    Attributes:
        count: arrivals of a phase.
        pending: arrivals still to come.
        tx_bytes: bytes announced and not landed; negative when they landed first.
        signals: events of the current phase.
        completions: event that completed each phase so far.
        over: the first arrival beyond the count of a phase, or None.
        phases: for each event that signalled it, the phase (from 1) in which it counted.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.pending = count
        self.tx_bytes = 0
        self.signals: list[int] = []
        self.completions: list[int] = []
        self.over: int | None = None
        self.phases: list[tuple[int, int]] = []


@frozen
class Waited:
    """A wait that returned: its event, its thread's past, and how many phases were complete."""

    key: Key
    event: int
    start: int
    phase: int


@frozen
class Write:
    """A part of a load: issued and landed."""

    rank: int
    operand: str
    stage: int
    slice: int
    item: Item
    issued: int
    landed: int


@frozen
class Multiply:
    """The MMAs of a k_tile: issued and complete."""

    step: Mma
    issued: int
    completed: int


@frozen
class Drain:
    """A read of an accumulator slot by one thread."""

    rank: int
    thread: int
    step: Read
    event: int


class Run:
    """What happened, for `prove`.

    Attributes:
        stuck: threads that did not finish, with the step that they stand at.
        touched: every event that signals a CTA or writes into it, with the CTA's rank.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.history = History()
        self.slots: dict[Key, Slot] = {}
        self.waited: list[Waited] = []
        self.writes: list[Write] = []
        self.multiplies: list[Multiply] = []
        self.drains: list[Drain] = []
        self.touched: list[tuple[int, int]] = []
        self.inits: dict[int, int] = {}
        self.allocs: dict[int, int] = {}
        self.alloc_starts: list[tuple[int, int, tuple[int, ...]]] = []
        self.retrieves: list[tuple[int, int]] = []
        self.deallocs: dict[int, int] = {}
        self.exits: dict[int, int] = {}
        self.stuck: list[tuple[Thread, Step]] = []
