"""Ablations: a kernel with one thing removed or doubled, printed from the same templates.

An ablation exchanges partials in slots that the plan fills, gives loads another tile or count of
bytes, or changes keys of the spec. The barrier protocol stays whole: whoever waited still waits,
and is still signalled. What is printed computes no GEMM any more, unless only keys of the spec
change. `gemmgen.render.ablations` has them all.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from gemmgen.frozen import frozen
from gemmgen.plan import Plan
from gemmgen.render.facts import Facts, Rule
from gemmgen.render.words import load_words
from gemmgen.spec import Spec
from gemmgen.terms import Arch

EMPTY = ""
WIDTH = 96
ANNOUNCE = {False: "ablate/announce_cta.j2", True: "ablate/announce_leader.j2"}


@frozen
class Ablation:
    """One thing removed or doubled.

    Attributes:
        name: as `gemmgen ablate --only` takes it.
        title: what is different, for headings.
        shows: what its time says of the full kernel.
        says: that in one sentence, with its ``{share}`` of the full kernel's time, how many
            ``{times}`` that is, and the ``{rate}`` of the loads.
        rules: slot, partial, what it requires of the plan. A rule applies to a slot that the full
            kernel fills; the first that holds wins, and `EMPTY` leaves the slot empty.
        load: words of the loads (`gemmgen.render.words.load_words`) that it says otherwise.
        settings: keys of a spec to change, and their values.
        lacks: why it does not apply to a kernel, or an empty string.
    """

    name: str
    title: str
    shows: str
    says: str
    rules: Mapping[Arch, tuple[Rule, ...]] = field(default_factory=dict)
    load: Mapping[str, str] = field(default_factory=dict)
    settings: Callable[[Spec], dict[str, object]] = lambda _: {}
    lacks: Callable[[Facts, Spec], str] = lambda _, __: ""

    @property
    def is_gemm(self) -> bool:
        """Whether its result is still D = A @ B.T."""
        return not self.rules

    def sentence(self, share: float, noise: float, terabytes: float) -> str:
        """`says` with the figures of a run, and a word where they are within its noise.

        Args:
            share: time over that of the full kernel.
            noise: differences up to it, relative, are chance.
            terabytes: that the loads bring into shared memory a second.
        """
        rate = f"{terabytes:.1f} TB/s into shared memory"
        text = self.says.format(share=f"{share:.0%}", times=f"{share:.2f}x", rate=rate)
        same = abs(share - 1.0) <= noise
        return f"{text}: the same, within the noise of {noise:.1%}" if same else text

    def exchange(self, plan: Plan, slots: Mapping[str, str]) -> dict[str, str]:
        """`slots` of the full kernel as this ablation fills them, in the same order."""
        facts = Facts.of(plan)
        own: dict[str, str] = {}
        for slot, partial, requires in self.rules.get(plan.spec.arch, ()):
            if slot in slots and slot not in own and requires(facts):
                own[slot] = partial
        merged = {slot: own.get(slot, partial) for slot, partial in slots.items()}
        if own.get("arm") == "ablate/arm_first_lap.j2":
            merged["announce"] = ANNOUNCE[facts.pair]
        return {slot: partial for slot, partial in merged.items() if partial != EMPTY}

    def words(self, plan: Plan) -> dict[str, Any]:
        """What its partials, header and docstring say, in place of the full kernel's words."""
        start = f"tile == {plan.walk.index} and " if plan.persistent else ""
        result = "D = A @ B.T" if self.is_gemm else "NOT A GEMM"
        shows = textwrap.fill(f"What it shows: {self.shows}.", WIDTH, break_on_hyphens=False)
        what = f"{plan.spec.name} with one thing removed or doubled, and all of its barriers."
        return {
            "first_lap": f"{start}k_tile < AB_STAGES",
            "load": load_words(plan) | dict(self.load),
            "ablation": [f"ablation: {self.name}"],
            "doc": {"head": f"{result}: {self.title}.", "what": what, "why": shows},
        }


def combine(first: Ablation, second: Ablation, shows: str, says: str) -> Ablation:
    """Both at once; where they fill one slot, `first` does."""
    arches = [*first.rules, *(arch for arch in second.rules if arch not in first.rules)]
    return Ablation(
        name=f"{first.name}_{second.name}",
        title=f"{first.title}, {second.title}",
        shows=shows,
        says=says,
        rules={arch: (*first.rules.get(arch, ()), *second.rules.get(arch, ())) for arch in arches},
        load={**second.load, **first.load},
        settings=lambda spec: first.settings(spec) | second.settings(spec),
        lacks=lambda facts, spec: first.lacks(facts, spec) or second.lacks(facts, spec),
    )
