"""The part of the catalogue that runs on every change: about a tenth, the same each time.

Every kind of plan mutant is in it, on up to five rungs, as they cost nothing. Of the kinds in text
and PTX a fixed draw is, each on one of the rungs that run fastest and have it; the draw is by a
hash of the name, so that a new kind moves no other. What is argued to be equivalent is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mutants.catalogue import KINDS, draw, is_tried
from mutants.equivalent import argued, arguments
from mutants.model import Expect, Kind, Layer, Mutant, mutants_of
from mutants.subjects import Rung, rung_names

PLAN_RUNGS, TEXT_SHARE, PTX_SHARE = 5, 0.15, 0.75
PTX_RUNGS = ("v1_kloop", "v3_warp_specialized", "v8_persistent", "v6_multicast")
SLOW = (
    "v6_multicast",
    "v8_persistent",
    "v7_two_cta",
    "tirx/v3_tiled",
    "hopper/h1_kloop",
    "hopper/h5_warp_specialized",
    "tirx/v4_tma",
    "tirx/v6_persistent",
    "hopper/h7_multicast",
    "tirx/v9_two_consumers",
    "hopper/h9_persistent",
    "hopper/h10_pingpong",
    "combined/v8_tma_store",
    "tuned/h200_4096x4096x4096",
)


def _order(kind: Kind) -> tuple[str, ...]:
    """Rungs to look for `kind` on: of the plan in any order, else the fast ones first."""
    if kind.layer is Layer.PTX:
        return PTX_RUNGS
    names = sorted(rung_names(), key=lambda name: draw(f"{kind.name}@{name}"))
    if kind.layer is Layer.TEXT:
        names.sort(key=lambda name: SLOW.index(name) if name in SLOW else -1)
    return tuple(names)


def _taken(kind: Kind) -> int:
    """How many mutants of `kind` are in the sample."""
    if kind.expect is Expect.NONE:
        return 0
    if kind.layer is Layer.PLAN:
        return PLAN_RUNGS
    share = TEXT_SHARE if kind.layer is Layer.TEXT else PTX_SHARE
    return int(draw(kind.name) < share)


def sample(layer: Layer, subject: Callable[[str], Rung]) -> Iterator[Mutant]:
    """The mutants of `layer` that are in the sample."""
    entries = arguments()
    for kind in KINDS:
        wanted = _taken(kind) if kind.layer is layer else 0
        for name in _order(kind):
            if wanted == 0:
                break
            if not is_tried(kind, subject(name)):
                continue
            found = (m for m in mutants_of(kind, subject(name)) if argued(m, entries) is None)
            mutant = min(found, key=lambda m: draw(m.name), default=None)
            if mutant is not None:
                yield mutant
                wanted -= 1
