"""All kinds of mutants, and the mutants of a rung."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.plan import Plan
from mutants import (
    plan_protocol,
    plan_resources,
    ptx_data,
    ptx_sync,
    text_epilogue,
    text_host,
    text_layout,
    text_loads,
    text_mma,
    text_setup,
    text_waits,
)
from mutants.model import Kind, Layer, Mutant, mutants_of
from mutants.subjects import Rung

KINDS: tuple[Kind, ...] = (
    *plan_protocol.KINDS,
    *plan_resources.KINDS,
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
            if kind.layer not in layers:
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
