"""tcgen05.alloc, dealloc and relinquish_alloc_permit.

PTX ISA "Tensor Memory Allocation and Management Instructions".

With `.cta_group::2` one warp of each CTA of the pair allocates, and both get the same columns. "The
first warp could block until the second warp in the peer CTA also performs" it: under lazy timing it
does, under the other policies the even CTA goes on at once and only the odd CTA waits, as measured
on B300 in CUTLASS issue 3435. Freeing before the peer's allocation is done is E241 (same issue).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gemmgen.emulate.asyncops import Channel, Wait
from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.errors import Earlier, EmulationError
from gemmgen.emulate.machine import Cta, Group
from gemmgen.emulate.ops import at_exit
from gemmgen.emulate.ops.unfinished import blame_mma
from gemmgen.emulate.tensor.faults import fault
from gemmgen.emulate.tensor.memory import TensorMemory


def tensor_memory(cta: Cta) -> TensorMemory:
    """Return the Tensor Memory of a CTA."""
    memory: TensorMemory | None = cta.ext.get("tmem")
    if memory is None:
        memory = cta.ext["tmem"] = TensorMemory(cta.where())
    return memory


@dataclass(eq=False, slots=True)
class Pair:
    """What the CTAs of a pair (or a CTA by itself) still have to do to finish an allocation."""

    channel: Channel = field(default_factory=Channel)
    asking: dict[int, int] = field(default_factory=dict)
    """Rank -> columns asked for and not yet given."""
    giver: dict[int, Earlier] = field(default_factory=dict)
    """Rank -> the allocation that gave it what it has not yet taken."""
    given: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Rank -> first column and columns, reserved for a CTA whose warp has not yet taken them."""


def _pair(cta: Cta) -> Pair:
    pairs: dict[int, Pair] = cta.cluster.ext.setdefault("tmem_pairs", {})
    return pairs.setdefault(cta.rank >> 1, Pair())


def earlier(d: Decoder, g: Group) -> Earlier:
    """The instruction as messages about a later one name it."""
    return Earlier(d.base, g.where(), d.instr.place)


def cta_group(d: Decoder) -> int:
    """Return 1 or 2 from the opcode."""
    return 2 if d.has("cta_group::2") else 1


def agree(cta: Cta, group: int) -> None:
    """Raise E249 when one kernel uses both CTA groups (PTX ISA "tcgen05, CTA group")."""
    if cta.machine.ext.setdefault("cta_group", group) != group:
        raise fault("E249", "one kernel uses both .cta_group::1 and .cta_group::2")


def peer_of(cta: Cta) -> Cta:
    """Return the other CTA of the pair. Raises E249 when the cluster has none."""
    ctas = cta.cluster.ctas
    if cta.rank ^ 1 >= len(ctas):
        raise fault("E249", f"{cta.where()} has no peer for .cta_group::2")
    return ctas[cta.rank ^ 1]


@op("tcgen05.alloc")
def alloc(d: Decoder) -> Handler:
    """Allocate columns and write the address to shared memory; waits until they are free."""
    d.allow("cta_group::1", "cta_group::2", "sync", "aligned", "shared::cta", "b32")
    destination, columns = d.uniform_address(d.ops[0]), d.uniform(d.ops[1])
    group = cta_group(d)

    def run(g: Group) -> Wait | None:
        agree(g.cta, group)
        wanted = columns(g)
        owner, offset = g.machine.cta_at(g.cta, destination(g))
        owner.shared.check(offset, 4, 4)
        by = earlier(d, g)
        found = _alloc_pair(g.cta, wanted, by) if group == 2 else _alloc_single(g.cta, wanted)
        if isinstance(found, Wait):
            return found
        tensor_memory(g.cta).allocated[found] = by
        hub = g.machine.hub
        if hub.access:
            hub.on_access(g, d.instr, "tmem", g.cta, found, wanted, "alloc")
            hub.on_access(g, d.instr, "shared", owner, offset, 4, "write")
        owner.shared.write(offset, found.to_bytes(4, "little"))
        return None

    return d.collective(run, blocking=True)


def _alloc_single(cta: Cta, columns: int) -> int | Wait:
    memory = tensor_memory(cta)
    first = memory.find_free(columns)
    if first is None:
        return Wait(_single_channel(cta), f"{columns} free tensor memory columns")
    memory.allocate(first, columns)
    return first


def _single_channel(cta: Cta) -> Channel:
    channel: Channel = cta.ext.setdefault("tmem_channel", Channel())
    return channel


def _alloc_pair(cta: Cta, columns: int, by: Earlier) -> int | Wait:
    peer, pair = peer_of(cta), _pair(cta)
    if cta.rank in pair.given:
        first, reserved = pair.given.pop(cta.rank)
        if reserved != columns:
            raise fault(
                "E240", f"the CTAs of a pair allocate {reserved} and {columns} columns together"
            ).after(pair.giver[cta.rank], "the same number of columns in both CTAs of the pair")
        return first
    if peer.exited:
        raise fault("E240", f"{peer.where()} has exited and cannot allocate with its peer")
    pair.asking[cta.rank] = columns
    alone = cta.rank % 2 == 0 and cta.machine.settings.timing != "lazy"
    if peer.rank not in pair.asking and not alone:
        return Wait(pair.channel, f"{peer.where()} to allocate {columns} columns too")
    memory, other = tensor_memory(cta), tensor_memory(peer)
    free = memory.find_free(columns, other)
    if free is None:
        return Wait(pair.channel, f"{columns} tensor memory columns free in both CTAs")
    memory.allocate(free, columns)
    other.allocate(free, columns)
    other.allocated[free] = pair.giver[peer.rank] = by
    pair.given[peer.rank] = (free, columns)
    pair.asking.clear()
    cta.machine.notify(pair.channel)
    return free


@op("tcgen05.dealloc")
def dealloc(d: Decoder) -> Handler:
    """Free an allocation of the CTA."""
    d.allow("cta_group::1", "cta_group::2", "sync", "aligned", "b32")
    address, columns = d.uniform(d.ops[0]), d.uniform(d.ops[1])
    group = cta_group(d)

    def run(g: Group) -> None:
        agree(g.cta, group)
        if group == 2 and peer_of(g.cta).rank in _pair(g.cta).given:
            raise fault(
                "E241",
                f"tcgen05.dealloc.cta_group::2 before {peer_of(g.cta).where()} has completed its "
                "tcgen05.alloc",
            ).after(
                tensor_memory(g.cta).allocated.get(address(g)),
                "a cluster barrier after the allocations of both CTAs",
            )
        memory = tensor_memory(g.cta)
        try:
            memory.free(address(g), columns(g), earlier(d, g))
        except EmulationError as error:
            raise blame_mma(error, g.cta, address(g) & 0xFFFF, columns(g)) from None
        if g.machine.hub.access:
            at, width = address(g), columns(g)
            g.machine.hub.on_access(g, d.instr, "tmem", g.cta, at, width, "free")
        g.machine.notify(_pair(g.cta).channel if group == 2 else _single_channel(g.cta))

    return d.collective(run)


@op("tcgen05.relinquish_alloc_permit")
def relinquish(d: Decoder) -> Handler:
    """The CTA will not allocate again."""
    d.allow("cta_group::1", "cta_group::2", "sync", "aligned")
    group = cta_group(d)

    def run(g: Group) -> None:
        agree(g.cta, group)
        tensor_memory(g.cta).relinquished = earlier(d, g)

    return d.collective(run)


@at_exit
def leaked(cta: Cta) -> None:
    """Raise E245 when a CTA ends with columns allocated."""
    memory: TensorMemory | None = cta.ext.get("tmem")
    if memory is not None and memory.allocations:
        held = ", ".join(f"{n} from column {at}" for at, n in sorted(memory.allocations.items()))
        error = fault("E245", f"{cta.where()} exits with tensor memory allocated: {held}")
        by = memory.allocated.get(min(memory.allocations))
        raise error.after(by, "tcgen05.dealloc by one warp of the CTA before the CTA exits")
