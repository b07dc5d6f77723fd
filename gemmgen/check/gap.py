"""A legal spec that no template prints."""

from __future__ import annotations

from collections.abc import Callable

from gemmgen.frozen import frozen
from gemmgen.plan import Plan
from gemmgen.terms import Arch


@frozen
class Gap:
    """A legal spec that no template prints.

    Attributes:
        code: of its finding.
        key: key path that asks for it.
        what: in a few words.
        applies: whether a plan asks for it.
        instead: what there is.
        arch: architecture whose templates lack it; None for all.
    """

    code: str
    key: str
    what: str
    applies: Callable[[Plan], bool]
    instead: str
    arch: Arch | None = None
