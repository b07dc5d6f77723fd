"""Which pairs of accesses are races, and how a race is told."""

from __future__ import annotations

from dataclasses import dataclass

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.race.access import Access, Actor, ordered
from gemmgen.emulate.race.clocks import AFTER, BEFORE, EXECUTED, PROXY_GLOBAL, PROXY_SHARED
from gemmgen.emulate.race.shadow import Cells
from gemmgen.emulate.tensor.layout import COLUMNS

TITLES = {
    "E260": "shared memory used while asynchronous work may still use it",
    "E261": "no proxy fence between a write and asynchronous work",
    "E262": "data race in shared memory",
    "E263": "data race in global memory",
    "E264": "tensor memory used while an operation on it may be unfinished",
    "E265": "no tcgen05.fence between a barrier and the tensor core's operations",
    "E266": "mbarrier used before its init is visible",
    "E267": "arrival or wait with the wrong scope",
    "E268": "CTA exits while something may still reach it",
    "E269": "output written twice",
    "E270": "global memory used before griddepcontrol.wait",
}

ORDER = "nothing orders it after"
PROXY = "no proxy fence lies between it and"
FENCE = "no tcgen05.fence lies between it and"


@dataclass(frozen=True)
class Rules:
    """How strict to be.

    Attributes:
        strict: follow the PTX ISA to the letter: tcgen05 fences between threads and before MMAs, a
            tcgen05.wait::ld before what was loaded is used, one init a barrier, and cluster scope
            on an arrival in another CTA. CUTLASS 4.8 and quack 0.6.5 leave some of them out. In a
            dependent launch, use no global memory before griddepcontrol.wait.
        once: names of buffers whose bytes are written once at the most.
    """

    strict: bool = True
    once: frozenset[str] = frozenset()


def fault(code: str, detail: str, old: Access, now: Access, missing: str) -> EmulationError:
    """The error of a race: both accesses, and the edge that is missing between them."""
    text = f"{detail}\n  first: {old}\n  then: {now}\n  missing: {missing}"
    place = now.instr.place if now.instr is not None else None
    error = EmulationError(code, text, place=place, title=TITLES[code])
    error.where = f"{now.cta.where()}, warp {now.warp}"
    return error


class SharedRules:
    """Judges accesses to the shared memory of one CTA."""

    def __init__(self, rules: Rules, where: str) -> None:
        self.rules = rules
        self.where = where

    def __call__(self, old: Access, now: Actor, cells: Cells, unit: int) -> None:
        """Raise E260, E261, E262 or E265 when the accesses are a race."""
        access = now.access
        if old.strong and access.strong:
            return
        if not ordered(old, now, cells, unit):
            code = "E260" if old.asynchronous or access.asynchronous else "E262"
            missing = _edge(old, access)
            if ordered(old, now, cells, unit, EXECUTED):
                missing = RELAXED
            raise fault(code, self._told(cells, old, access), old, access, missing)
        crosses = old.writes and old.proxy == "generic" and access.proxy == "async"
        if crosses and not ordered(old, now, cells, unit, PROXY_SHARED):
            missing = "fence.proxy.async after the write, on the way to the asynchronous operation"
            raise fault("E261", self._told(cells, old, access, PROXY), old, access, missing)
        if self._fenced(old, access) and not ordered(old, now, cells, unit, AFTER):
            raise fault("E265", self._told(cells, old, access, FENCE), old, access, FENCE_AFTER)

    def simple(self, old: Access, now: Access) -> bool:
        """Whether order is enough: the write has not crossed from one proxy to the other, and no
        tcgen05.fence is needed.
        """
        if self._fenced(old, now):
            return False
        return not old.writes or old.proxy != "generic" or now.proxy != "async"

    def _fenced(self, old: Access, now: Access) -> bool:
        """Whether a tcgen05.fence::after_thread_sync must lie between a load and an MMA.

        Without it an MMA, which is asynchronous, is not ordered after the wait before it (PTX ISA
        "tcgen05, Specialized inter-thread synchronization"). What threads write needs it too, and
        is not checked.
        """
        mma = self.rules.strict and now.kind == MMA
        return mma and old.writes and old.asynchronous

    def _told(self, cells: Cells, old: Access, now: Access, how: str = ORDER) -> str:
        return _told(f"shared offset {int(cells().min()):#x} of {self.where}", old, now, how)


class GlobalRules:
    """Judges accesses to one buffer of global memory, which begins at `origin`."""

    def __init__(self, rules: Rules, name: str, origin: int) -> None:
        self.once = name in rules.once
        self.name = name
        self.origin = origin

    def __call__(self, old: Access, now: Actor, cells: Cells, unit: int) -> None:
        """Raise E263, E261 or E269 when the accesses are a race, or the second write of a byte."""
        access = now.access
        if old.strong and access.strong:
            return
        if not ordered(old, now, cells, unit):
            missing = "a release and an acquire of gpu scope between them"
            raise fault("E263", self._told(cells, old, access), old, access, missing)
        if self.once and old.writes and access.writes:
            raise fault(
                "E269",
                self._told(cells, old, access, "this comes after"),
                old,
                access,
                "no edge would help: each byte belongs to one tile, which writes it once",
            )
        crosses = old.writes and old.proxy == "generic" and access.proxy == "async"
        if crosses and not ordered(old, now, cells, unit, PROXY_GLOBAL):
            missing = "fence.proxy.async between the write and the copy"
            raise fault("E261", self._told(cells, old, access, PROXY), old, access, missing)

    def simple(self, old: Access, now: Access) -> bool:
        """Whether order is enough: no second write of what is written once, no other proxy."""
        again = self.once and now.writes
        return not old.writes or not (again or (old.proxy == "generic" and now.proxy == "async"))

    def _told(self, cells: Cells, old: Access, now: Access, how: str = ORDER) -> str:
        return _told(f"byte {int(cells().min()) - self.origin} of `{self.name}`", old, now, how)


ALLOC, FREE, MMA = "tcgen05.alloc", "tcgen05.dealloc", "tcgen05.mma"
FENCE_AFTER = "tcgen05.fence::after_thread_sync by the later thread, after its wait"


class TensorRules:
    """Judges accesses to the Tensor Memory of one CTA."""

    def __init__(self, rules: Rules, where: str) -> None:
        self.rules = rules
        self.where = where

    def __call__(self, old: Access, now: Actor, cells: Cells, unit: int) -> None:
        """Raise E264 when the accesses are a race, E265 when no tcgen05.fence lies between."""
        access = now.access
        if old.column < 0 and old.same_warp(access):
            return  # allocation and its kin are synchronous, and whole warps do them
        if old.cta is not access.cta and self._together(old.kind, access.kind):
            return  # the CTAs of a pair allocate together: the first to do it does it for both
        if not self.rules.strict and old.same_warp(access) and not access.asynchronous:
            return
        if not ordered(old, now, cells, unit):
            raise fault(
                "E264", self._told(cells, old, access), old, access, _tensor_edge(old, access)
            )
        waited = old.same_warp(access) and old.kind != MMA  # by tcgen05.wait, which needs no fence
        if not self.rules.strict or old.column < 0 or waited:
            return
        if not ordered(old, now, cells, unit, AFTER):
            before = ordered(old, now, cells, unit, BEFORE)
            missing = (
                FENCE_AFTER
                if before
                else "tcgen05.fence::before_thread_sync by the earlier thread, before it signals"
            )
            raise fault("E265", self._told(cells, old, access, FENCE), old, access, missing)

    def _together(self, old: str, now: str) -> bool:
        """Whether the CTAs of a pair need no order between two operations of theirs.

        PTX ISA "tcgen05.alloc": with .cta_group::2 a warp of each CTA does it, for both. So a
        dealloc frees what the peer may still read, unless they meet before it, as CUTLASS does.
        """
        kinds = (old, now)
        return ALLOC in kinds or old == now == FREE or (FREE in kinds and not self.rules.strict)

    def simple(self, old: Access, now: Access) -> bool:
        """Whether order is enough: no tcgen05 fence is needed between the two."""
        return not self.rules.strict or old.column == now.column or old.column < 0

    def _told(self, cells: Cells, old: Access, now: Access, how: str = ORDER) -> str:
        return _told(f"column {int(cells().min()) % COLUMNS} of {self.where}", old, now, how)


RELAXED = (
    "the arrival that orders them is relaxed, or of .cta scope in another CTA: it passes on that "
    "code has executed, not what it wrote"
)


def _told(place: str, old: Access, now: Access, how: str) -> str:
    verb = "is written" if now.writes else "is read"
    what = "write" if old.writes else "read"
    return f"{place} {verb} by {now.kind}, and {how} the {what} by {old.kind}"


def _edge(old: Access, now: Access) -> str:
    """What would have ordered two accesses to shared memory."""
    if old.kind in _LOADS:
        return f"a wait, by the thread of {now.kind}, on the mbarrier that counts the bytes"
    if old.kind == MMA:
        return f"a tcgen05.commit after the MMA, and a wait for it before {now.kind}"
    if old.kind == "wgmma":
        return f"wgmma.wait_group after the wgmma, and a barrier from there to {now.kind}"
    if old.kind == "tensor store":
        return "cp.async.bulk.wait_group.read by the storing thread, and a barrier from there"
    if old.same_warp(now):
        return "bar.warp.sync, or a barrier, between the lanes of the warp"
    if old.cta is now.cta:
        return "bar.sync, or an mbarrier, between the warps"
    return "a cluster barrier, or an arrival of cluster scope and a wait, between the CTAs"


_LOADS = ("tensor load", "bulk copy", "st.async", "clusterlaunchcontrol.try_cancel")


def _tensor_edge(old: Access, now: Access) -> str:
    if old.kind == MMA:
        return f"a tcgen05.commit after the MMA, and a wait on its mbarrier before {now.kind}"
    if old.kind in ("tcgen05.ld", "tcgen05.st"):
        return f"tcgen05.wait::{old.kind[-2:]} by that warp, and a barrier from there to {now.kind}"
    return f"a barrier between {old.kind} and {now.kind}"
