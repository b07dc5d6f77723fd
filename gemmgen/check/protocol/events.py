"""Events of one run and what must have happened before each."""

from __future__ import annotations

from typing import TypeAlias

from gemmgen.frozen import frozen

Tag: TypeAlias = tuple[str, int, int]
"""A resource: its kind or barrier name, the CTA's rank, the stage or slot."""


@frozen
class Event:
    """Something that happened.

    Attributes:
        number: position in the run.
        who: thread or unit, for instance ``CTA 0 mma``.
        what: in words.
        tags: resources that it touches.
        before: bit set of the events that happen before it in every interleaving.
    """

    number: int
    who: str
    what: str
    tags: tuple[Tag, ...]
    before: int

    @property
    def past(self) -> int:
        """Bit set of the event and all before it."""
        return self.before | 1 << self.number

    def after(self, number: int) -> bool:
        """Whether event `number` happens before this one in every interleaving."""
        return bool(self.before >> number & 1)


class History:
    """All events of a run, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, who: str, what: str, tags: tuple[Tag, ...], *causes: int) -> int:
        """Record an event that `causes` (bit sets of events) happen before; returns its number."""
        before = 0
        for cause in causes:
            before |= cause
        self.events.append(Event(len(self.events), who, what, tags, before))
        return len(self.events) - 1

    def past(self, number: int) -> int:
        """Bit set of event `number` and all before it."""
        return self.events[number].past
