"""The steps that a role's warps take, as far as barriers, stages and accumulators see them.

A `Program` is straight-line: loops over tiles and k_tiles are unrolled for one problem size, and
every slot, phase, mask and byte count is the number that the generated kernel has at that step.
"""

from __future__ import annotations

from typing import TypeAlias

from gemmgen.frozen import frozen
from gemmgen.terms import Operand

Item: TypeAlias = tuple[int, int]
"""An output tile of the cluster and a k_tile, both counted from 0."""


@frozen
class Init:
    """Initialise every barrier of its CTA."""


@frozen
class Alloc:
    """Allocate tensor memory; with a CTA pair both CTAs' allocations complete together."""

    ranks: tuple[int, ...]


@frozen
class Retrieve:
    """Read the address of tensor memory from shared memory."""


@frozen
class Dealloc:
    """Free the tensor memory of its CTA."""


@frozen
class Sync:
    """A barrier of all threads of `ranks`: ``bar.sync 0``, or ``barrier.cluster``."""

    ranks: tuple[int, ...]
    where: str


@frozen
class Wait:
    """Wait until the phase with parity `phase` of its own CTA's barrier slot has completed."""

    barrier: str
    slot: int
    phase: int


@frozen
class Arm:
    """``mbarrier.arrive.expect_tx``: one arrival and `tx_bytes` more to come."""

    barrier: str
    slot: int
    rank: int
    tx_bytes: int


@frozen
class Part:
    """What one load writes into one CTA.

    Attributes:
        rank: CTA whose shared memory is written.
        slice: which part of the operand's stage.
        bytes: its size.
        signal: CTA whose barrier counts the bytes.
    """

    rank: int
    slice: int
    bytes: int
    signal: int


@frozen
class Load:
    """A bulk tensor load of one operand into a stage, to one CTA or to several."""

    operand: Operand
    stage: int
    barrier: str
    slot: int
    parts: tuple[Part, ...]
    item: Item


@frozen
class Fill:
    """Plain stores of some threads into their slice of a stage, fenced for the tensor core."""

    operand: Operand
    stage: int
    slice: int
    item: Item


@frozen
class Mma:
    """The MMAs of one k_tile: they read a stage and write an accumulator slot in all `ranks`."""

    stage: int
    acc_slot: int
    ranks: tuple[int, ...]
    item: Item
    first: bool


@frozen
class Commit:
    """``tcgen05.commit``: arrives in each CTA of `ranks` once all MMAs before it are complete."""

    barrier: str
    slot: int
    ranks: tuple[int, ...]


@frozen
class Retire:
    """``wgmma.wait_group``: all MMAs of this thread but the last `pending` are complete."""

    pending: int


@frozen
class Read:
    """Read an accumulator slot into registers and wait for the values."""

    acc_slot: int
    tile: int


@frozen
class Arrive:
    """``mbarrier.arrive``: by one thread once all warps of its role are done, or by `count`."""

    barrier: str
    slot: int
    rank: int
    count: int = 1


Step: TypeAlias = (
    Init
    | Alloc
    | Retrieve
    | Dealloc
    | Sync
    | Wait
    | Arm
    | Load
    | Fill
    | Mma
    | Commit
    | Retire
    | Read
    | Arrive
)


@frozen
class Thread:
    """Warps of one CTA that run together.

    Attributes:
        rank: of the CTA in its cluster.
        name: the role, or roles, in which they run.
        steps: in program order.
    """

    rank: int
    name: str
    steps: tuple[Step, ...]

    @property
    def who(self) -> str:
        """``CTA 0 producer``."""
        return f"CTA {self.rank} {self.name}"


@frozen
class Slots:
    """How one barrier starts: its slots and what completes a phase."""

    name: str
    depth: int
    arrivals: int


@frozen
class Program:
    """Every thread of one cluster for one problem size.

    Attributes:
        k_tiles: mainloop steps a tile.
        tiles: output tiles that the cluster walks.
        slices: parts of a stage of A and of B.
        barriers: how each starts, in every CTA.
        threads: of all CTAs.
        readers: indices of the threads that read accumulators: all of them read every tile.
    """

    k_tiles: int
    tiles: int
    slices: tuple[int, int]
    barriers: tuple[Slots, ...]
    threads: tuple[Thread, ...]
    readers: tuple[int, ...]
