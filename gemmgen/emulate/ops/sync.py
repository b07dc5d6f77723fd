"""Named barriers, barrier.cluster and memory fences: PTX ISA, "Parallel Synchronization and
Communication".
"""

from __future__ import annotations

from collections.abc import Callable

from gemmgen.emulate.asyncops import Channel, Wait
from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import FULL, WARP, bit_mask
from gemmgen.emulate.machine import Cluster, Cta, Group

NAMED_BARRIERS = 16


class Named:
    """One named barrier of a CTA; counts are threads. ``expected`` 0: all threads of the CTA."""

    __slots__ = ("arrived", "channel", "expected", "generation", "number", "result", "votes")

    def __init__(self, number: int) -> None:
        self.number = number
        self.arrived = 0
        self.expected = 0
        self.generation = 0
        self.votes: list[int] = []
        self.result = 0
        self.channel = Channel()

    def full(self, cta: Cta) -> bool:
        """Whether all expected threads have arrived."""
        return self.arrived >= (self.expected or cta.running * WARP)

    def release(self, cta: Cta) -> None:
        """Let the waiting warps go and begin again."""
        self.arrived = self.expected = 0
        self.generation += 1
        cta.machine.progress += 1
        cta.machine.notify(self.channel)


def named(cta: Cta, number: int) -> Named:
    """Barrier ``number`` of a CTA. Raises E219 outside 0-15."""
    if not 0 <= number < NAMED_BARRIERS:
        raise EmulationError("E219", f"barrier {number}: a CTA has barriers 0 to 15")
    found: Named | None = cta.named.get(number)
    if found is None:
        found = cta.named[number] = Named(number)
    return found


def arrive(g: Group, number: int, count: int, threads: int) -> Named:
    """Threads of a group arrive. Raises E219 for counts that do not fit."""
    bar = named(g.cta, number)
    if count % WARP:
        raise EmulationError("E219", f"barrier {number}: {count} threads is not a multiple of 32")
    if bar.arrived and bar.expected != count:
        raise EmulationError(
            "E219",
            f"barrier {number} expects {bar.expected or 'all'} threads, "
            f"this arrival says {count or 'all'}",
        )
    bar.expected = count
    bar.arrived += threads
    if count and bar.arrived > count:
        raise EmulationError(
            "E219", f"barrier {number}: {bar.arrived} threads arrive, {count} expected"
        )
    g.machine.progress += 1
    return bar


def _reader(d: Decoder, index: int) -> Callable[[Group], int]:
    return d.uniform(d.ops[index], 32) if index < len(d.ops) else lambda g: 0


def _threads(g: Group, aligned: bool) -> int:
    return WARP if aligned else g.mask.bit_count()


def _finish(g: Group, bar: Named, d: Decoder) -> None:
    _tell(g, d, "bar", (bar, bar.generation))
    if bar.full(g.cta):
        if bar.votes:
            bar.result = bar.votes.pop()
        bar.release(g.cta)


def _tell(g: Group, d: Decoder, what: str, target: object) -> None:
    if g.machine.hub.sync:
        g.machine.hub.on_sync(g, d.instr, what, target)


@op("bar.sync", "bar.cta.sync", "barrier.sync", "barrier.cta.sync")
def bar_sync(d: Decoder) -> Handler:
    aligned = d.base.startswith("bar.") or d.has("aligned")
    number, count = _reader(d, 0), _reader(d, 1)

    def run(g: Group) -> Wait | None:
        if g.token is None:
            bar = arrive(g, number(g), count(g), _threads(g, aligned))
            g.token = (bar, bar.generation)
            _finish(g, bar, d)
        bar, generation = g.token
        if bar.generation == generation:
            expected = bar.expected or g.cta.running * WARP
            return Wait(
                bar.channel, f"barrier {bar.number}: {bar.arrived} of {expected} threads arrived"
            )
        _tell(g, d, "bar_passed", (bar, generation))
        g.token = None
        return None

    return Handler(run=run, blocking=True, meet=_everyone if aligned else None)


def _everyone(g: Group) -> int:
    return FULL


@op("bar.arrive", "bar.cta.arrive", "barrier.arrive", "barrier.cta.arrive")
def bar_arrive(d: Decoder) -> Handler:
    aligned = d.base.startswith("bar.") or d.has("aligned")
    number, count = _reader(d, 0), _reader(d, 1)

    def run(g: Group) -> None:
        bar = arrive(g, number(g), count(g), _threads(g, aligned))
        _finish(g, bar, d)

    return Handler(run=run, meet=_everyone if aligned else None)


@op("bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red")
def bar_reduce(d: Decoder) -> Handler:
    aligned = d.base.startswith("bar.") or d.has("aligned")
    mode = next(m for m in d.mods if m in ("popc", "and", "or"))
    has_count = len(d.ops) > 3
    number = _reader(d, 1)
    count = _reader(d, 2) if has_count else (lambda g: 0)
    predicate = d.lanes(d.ops[-1], 1)
    put = d.write(d.ops[0])

    def vote(g: Group, bar: Named) -> None:
        ballot = bit_mask(predicate(g)) & g.mask
        start = {"popc": 0, "and": 1, "or": 0}[mode]
        held = bar.votes[0] if bar.votes else start
        if mode == "popc":
            held += ballot.bit_count()
        else:
            held = held & (ballot == g.mask) if mode == "and" else held | (ballot != 0)
        bar.votes = [held]

    def run(g: Group) -> Wait | None:
        if g.token is None:
            bar = arrive(g, number(g), count(g), _threads(g, aligned))
            vote(g, bar)
            g.token = (bar, bar.generation)
            _finish(g, bar, d)
        bar, generation = g.token
        if bar.generation == generation:
            return Wait(bar.channel, f"barrier {bar.number}: reduction")
        put(g, bar.result if mode == "popc" else bool(bar.result))
        _tell(g, d, "bar_passed", (bar, generation))
        g.token = None
        return None

    return Handler(run=run, blocking=True, meet=_everyone if aligned else None)


def threads_left(cta: Cta) -> None:
    """After threads have exited: release barriers that now have all their threads."""
    for bar in cta.named.values():
        if bar.arrived and not bar.expected and bar.full(cta):
            bar.release(cta)


# --- cluster barrier ---


def _phases(g: Group) -> list[int]:
    found: list[int] | None = g.warp.ext.get("cluster")
    if found is None:
        found = g.warp.ext["cluster"] = [-1] * WARP
    return found


def cluster_settle(cluster: Cluster) -> None:
    """Complete the phase of barrier.cluster when all live threads have arrived."""
    if cluster.arrived and cluster.arrived >= cluster.expected:
        cluster.arrived = 0
        cluster.barrier_phase += 1
        cluster.machine.progress += 1
        cluster.machine.notify(cluster.channel)


def cluster_leave(g: Group) -> None:
    """The lanes of a group exit: they no longer count for barrier.cluster."""
    cluster = g.cta.cluster
    phases = _phases(g)
    gone = sum(phases[lane] == cluster.barrier_phase for lane in g.lanes.tolist())
    cluster.arrived -= gone
    cluster.expected -= g.mask.bit_count()
    cluster_settle(cluster)


@op("barrier.cluster.arrive")
def cluster_arrive(d: Decoder) -> Handler:
    d.allow("release", "relaxed", "aligned")

    def run(g: Group) -> None:
        cluster, phases = g.cta.cluster, _phases(g)
        for lane in g.lanes.tolist():
            if phases[lane] != -1:
                raise EmulationError("E219", "barrier.cluster.arrive twice without a wait between")
            phases[lane] = cluster.barrier_phase
        cluster.arrived += g.mask.bit_count()
        g.machine.progress += 1
        _tell(g, d, "cluster_arrive", (cluster, cluster.barrier_phase))
        cluster_settle(cluster)

    return Handler(run=run, meet=_everyone if d.has("aligned") else None)


@op("barrier.cluster.wait")
def cluster_wait(d: Decoder) -> Handler:
    d.allow("acquire", "aligned")

    def run(g: Group) -> Wait | None:
        cluster, phases = g.cta.cluster, _phases(g)
        lanes = g.lanes.tolist()
        phase = max(phases[lane] for lane in lanes)
        if min(phases[lane] for lane in lanes) < 0:
            raise EmulationError("E219", "barrier.cluster.wait without an arrive before it")
        if cluster.barrier_phase <= phase:
            return Wait(
                cluster.channel,
                f"barrier.cluster: {cluster.arrived} of {cluster.expected} threads arrived",
            )
        for lane in lanes:
            phases[lane] = -1
        _tell(g, d, "cluster_wait", (cluster, phase))
        return None

    return Handler(run=run, blocking=True, meet=_everyone if d.has("aligned") else None)


# --- fences ---


@op("fence", "membar")
def fence(d: Decoder) -> Handler:
    """Generic accesses take effect in program order here; listeners see the fence."""

    def run(g: Group) -> None:
        _tell(g, d, "fence", d.instr.opcode)

    return Handler(run=run)
