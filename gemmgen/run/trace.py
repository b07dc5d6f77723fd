"""An emulated run as a timeline: a track a warp and a unit, waits by barrier, slots of the ring."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gemmgen.emulate import Settings
from gemmgen.emulate.recorder import Operation, Recorder, Residence, Waiting
from gemmgen.plan import Plan
from gemmgen.plan.barriers import Purpose
from gemmgen.records import CaseRecord, Triple
from gemmgen.run.trace_roles import Turns
from gemmgen.run.trial import Trial
from gemmgen.timeline import Span, Timeline, Track

NOMINAL = "steps of nominal timing: round costs, not measured (gemmgen/emulate/nominal.py)"
STEPS = "steps of this schedule: warp instructions and completions, in their order; not time"
_LABEL = re.compile(r"(?P<name>\w+)(\[(?P<slot>\d+)\])? of ")
_STATES = {
    "tma_load": "load",
    "bulk_copy": "load",
    "tma_store": "store",
    "tma_write": "store",
    "tma_reduce": "store",
    "wgmma": "mma",
}
_UNITS = {"load": "tma", "store": "tma", "mma": "mma", "commit": "mma"}
_Key = tuple[int, str, str]


def trace(trial: Trial, shape: Triple, settings: Settings) -> tuple[CaseRecord, Timeline]:
    """Run one schedule; the timeline goes as far as the run did."""
    recorder = Recorder()
    case = trial.run(shape, settings, [recorder])
    recorder.close()
    title = f"{trial.subject.plan.name}, {'x'.join(map(str, shape))}, timing {settings.timing}"
    plan, k = trial.subject.plan, shape[2]
    return case, timeline(plan, recorder, title, k=k, nominal=settings.timing == "nominal")


def timeline(plan: Plan, recorder: Recorder, title: str, *, k: int, nominal: bool) -> Timeline:
    """The timeline of what `recorder` holds of a run with K = `k`."""
    builder = _Builder(plan, recorder, k)
    tracks, spans = builder.build()
    end = max((span.end for span in spans), default=0.0)
    stages = plan.spec.pipeline.ab_stages
    return Timeline(title, NOMINAL if nominal else STEPS, end, stages, tracks, spans)


def short(label: str) -> str:
    """`ab_full[2]` of a label that also names the CTA."""
    found = _LABEL.match(label)
    return label if found is None else label[: found.end() - len(" of ")]


def slot_of(label: str) -> int:
    """The slot in a label, 0 where the barrier has one only, -1 where no barrier is named."""
    found = _LABEL.match(label)
    return -1 if found is None else int(found["slot"] or 0)


def _name(label: str) -> str:
    found = _LABEL.match(label)
    return found["name"] if found else ""


class _Builder:
    """Puts what a recorder holds on tracks."""

    def __init__(self, plan: Plan, recorder: Recorder, k: int) -> None:
        self.plan = plan
        self.recorder = recorder
        self.spans: dict[_Key, list[Span]] = defaultdict(list)
        names = {b.purpose: b.name for b in plan.barriers}
        self.handover = names.get(Purpose.ACC_FULL, "")
        self.ring = names.get(Purpose.AB_FULL, "")
        self.turns = Turns(plan, k)
        self.free: defaultdict[object, float] = defaultdict(float)  # of MMAs, by issuing warp

    def build(self) -> tuple[tuple[Track, ...], tuple[Span, ...]]:
        for residence in self.recorder.residences:
            self._resident(residence)
        by_warp = sorted(self.recorder.operations, key=lambda o: (o.at.linear, o.warp))
        for _, group in itertools.groupby(by_warp, key=_batch):
            self._operation(list(group))
        tracks: list[Track] = []
        spans: list[Span] = []
        for sm, kind, name in sorted(self.spans, key=self._order):
            for lane in _lanes(self.spans[sm, kind, name]):
                spans += (replace(span, track=len(tracks)) for span in lane)
                tracks.append(Track(sm, kind, name))
        return tuple(tracks), tuple(spans)

    def _order(self, key: _Key) -> tuple[int, int, str]:
        """CTAs, then warps and units in dataflow order."""
        sm, kind, name = key
        place = {"cta": 0, "tma": 2, "mma": 4, "other": 7}.get(kind, 6)
        if kind == "warp":
            first = name.partition(": ")[2].partition(",")[0]
            place = {"producer": 1, "mma": 3, "epilogue": 5}.get(first, place)
        return sm, place, name

    def _resident(self, at: Residence) -> None:
        end = at.end.time
        name = f"CTA ({','.join(map(str, at.cta))})"
        self.spans[at.sm, "cta", "CTA"].append(Span(0, at.start.time, end, name, "resident"))
        waits = defaultdict(list)
        for wait in self.recorder.waits:
            if wait.at is at:
                waits[wait.warp].append(wait)
        passed = defaultdict(list)
        for passing in self.recorder.passings:
            if passing.at is at:
                passed[passing.warp].append(passing)
        issued = defaultdict(list)
        for operation in self.recorder.operations:
            if operation.at is at:
                issued[operation.warp].append(operation)
        for warp in range(self.plan.threads // 32):
            roles = [r.role for r in self.plan.roles if warp in r.warps]
            key = (at.sm, "warp", f"warp {warp}: {', '.join(roles) or 'no role'}")
            left = min(at.left[warp].time, end) if warp in at.left else end
            changes = self.turns.changes(roles, passed[warp], waits[warp], issued[warp])
            for span in _states(at.start.time, left, waits[warp]):
                self.spans[key] += _by_role(span, changes) if span.state == "run" else [span]

    def _operation(self, batch: Sequence[Operation]) -> None:
        first = batch[0]
        state = _STATES.get(first.kind, first.kind)
        kind = _UNITS.get(state, "other")
        start, end = first.start.time, max(o.end.time for o in batch)
        if state == "mma":
            start = max(start, self.free[first.at, first.warp])
            self.free[first.at, first.warp] = end
        span = self._span(batch, state, start, end)
        title = {"tma": f"TMA {state}", "mma": "tensor core"}.get(kind, first.kind)
        for sm in self._sms(first, kind):
            self.spans[sm, kind, title].append(span)

    def _span(self, batch: Sequence[Operation], state: str, start: float, end: float) -> Span:
        first = batch[0]
        barrier = first.signals or (first.passed if _name(first.passed) == self.ring else "")
        name = f"{state} {short(barrier)}".strip()
        args = {"issued": f"{first.start.time:g}", "source": first.source}
        args |= {f"operation {i}": o.detail for i, o in enumerate(batch)}
        slot = slot_of(barrier) if state in ("load", "mma") else -1
        done = state == "commit" and _name(barrier) == self.handover
        start = end if state == "commit" else start
        return Span(0, start, end, name, state, slot=slot, done=done, args=args)

    def _sms(self, operation: Operation, kind: str) -> Iterable[int]:
        """SMs whose unit works: both of a pair for its MMAs."""
        at = operation.at
        if kind != "mma" or not self.plan.geometry.is_pair:
            return [at.sm]
        pair = [r for r in self.recorder.residences if r.cluster == at.cluster]
        return [r.sm for r in pair if r.rank // 2 == at.rank // 2]


def _batch(operation: Operation) -> object:
    """Work that makes one span: a CTA's loads of a k_tile, its MMAs of a k_tile."""
    if operation.kind == "tma_load":
        return operation.at.linear, operation.kind, operation.signals
    if operation.kind in ("mma", "wgmma"):
        return operation.at.linear, operation.kind, operation.passed
    return id(operation)


def _states(start: float, end: float, waits: Iterable[Waiting]) -> list[Span]:
    """A warp's spans: waits, those for one thing run together, and running in between."""
    now = start
    spans: list[Span] = []
    for wait in waits:
        begin, until = max(wait.start.time, now), min(wait.end.time, end)
        if until <= begin:
            continue
        name = short(wait.barrier) or wait.what.partition(":")[0]
        args = {"waits for": wait.barrier or wait.what}
        if wait.barrier:
            args["phase"] = str(wait.phase)
        if begin > now:
            spans.append(Span(0, now, begin, "run", "run"))
        last = spans[-1] if spans else None
        if last is not None and last.state == "wait" and last.name == name and last.end == begin:
            spans[-1] = replace(last, end=until)
        else:
            spans.append(Span(0, begin, until, name, "wait", args=args))
        now = until
    if end > now:
        spans.append(Span(0, now, end, "run", "run"))
    return spans


def _by_role(span: Span, changes: list[tuple[float, str]]) -> list[Span]:
    """A running span, cut where the warp takes up another role."""
    parts: list[Span] = []
    for (begin, role), (until, _) in itertools.pairwise([*changes, (math.inf, "")]):
        start, end = max(span.start, begin), min(span.end, until)
        if end > start:
            parts.append(replace(span, start=start, end=end, name=role or "run", role=role))
    return parts


def _lanes(spans: list[Span]) -> list[list[Span]]:
    """Spans on as few lanes as possible, so that none overlap in one; points all on the first."""
    lanes: list[list[Span]] = [[]]
    ends = [-math.inf]
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        if span.start == span.end:
            lanes[0].append(span)
            continue
        free = next((i for i, end in enumerate(ends) if span.start >= end), len(lanes))
        if free == len(lanes):
            lanes.append([])
            ends.append(0.0)
        lanes[free].append(span)
        ends[free] = span.end
    return lanes
