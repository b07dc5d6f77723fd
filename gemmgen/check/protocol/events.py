"""Events of one run and what must have happened before each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Tag: TypeAlias = tuple[str, int, int]
"""A resource: its kind or barrier name, the CTA's rank, the stage or slot."""

Text: TypeAlias = str | Callable[[], str]
"""Words, or what makes them: few events are ever shown."""


class Event:
    """Something that happened.

    Attributes:
        number: position in the run.
        who: thread or unit, for instance ``CTA 0 mma``.
        what: in words.
        tags: resources that it touches.
        past: bit set of the event and all that happen before it in every interleaving.
    """

    __slots__ = ("_what", "number", "past", "tags", "who")

    def __init__(
        self, number: int, who: str, what: Text, tags: tuple[Tag, ...], before: int
    ) -> None:
        self.number = number
        self.who = who
        self._what = what
        self.tags = tags
        self.past = before | 1 << number

    @property
    def what(self) -> str:
        return self._what if isinstance(self._what, str) else self._what()

    def after(self, number: int) -> bool:
        """Whether event `number` happens before this one in every interleaving."""
        return bool(self.past >> number & 1) and number != self.number


class History:
    """All events of a run, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, who: str, what: Text, tags: tuple[Tag, ...], before: int) -> Event:
        """Record an event that those of the bit set `before` happen before."""
        event = Event(len(self.events), who, what, tags, before)
        self.events.append(event)
        return event

    def after(self, event: int, cause: int) -> bool:
        """Whether `cause` happens before another event in every interleaving; both by number."""
        return bool(self.events[event].past >> cause & 1)

    def past(self, number: int) -> int:
        """Bit set of event `number` and all before it."""
        return self.events[number].past
