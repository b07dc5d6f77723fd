"""What can go wrong in a run: one interleaving in which it does is enough."""

from __future__ import annotations

from gemmgen.check.protocol.events import Tag
from gemmgen.frozen import frozen


@frozen
class Fault:
    """A hazard.

    Attributes:
        code: of the finding.
        title: what is wrong.
        event: number of the event that goes wrong.
        missing: number of the event that should have happened before it and need not have, or None.
        tag: the resource that it is about.
        purpose: the hand-over that should have prevented it.
        why: one line to explain `missing`.
    """

    code: str
    title: str
    event: int
    missing: int | None
    tag: Tag
    purpose: str
    why: str
