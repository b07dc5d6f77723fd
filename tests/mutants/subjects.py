"""The rungs that are mutated: plan, text and PTX of each committed kernel."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from gemmgen.plan import Plan, make_plan
from gemmgen.spec import load_spec

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "generated"


@dataclass(frozen=True)
class Rung:
    """One committed kernel.

    Attributes:
        name: stem of its files, with its folder.
        plan: of its spec.
        source: text of the generated file.
        compiler: gives the PTX of a text; set by whoever can compile.
    """

    name: str
    plan: Plan
    source: str
    compiler: Callable[[str, str], str] | None = field(default=None, compare=False, repr=False)

    @property
    def short(self) -> str:
        """``v3`` of ``v3_warp_specialized``, with its folder."""
        return self.name.split("_")[0]

    @cached_property
    def ptx(self) -> str:
        """Its PTX, without lines of debug information that only point elsewhere."""
        if self.compiler is None:
            raise RuntimeError(f"no compiler for {self.name}")
        return self.compiler(self.name, self.source)

    def with_source(self, source: str) -> Rung:
        """The same rung with another text."""
        return dataclasses.replace(self, source=source)


def rung_names() -> tuple[str, ...]:
    """Every committed kernel of the `cute` ladder and others, smallest ladder first."""
    names = (p.relative_to(GENERATED).with_suffix("").as_posix() for p in GENERATED.rglob("*.py"))
    return tuple(sorted((n for n in names if _is_ladder(n)), key=lambda n: (n.count("/"), n)))


def _is_ladder(name: str) -> bool:
    """A rung of the main ladder; the folders beside it repeat its faults."""
    return "/" not in name


@lru_cache(maxsize=64)
def _plan(name: str) -> Plan:
    return make_plan(load_spec(ROOT / "specs" / f"{name}.toml"))


@lru_cache(maxsize=64)
def rung(name: str, compiler: Callable[[str, str], str] | None = None) -> Rung:
    """The rung called `name`."""
    source = (GENERATED / f"{name}.py").read_text("utf-8")
    return Rung(name, _plan(name), source, compiler)
