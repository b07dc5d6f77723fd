"""What a run leaves behind: every access with its events, for `prove`."""

from __future__ import annotations

from dataclasses import dataclass, field

from gemmgen.check.protocol.events import History
from gemmgen.plan.steps import Item, Mma, Program, Read, Step, Thread

Key = tuple[str, int, int]
"""A barrier slot: name, CTA rank, slot."""


@dataclass
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

    count: int
    pending: int
    tx_bytes: int = 0
    signals: list[int] = field(default_factory=list)
    completions: list[int] = field(default_factory=list)
    over: int | None = None
    phases: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Waited:
    """A wait that returned: its event, its thread's past, and how many phases were complete."""

    key: Key
    event: int
    start: int
    phase: int


@dataclass(frozen=True)
class Write:
    """A part of a load: issued and landed."""

    rank: int
    operand: str
    stage: int
    slice: int
    item: Item
    issued: int
    landed: int


@dataclass(frozen=True)
class Multiply:
    """The MMAs of a k_tile: issued and complete."""

    step: Mma
    issued: int
    completed: int


@dataclass(frozen=True)
class Drain:
    """A read of an accumulator slot by one thread."""

    rank: int
    thread: int
    step: Read
    event: int


@dataclass
class Run:
    """What happened, for `prove`.

    Attributes:
        stuck: threads that did not finish, with the step that they stand at.
        touched: every event that signals a CTA or writes into it, with the CTA's rank.
    """

    program: Program
    history: History = field(default_factory=History)
    slots: dict[Key, Slot] = field(default_factory=dict)
    waited: list[Waited] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    multiplies: list[Multiply] = field(default_factory=list)
    drains: list[Drain] = field(default_factory=list)
    touched: list[tuple[int, int]] = field(default_factory=list)
    inits: dict[int, int] = field(default_factory=dict)
    allocs: dict[int, int] = field(default_factory=dict)
    alloc_starts: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
    retrieves: list[tuple[int, int]] = field(default_factory=list)
    deallocs: dict[int, int] = field(default_factory=dict)
    exits: dict[int, int] = field(default_factory=dict)
    stuck: list[tuple[Thread, Step]] = field(default_factory=list)
