"""What race detection keeps for a launch, a cluster, a CTA and a warp, in their ``ext``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import WARP, Value
from gemmgen.emulate.machine import Cluster, Cta, Group, Machine, Warp
from gemmgen.emulate.race.access import Access
from gemmgen.emulate.race.clocks import HAPPENED, Clock, WarpClock
from gemmgen.emulate.race.rules import GlobalRules, Rules, SharedRules, TensorRules
from gemmgen.emulate.race.shadow import CHUNK, Shadow
from gemmgen.emulate.tensor.layout import COLUMNS

KEY = "race"
QUARTERS = 4


@dataclass(eq=False, slots=True)
class ClusterState:
    """The columns of a cluster's clocks: first its lanes, then slots of asynchronous work.

    A slot holds one operation at a time. It is used again by a thread that knows the operation to
    be over, so that who knows of the later one knows of the earlier one too. Work that is done in
    the order of issue has one slot, named by a key, for all of it.
    """

    index: int
    lanes: int
    epochs: list[int] = field(default_factory=list)
    named: dict[object, int] = field(default_factory=dict)
    used: defaultdict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    row: dict[object, object] = field(default_factory=dict)
    """Name of a slot -> the MMAs in a row that are under way in it."""
    barrier: dict[int, Clock] = field(default_factory=dict)
    """Phase of barrier.cluster -> what its arrivals have passed on."""

    @property
    def columns(self) -> int:
        """How many columns there are by now."""
        return self.lanes + len(self.epochs)

    def _new(self) -> int:
        self.epochs.append(0)
        return self.columns - 1

    def _begin(self, column: int) -> tuple[int, int]:
        self.epochs[column - self.lanes] += 1
        return column, self.epochs[column - self.lanes]

    def in_order(self, key: object) -> tuple[int, int]:
        """The next epoch of the slot called `key`: column and epoch."""
        column = self.named.get(key)
        if column is None:
            column = self.named[key] = self._new()
        return self._begin(column)

    def newest(self, key: object) -> tuple[int, int] | None:
        """Column and epoch of the last work in the slot called `key`."""
        column = self.named.get(key)
        return None if column is None else (column, self.epochs[column - self.lanes])

    def free(self, thread: tuple[int, int], clock: Clock) -> tuple[int, int]:
        """A slot for work that `thread` issues, at a time when it knows `clock`."""
        mine = self.used[thread]
        known = clock.near[HAPPENED]
        for place, column in enumerate(mine):
            if column < known.size and known[column] >= self.epochs[column - self.lanes]:
                mine.append(mine.pop(place))
                return self._begin(column)
        mine.append(self._new())
        return self._begin(mine[-1])


@dataclass(eq=False, slots=True)
class CtaState:
    """The memories of a CTA, its named barriers, and who has reached into it."""

    shared: Shadow
    tensor: Shadow
    allocated: Access | None = None
    """Its last tcgen05.alloc."""
    named: dict[int, dict[int, Any]] = field(default_factory=dict)
    """Number of a named barrier -> its generations that matter yet, of ``named.Generation``."""
    reached: dict[int, Access] = field(default_factory=dict)
    """Column of a clock -> the last access by it that must be over when the CTA exits."""


@dataclass(eq=False, slots=True)
class BufferShadow:
    """A buffer of global memory; ``origin`` is the address of its first piece."""

    origin: int
    shadow: Shadow


class GlobalState:
    """The writable buffers of a launch."""

    def __init__(self, machine: Machine, rules: Rules) -> None:
        self.memory = machine.memory
        self.rules = rules
        self.shadows: dict[int, BufferShadow] = {}
        self.released: dict[tuple[object, int], Clock] = {}
        """Space and address -> what releases at it have passed on."""

    def at(self, address: int, size: int) -> BufferShadow | None:
        """The shadow of the buffer at an address; None when it is read-only or there is none."""
        try:
            buffer = self.memory.find(address, size)
        except EmulationError:
            return None
        if not buffer.writable:
            return None
        found = self.shadows.get(buffer.address)
        if found is None:
            origin = buffer.address // CHUNK * CHUNK
            pieces = (buffer.address + buffer.data.size - origin) // CHUNK + 1
            judge = GlobalRules(self.rules, buffer.name, buffer.address - origin)
            found = BufferShadow(origin, Shadow(pieces, judge))
            self.shadows[buffer.address] = found
        return found

    def find(self, group: Group, address: Value) -> BufferShadow | None:
        """The shadow of the buffer that the lanes of a group access."""
        one = int(address[group.first]) if isinstance(address, np.ndarray) else address
        return self.at(one, 1)


def bulk_slots(
    cluster: ClusterState, thread: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The reading and the writing of the newest bulk copy of a thread that has issued one."""
    read, written = cluster.newest(("read", thread)), cluster.newest(("written", thread))
    assert read is not None
    assert written is not None
    return read, written


def start(cta: Cta, rules: Rules) -> None:
    """A CTA becomes resident."""
    cluster = cluster_state(cta.cluster, len(cta.warps))
    base = cta.rank * len(cta.warps) * WARP
    for warp in cta.warps:
        warp.ext[KEY] = WarpClock(
            cluster.index, base + warp.index * WARP, warp.live, cluster.lanes + 1
        )
    where = cta.where()
    shared = Shadow(-(-cta.shared.size // CHUNK), SharedRules(rules, where))
    tensor = Shadow(QUARTERS * COLUMNS, TensorRules(rules, where), 1, QUARTERS)
    cta.ext[KEY] = CtaState(shared, tensor)


def cluster_state(cluster: Cluster, warps: int = 0) -> ClusterState:
    """The state of a cluster; `warps` of a CTA are needed when it is new."""
    found: ClusterState | None = cluster.ext.get(KEY)
    if found is None:
        lanes = len(cluster.ctas) * warps * WARP
        found = cluster.ext[KEY] = ClusterState(cluster.index, lanes)
    return found


def cta_state(cta: Cta) -> CtaState:
    """The state of a CTA."""
    found: CtaState = cta.ext[KEY]
    return found


def warp_clock(warp: Warp) -> WarpClock:
    """The clocks of a warp."""
    found: WarpClock = warp.ext[KEY]
    return found


def global_state(machine: Machine, rules: Rules) -> GlobalState:
    """The state of a launch."""
    found: GlobalState | None = machine.ext.get(KEY)
    if found is None:
        found = machine.ext[KEY] = GlobalState(machine, rules)
    return found
