"""All kinds of mutants, and the mutants of a rung."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from gemmgen.plan import Plan
from mutants import (
    plan_protocol,
    plan_resources,
    ptx_data,
    ptx_sync,
    text_consumers,
    text_epilogue,
    text_host,
    text_layout,
    text_loads,
    text_mma,
    text_setup,
    text_stores,
    text_waits,
    text_wgmma,
)
from mutants.model import Kind, Layer, Mutant, mutants_of
from mutants.subjects import Rung, is_beside

BESIDE_KINDS: tuple[Kind, ...] = (
    *text_stores.KINDS,
    *text_wgmma.KINDS,
    *text_consumers.KINDS,
)
KINDS: tuple[Kind, ...] = (
    *plan_protocol.KINDS,
    *plan_resources.KINDS,
    *BESIDE_KINDS,
    *text_setup.KINDS,
    *text_waits.KINDS,
    *text_loads.KINDS,
    *text_mma.KINDS,
    *text_epilogue.KINDS,
    *text_layout.KINDS,
    *text_host.KINDS,
    *ptx_sync.KINDS,
    *ptx_data.KINDS,
)

SHARES = {Layer.PLAN: 1.0, Layer.TEXT: 0.1, Layer.PTX: 0.0}
SEED = "a tenth"


def draw(text: str) -> float:
    """A number in [0, 1) that depends on `text` alone."""
    digest = hashlib.sha256(f"{SEED}:{text}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / (1 << 48)


def is_tried(kind: Kind, rung: Rung) -> bool:
    """Whether `kind` is tried on `rung`.

    All are on the main ladder. On a rung beside it all those of plans are and all of
    `BESIDE_KINDS`; of the others in text and PTX a fixed draw is, the share of `SHARES`. A tuned
    kernel is a Hopper rung with other numbers: a draw of `BESIDE_KINDS` too is, and whatever is
    about its grid.
    """
    if not is_beside(rung.name) or kind.name.startswith("grid_"):
        return True
    if kind.name in _BESIDE_NAMES and not rung.name.startswith("tuned/"):
        return True
    return draw(f"{kind.name}@{rung.name}") < SHARES[kind.layer]


_BESIDE_NAMES = frozenset(kind.name for kind in BESIDE_KINDS)


def kind_named(name: str) -> Kind:
    """The kind called `name`.

    Raises:
        KeyError: when there is none.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise KeyError(name)


def catalogue(
    rungs: tuple[Rung, ...], layers: tuple[Layer, ...] = tuple(Layer)
) -> Iterator[Mutant]:
    """Every mutant of `rungs`, without those that equal another one or the rung itself."""
    for rung in rungs:
        seen = {_digest(rung, layer) for layer in layers}
        for kind in KINDS:
            if kind.layer not in layers or not is_tried(kind, rung):
                continue
            for mutant in mutants_of(kind, rung):
                if mutant.digest not in seen:
                    seen.add(mutant.digest)
                    yield mutant


def _digest(rung: Rung, layer: Layer) -> str:
    whole: Plan | str = rung.plan
    if layer is not Layer.PLAN:
        whole = rung.source if layer is Layer.TEXT else rung.ptx
    nothing = Kind("none", layer, "", KINDS[0].expect, lambda _: ())
    return Mutant(nothing, rung.name, "", whole).digest
