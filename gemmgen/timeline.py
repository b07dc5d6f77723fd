"""A picture of time: tracks with spans. The runs make them, the reports draw them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Track:
    """One line of the picture.

    Attributes:
        sm: SM of the emulated device.
        kind: ``cta``, ``warp``, ``tma``, ``mma`` or ``other``.
        name: as shown, for instance ``warp 4: mma``.
    """

    sm: int
    kind: str
    name: str


@dataclass(frozen=True)
class Span:
    """Something from `start` to `end`, in steps, on the track of that index.

    Attributes:
        state: ``resident``, ``run``, ``wait``, ``load``, ``store``, ``mma``, ``commit`` or the kind
            of other asynchronous work.
        role: of a warp that runs, as the barrier that it passed last tells; else empty.
        slot: of the operand ring, or -1.
        done: a commit that hands over a finished tile.
        args: more about it, for people.
    """

    track: int
    start: float
    end: float
    name: str
    state: str
    role: str = ""
    slot: int = -1
    done: bool = False
    args: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Timeline:
    """A run.

    Attributes:
        title: kernel, shape and timing.
        clock: what a step is.
        end: the last step.
        slots: depth of the operand ring.
    """

    title: str
    clock: str
    end: float
    slots: int
    tracks: tuple[Track, ...]
    spans: tuple[Span, ...]
