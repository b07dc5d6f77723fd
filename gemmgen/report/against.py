"""One record of `gemmgen bench` against another: faster, slower or the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gemmgen.bench_records import AGAIN, BASELINE, BenchRecord, Entry, ShapeRecord
from gemmgen.records import Triple
from gemmgen.terms import Finding, GemmgenError

FASTER, SLOWER, SAME = "faster", "slower", "same"


@dataclass(frozen=True)
class Change:
    """A kernel at one shape, now and then.

    Attributes:
        before, now: its rate over that of cuBLAS in its own run, so that clocks and power drop out.
        gain: `now` over `before`, less one.
        noise: of both runs together: gains within it, either way, are chance.
        respecified: whether its spec is another one than then.
    """

    shape: Triple
    kernel: str
    before: float
    now: float
    gain: float
    noise: float
    verdict: str
    respecified: bool


def changes(now: BenchRecord, before: BenchRecord) -> list[Change]:
    """Every kernel at every shape that both records have.

    Raises:
        GemmgenError: T445, they are of different devices, or have nothing in common.
    """
    if now.device["name"] != before.device["name"]:
        title = f"this is {now.device['name']}, and the record is of {before.device['name']}"
        raise _fault(title, "compare with a record of the same device")
    then = {found.shape: found for found in before.shapes}
    out = []
    for found in now.shapes:
        if found.shape in then:
            out += _at_shape(found, then[found.shape])
    if not out:
        help_ = "bench the kernels and shapes that the record has"
        raise _fault("the records have no kernel at one shape in common", help_)
    return out


def _at_shape(now: ShapeRecord, before: ShapeRecord) -> list[Change]:
    old = {entry.name: entry for entry in before.entries}
    pairs = [
        (entry, old[entry.name])
        for entry in now.entries
        if entry.name in old and entry.name not in (BASELINE, AGAIN)
    ]
    return [_change(now, entry, before, other) for entry, other in pairs]


def _change(now: ShapeRecord, entry: Entry, before: ShapeRecord, other: Entry) -> Change:
    gain = entry.ratio / other.ratio - 1.0
    noise = math.hypot(max(now.noise, entry.spread), max(before.noise, other.spread))
    verdict = SAME if abs(gain) <= noise else FASTER if gain > 0 else SLOWER
    differs = entry.digest != other.digest
    return Change(now.shape, entry.name, other.ratio, entry.ratio, gain, noise, verdict, differs)


def _fault(title: str, help_: str) -> GemmgenError:
    return GemmgenError([Finding("T445", title, help=help_)])
