"""What a run can be told: timing, seed, size of the device, limits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Settings of one run; equal settings and an equal launch give an equal run.

    ``timing``: ``lazy`` (asynchronous work completes only when no warp can run), ``eager`` (at
    issue), ``random``, ``pct`` (random priorities with ``pct_depth`` change points), ``starve``
    (work of the kinds in ``target`` completes last), ``delay`` (the CTA or warp in ``target``
    runs last), ``nominal`` (a plausible schedule, for pictures).
    ``target``: for ``starve`` a kind such as ``tma_load``; for ``delay`` a ``cta``
    rank or ``cta.warp``; empty: drawn from the seed. ``sm_count``: SMs of the emulated device;
    as many clusters are resident as fit, at least one. ``max_instructions``: warp instructions
    until E218; 0 means no limit. ``quantum``: basic blocks that a warp runs before another is
    picked. ``livelock_instructions``: warp instructions without any progress until E202.
    ``check_uninitialised``: raise E207 on a read of shared memory that nothing has written.
    ``races``: look for races as well (E260 to E270), on top of what always is looked for.
    """

    timing: str = "lazy"
    seed: int = 0
    target: str = ""
    pct_depth: int = 3
    sm_count: int = 16
    max_instructions: int = 0
    quantum: int = 256
    livelock_instructions: int = 2_000_000
    check_uninitialised: bool = True
    races: bool = False


@dataclass(frozen=True)
class BarrierInfo:
    """Where a named ring of mbarriers lies: byte ``offset`` from the start of dynamic shared
    memory, ``slots`` of 8 bytes each.
    """

    offset: int
    slots: int = 1
