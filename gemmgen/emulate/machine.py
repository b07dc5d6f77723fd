"""The state of an emulated launch: machine, clusters, CTAs, warps and lane groups. No opcode, no
scheduling.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gemmgen.emulate.asyncops import AsyncOp, Channel
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import FULL, WARP, Lanes, lane_indices, mask_array
from gemmgen.emulate.mbarrier import MBarrier
from gemmgen.emulate.memory import (
    PARAM_WINDOW,
    SHARED_OFFSET_MASK,
    SHARED_RANK_SHIFT,
    GlobalMemory,
    SharedMemory,
    is_shared,
)

if TYPE_CHECKING:
    from gemmgen.emulate.asyncops import Wait
    from gemmgen.emulate.listener import Hub
    from gemmgen.emulate.settings import BarrierInfo, Settings
    from gemmgen.emulate.timing import Timing

Dim3 = tuple[int, int, int]


class Group:
    """Lanes of one warp that run together. ``regs`` is the register list, ``mask`` the lanes as
    bits.
    """

    __slots__ = (
        "_flags",
        "_lanes",
        "cta",
        "dirty",
        "machine",
        "mask",
        "pc",
        "regs",
        "serial",
        "skip",
        "spin",
        "state",
        "token",
        "wait",
        "warp",
    )

    def __init__(self, warp: Warp, mask: int, regs: list[Any], pc: int, serial: int) -> None:
        self.warp = warp
        self.cta = warp.cta
        self.machine = warp.cta.machine
        self.mask = mask
        self.regs = regs
        self.pc = pc
        self.serial = serial
        self.state = "run"  # run | wait | meet (waits for lanes of its own warp) | dead
        self.wait: Wait | None = None
        self.dirty = 0
        self.spin: Any = None
        self.skip = False
        self.token: Any = None  # a blocking handler's own note between its waits
        self._lanes: Lanes | None = None
        self._flags: Lanes | None = None

    @property
    def lanes(self) -> Lanes:
        """Indices of the active lanes, ascending."""
        if self._lanes is None:
            self._lanes = lane_indices(self.mask)
        return self._lanes

    @property
    def flags(self) -> Lanes:
        """Boolean array of 32: which lanes are active."""
        if self._flags is None:
            self._flags = mask_array(self.mask)
        return self._flags

    def forget_lanes(self) -> None:
        """After a change of ``mask``."""
        self._lanes = self._flags = None

    @property
    def full(self) -> bool:
        """Whether all 32 lanes are active."""
        return self.mask == FULL

    @property
    def first(self) -> int:
        """The lowest active lane."""
        return (self.mask & -self.mask).bit_length() - 1

    def thread(self, lane: int) -> int:
        """Linear thread index within the CTA."""
        return self.warp.index * WARP + lane

    def where(self) -> str:
        """CTA, warp and lanes for messages."""
        return f"{self.cta.where()}, warp {self.warp.index}, {lanes_text(self.mask)}"


def lanes_text(mask: int) -> str:
    """`all lanes`, `lane 3` or `lanes 0-7,9`."""
    if mask == FULL:
        return "all lanes"
    lanes = [i for i in range(WARP) if mask >> i & 1]
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    text = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"lane {text}" if len(lanes) == 1 else f"lanes {text}"


class Warp:
    """A warp: its lane groups and the lanes that have not exited. ``ext`` is free for opcode
    files.
    """

    __slots__ = ("cta", "ext", "groups", "index", "live", "split")

    def __init__(self, cta: Cta, index: int, live: int) -> None:
        self.cta = cta
        self.index = index
        self.live = live
        self.groups: list[Group] = []
        self.split = False
        self.ext: dict[Any, Any] = {}


class Cta:
    """A CTA: ``rank`` in its cluster, ``ctaid``, shared memory, mbarriers, warps. ``ext`` is
    free for opcode files.
    """

    def __init__(self, machine: Machine, cluster: Cluster, rank: int, ctaid: Dim3) -> None:
        self.machine = machine
        self.cluster = cluster
        self.rank = rank
        self.ctaid = ctaid
        self.base = rank << SHARED_RANK_SHIFT
        self.shared = SharedMemory(self, machine.shared_bytes, machine.settings.check_uninitialised)
        self.barriers: dict[int, MBarrier] = {}
        self.named: dict[int, Any] = {}
        self.warps: list[Warp] = []
        self.running = 0  # warps with live lanes
        self.exited = False
        self.ext: dict[Any, Any] = {}

    @property
    def linear(self) -> int:
        """Linear index in the grid, x fastest."""
        gx, gy, _ = self.machine.grid
        x, y, z = self.ctaid
        return x + gx * (y + gy * z)

    def where(self) -> str:
        """`CTA (x,y,z)` with its rank when there is a cluster."""
        x, y, z = self.ctaid
        rank = f" rank {self.rank}" if len(self.cluster.ctas) > 1 else ""
        return f"CTA ({x},{y},{z}){rank}"

    def barrier(self, offset: int) -> MBarrier:
        """The mbarrier at a shared offset. Raises E208 when none was initialised, E206 when
        misaligned.
        """
        found = self.barriers.get(offset)
        if found is None:
            if offset & 7:
                raise EmulationError(
                    "E206", f"mbarrier at shared offset {offset:#x} is not 8-byte aligned"
                )
            raise EmulationError(
                "E208",
                f"no mbarrier was initialised at shared offset {offset:#x} of {self.where()}",
            )
        return found

    def init_barrier(self, offset: int, count: int) -> None:
        """mbarrier.init. Raises E216 when warps wait on the barrier that is there, E206 and E205
        for its place.
        """
        self.shared.check(offset, 8, 8)
        old = self.barriers.get(offset)
        if old is not None and (old.channel.waiters or old.tx or old.pending != old.count):
            raise EmulationError("E216", f"{old.label} is initialised again while in use")
        self.barriers[offset] = MBarrier(self.machine, self, offset, count)
        self.shared.mark(offset, 8)
        self.shared.barred = max(self.shared.barred, offset + 8)
        self.machine.progress += 1


class Cluster:
    """CTAs that run together, and the state of barrier.cluster. ``ext`` is free for opcode
    files.
    """

    def __init__(self, machine: Machine, index: int) -> None:
        self.machine = machine
        self.index = index
        self.ctas: list[Cta] = []
        self.barrier_phase = 0
        self.arrived = 0  # threads
        self.expected = 0  # live threads
        self.channel = Channel()
        self.ext: dict[Any, Any] = {}


class Machine:
    """The emulated device with one launch on it."""

    def __init__(
        self,
        *,
        grid: Dim3,
        block: Dim3,
        cluster: Dim3,
        shared_bytes: int,
        params: bytes,
        memory: GlobalMemory,
        settings: Settings,
        timing: Timing,
        barriers: Mapping[str, BarrierInfo],
        hub: Hub,
        dynamic_base: int,
        local_bytes: int = 0,
        dependent: bool = False,
    ) -> None:
        self.grid = grid
        self.block = block
        self.cluster_shape = cluster
        self.shared_bytes = shared_bytes
        self.params = params
        self.memory = memory
        self.settings = settings
        self.timing = timing
        self.hub = hub
        self.dynamic_base = dynamic_base
        self.local_bytes = local_bytes
        self.dependent = dependent  # the grid may start before the one ahead of it has ended
        self.barrier_names = _name_barriers(barriers, dynamic_base)
        self.progress = 0
        self.instructions = 0
        self.clock = 0
        self.pending: list[AsyncOp] = []  # in the order of submission
        self.running: AsyncOp | None = None  # the one that is taking effect
        self.woken: list[Group] = []
        self.born: list[Group] = []
        self.waiting_clusters: deque[Dim3] = (
            deque()
        )  # first CTA of each cluster that has not started
        self.started = 0  # clusters
        self.submitted: Counter[str] = Counter()
        self.serial = 0
        self.ext: dict[Any, Any] = {}

    def submit(self, operation: AsyncOp) -> AsyncOp:
        """Hand in asynchronous work; the timing policy decides when its ``run`` takes effect."""
        self.serial += 1
        operation.serial = self.serial
        self.pending.append(operation)
        self.submitted[operation.kind] += 1
        self.progress += 1
        if self.hub.issue:
            self.hub.on_issue(operation)
        if self.timing.at_once(operation, self.pending):
            self.complete(operation)
        return operation

    def tick(self) -> int:
        """A clock for %clock: grows with each reading and each executed instruction."""
        self.clock += 1
        return self.clock + self.instructions

    def complete(self, operation: AsyncOp) -> None:
        """Let one pending operation take effect."""
        self.pending.remove(operation)
        before, self.running = self.running, operation
        operation.run()
        self.running = before
        operation.done = True
        self.progress += 1
        self.clock += 1
        self.notify(operation.channel)
        if self.hub.complete:
            self.hub.on_complete(operation)

    def notify(self, channel: Channel) -> None:
        """Wake all groups that wait on the channel; each retries the instruction that it waits
        at.
        """
        if channel.waiters:
            self.woken.extend(channel.waiters)
            channel.waiters = []

    def barrier_flipped(self, barrier: MBarrier) -> None:
        """A phase of an mbarrier has completed."""
        self.notify(barrier.channel)
        if self.hub.flip:
            self.hub.on_flip(barrier)

    def cta_at(self, cta: Cta, address: int) -> tuple[Cta, int]:
        """A shared::cluster address (or a generic one) as seen by ``cta`` -> the CTA that holds
        it and its offset.

        Raises E205 for a rank outside the cluster and E211 when that CTA has exited.
        """
        rank = (address & 0xFFFFFFFF) >> SHARED_RANK_SHIFT
        ctas = cta.cluster.ctas
        if rank >= len(ctas):
            raise EmulationError(
                "E205",
                f"shared address {address:#x} names CTA rank {rank} of a cluster of {len(ctas)}",
            )
        target = ctas[rank]
        if target.exited:
            raise EmulationError(
                "E211", f"shared address {address:#x} is in {target.where()}, which has exited"
            )
        return target, address & SHARED_OFFSET_MASK

    def barrier_at(self, cta: Cta, address: int) -> MBarrier:
        """The mbarrier at a shared::cluster (or generic) address as seen by ``cta``; raises as
        :meth:`cta_at` and :meth:`Cta.barrier`.
        """
        target, offset = self.cta_at(cta, address)
        return target.barrier(offset)

    def read_generic(self, cta: Cta, address: int, size: int) -> bytes:
        """Bytes at a generic address: parameter, shared or global space."""
        if address >= PARAM_WINDOW:
            start = address - PARAM_WINDOW
            if start + size > len(self.params):
                raise EmulationError(
                    "E204", f"parameter address {address:#x} is beyond the parameters"
                )
            return self.params[start : start + size]
        if is_shared(address):
            target, offset = self.cta_at(cta, address)
            return target.shared.read(offset, size)
        return self.memory.read(address, size)

    def barrier_label(self, cta: Cta, offset: int) -> str:
        """`ab_full[2]` with its CTA, or the shared offset when nothing names it."""
        name = self.barrier_names.get(offset, f"mbarrier at {offset:#x}")
        return f"{name} of {cta.where()}"


def _name_barriers(barriers: Mapping[str, BarrierInfo], base: int) -> dict[int, str]:
    names = {}
    for name, info in barriers.items():
        for slot in range(info.slots):
            names[base + info.offset + 8 * slot] = f"{name}[{slot}]" if info.slots > 1 else name
    return names
