"""Facts of the architectures that gemmgen writes kernels for."""

from __future__ import annotations

from gemmgen.arch import sm90a, sm100a
from gemmgen.arch.facts import ArchFacts, BarrierFacts, MmaRule, TmaFacts, TmemFacts
from gemmgen.terms import Arch

_FACTS = {Arch.SM90A: sm90a.FACTS, Arch.SM100A: sm100a.FACTS}


def facts(arch: Arch) -> ArchFacts:
    """The limits of `arch`."""
    return _FACTS[arch]


__all__ = ["ArchFacts", "BarrierFacts", "MmaRule", "TmaFacts", "TmemFacts", "facts"]
