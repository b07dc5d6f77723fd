"""hypothesis strategies: specs near the committed ones, and schedules to run them under.

Every fourth spec crosses features instead (`fuzz.crossed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from fuzz.crossed import BASE, crossings, rings
from fuzz.values import EQUAL, TOGETHER, data, texts, tiers, usual_values, value_at, values
from gemmgen.run.schedules import POLICIES

ALL = 2  # the tier of all keys


@dataclass(frozen=True)
class Drawn:
    """A committed spec with some keys changed, and how to run it.

    Attributes:
        base: name of the committed spec.
        changes: values by key path; None takes the key away.
        policy: timing policy.
        seed: of the timing and of the inputs.
        pick: chooses the policy's target, the problem and the device among those that the plan has.
    """

    base: str
    changes: tuple[tuple[str, Any], ...]
    policy: str
    seed: int
    pick: int

    def __str__(self) -> str:
        changed = ", ".join(f"{key} = {value}" for key, value in self.changes)
        return f"{self.base} with {changed}" if changed else self.base


def _change(draw: st.DrawFn, base: str, tier: int) -> dict[str, Any]:
    """One key, and those that belong to it, from a spec that has this value."""
    path = draw(st.sampled_from(tiers(base)[tier]))
    choices = values(base, path) if tier == ALL else usual_values(base, path)
    if not choices:
        return {}
    value = draw(st.sampled_from(choices))
    out = {path: value}
    donors = [name for name in texts() if value_at(data(name), path) == value]
    if path in EQUAL and (tier == 0 or draw(st.booleans())):
        out |= {EQUAL[path]: value}
    elif path in TOGETHER and donors and draw(st.booleans()):
        donor = data(draw(st.sampled_from(donors)))
        out |= {other: value_at(donor, other) for other in TOGETHER[path]}
    return out


def _near(draw: st.DrawFn, base: str) -> dict[str, Any]:
    tier = draw(st.sampled_from((0, 0, 0, 1, 1, ALL)))
    changes: dict[str, Any] = {}
    for _ in range(draw(st.integers(1, 3))):
        changes |= _change(draw, base, tier)
    return changes


@st.composite
def specs(draw: st.DrawFn) -> Drawn:
    """One to three changes of a committed spec, or a crossing."""
    if draw(st.integers(0, 3)) == 0:
        base, changes = BASE, draw(st.one_of(crossings(), crossings(), crossings(), rings()))
    else:
        base = draw(st.sampled_from(sorted(texts())))
        changes = _near(draw, base)
    return Drawn(
        base,
        tuple(changes.items()),
        draw(st.sampled_from(POLICIES)),
        draw(st.integers(0, 9999)),
        draw(st.integers(0, 9999)),
    )
