"""Asynchronous work in flight, and the channels on which warps wait for something to change."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gemmgen.emulate.machine import Cta, Group
    from gemmgen.emulate.mbarrier import MBarrier
    from gemmgen.emulate.ptx import Instr


class Channel:
    """Something that warps can wait on. ``Machine.notify(channel)`` wakes them all; each retries
    its instruction.
    """

    __slots__ = ("waiters",)

    def __init__(self) -> None:
        self.waiters: list[Group] = []


@dataclass(slots=True)
class Wait:
    """Why a blocking handler cannot go on: returned by it in place of None.

    ``reason`` is for people ("bulk group wait, 2 groups unread"). ``barrier`` and ``phase`` are
    set by mbarrier waits, for the hang table, which instruction waits is ``instr`` there. A wait
    ``timed`` may also end by a time limit: when nothing else can happen, the engine lets it go on
    once.
    """

    channel: Channel
    reason: str
    barrier: object | None = None
    phase: int = 0
    instr: Instr | None = None


@dataclass(frozen=True, slots=True)
class Touch:
    """Memory that an operation reads or writes, for race detection.

    ``space`` is ``shared``, ``tmem`` (both of ``cta``) or ``global``. ``where`` are chunks of 16
    bytes of shared memory, or columns of Tensor Memory; with ``size`` they are first
    bytes (addresses) of runs of ``size`` bytes.
    """

    space: str
    cta: Cta
    writes: bool
    where: slice | NDArray[np.int64]
    size: int = 0


@dataclass(eq=False, slots=True)
class AsyncOp:
    """One asynchronous operation, submitted with ``Machine.submit``.

    ``kind`` names it for timing policies and traces: ``tma_load``, ``tma_store``, ``mma``,
    ``commit``, … ``unit`` is the track in a trace. Operations with one ``queue`` key complete in
    the order of submission; ``queue`` None completes in any order. ``run`` takes effect at
    completion: it reads and writes memory and signals barriers then. ``size`` is the bytes that a
    copy moves, of an MMA M x N x the bytes of K in one CTA; ``signals`` names the barrier that is
    signalled. Both are for traces and nominal timing. For race detection: ``lane`` issued it (-1:
    the whole group), ``lanes`` is the mask of those that issued the very same at once,
    ``touches`` tells what memory it uses and ``barriers`` which mbarriers it
    will signal; ``mark`` is the listener's own.
    """

    kind: str
    cta: Cta
    run: Callable[[], None]
    unit: str = ""
    queue: Hashable | None = None
    detail: str = ""
    size: int = 0
    signals: str = ""
    instr: Instr | None = None
    group: Group | None = None
    serial: int = 0
    done: bool = False
    channel: Channel = field(default_factory=Channel)
    lane: int = -1
    lanes: int = 0
    touches: Callable[[], Sequence[Touch]] | None = None
    barriers: Callable[[], Sequence[MBarrier]] | None = None
    mark: Any = None
