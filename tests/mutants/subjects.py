"""The rungs that are mutated: plan, text and PTX of each committed kernel.

All of the main ladder are, v0 to v8. Beside it those of `BESIDE` are, as they have what the ladder
has not:

- ``tirx/v3_tiled``, ``hopper/h1_kloop``: generic copies in a loop and the proxy fence after them,
  for tcgen05 and for wgmma;
- ``tirx/v4_tma``, ``tirx/v6_persistent``: TMA stores whose buffers are used once, and again;
- ``tirx/v9_two_consumers``: two consumers of one stage, a named barrier for each, TMA stores;
- ``hopper/h5_warp_specialized``: setmaxnreg, and groups of wgmma that release a stage late;
- ``hopper/h7_multicast``: parts of B, sent to both CTAs, and the lap that keeps them from leaving;
- ``hopper/h9_persistent``, ``hopper/h10_pingpong``: stmatrix and TMA stores of two consumers, and
  their turns;
- ``combined/v8_tma_store``: TMA stores beside an accumulator slot that is given back early;
- ``tuned/h200_4096x4096x4096``: a dependent launch, and stores under the next tile's mainloop.

The rungs that are left out are steps between these, or these with other numbers.
`mutants.catalogue.is_tried` says which kinds each of them gets.
"""

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
BESIDE = (
    "combined/v8_tma_store",
    "hopper/h10_pingpong",
    "hopper/h1_kloop",
    "hopper/h5_warp_specialized",
    "hopper/h7_multicast",
    "hopper/h9_persistent",
    "tirx/v3_tiled",
    "tirx/v4_tma",
    "tirx/v6_persistent",
    "tirx/v9_two_consumers",
    "tuned/h200_4096x4096x4096",
)


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
    """The rungs that are mutated: the `cute` ladder, then those of `BESIDE`, by name."""
    names = (p.relative_to(GENERATED).with_suffix("").as_posix() for p in GENERATED.rglob("*.py"))
    return tuple(sorted((n for n in names if _is_ladder(n)), key=lambda n: (n.count("/"), n)))


def _is_ladder(name: str) -> bool:
    """A rung of the main ladder, or one chosen beside it."""
    return "/" not in name or name in BESIDE


def is_beside(name: str) -> bool:
    """One of `BESIDE`."""
    return name in BESIDE


@lru_cache(maxsize=64)
def _plan(name: str) -> Plan:
    return make_plan(load_spec(ROOT / "specs" / f"{name}.toml"))


@lru_cache(maxsize=64)
def rung(name: str, compiler: Callable[[str, str], str] | None = None) -> Rung:
    """The rung called `name`."""
    source = (GENERATED / f"{name}.py").read_text("utf-8")
    return Rung(name, _plan(name), source, compiler)
