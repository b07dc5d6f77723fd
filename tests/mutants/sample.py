"""The part of the catalogue that runs on every change: about a tenth, the same each time.

Every kind of plan mutant is in it, on up to five rungs, as they cost nothing. Of the kinds in text
and PTX a fixed draw is, each on one of the rungs that run fastest and have it; the draw is by a
hash of the name, so that a new kind moves no other. What is argued to be equivalent is left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from mutants.catalogue import KINDS
from mutants.equivalent import argued, arguments
from mutants.model import Expect, Kind, Layer, Mutant, mutants_of
from mutants.subjects import Rung, rung_names

PLAN_RUNGS, TEXT_SHARE, PTX_SHARE = 5, 0.15, 0.75
PTX_RUNGS = ("v1_kloop", "v3_warp_specialized", "v8_persistent", "v6_multicast")
SLOW = ("v6_multicast", "v8_persistent", "v7_two_cta")
SEED = "a tenth"


def _draw(text: str) -> float:
    """A number in [0, 1) that depends on `text` alone."""
    digest = hashlib.sha256(f"{SEED}:{text}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / (1 << 48)


def _order(kind: Kind) -> tuple[str, ...]:
    """Rungs to look for `kind` on: of the plan in any order, else the fast ones first."""
    if kind.layer is Layer.PTX:
        return PTX_RUNGS
    names = sorted(rung_names(), key=lambda name: _draw(f"{kind.name}@{name}"))
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
    return int(_draw(kind.name) < share)


def sample(layer: Layer, subject: Callable[[str], Rung]) -> Iterator[Mutant]:
    """The mutants of `layer` that are in the sample."""
    entries = arguments()
    for kind in KINDS:
        wanted = _taken(kind) if kind.layer is layer else 0
        for name in _order(kind):
            if wanted == 0:
                break
            found = (m for m in mutants_of(kind, subject(name)) if argued(m, entries) is None)
            mutant = min(found, key=lambda m: _draw(m.name), default=None)
            if mutant is not None:
                yield mutant
                wanted -= 1
