"""A rung of a ladder in a document: its step, its resources, its barrier map and its diff."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gemmgen.plan import Plan
from gemmgen.plan.values import counted
from gemmgen.render.diff import DiffLine

_MARK = re.compile(r"(<!-- rung (?P<name>\S+) -->\n).*?(<!-- end rung -->)", re.DOTALL)


@dataclass(frozen=True)
class Rung:
    """What the plan of a rung does not say.

    Attributes:
        step: the diff to its predecessor: command, counts and regions; empty for the first rung.
        diff: its lines; none for the first rung.
        barrier_map: lines of the generated file.
        published: the write-up's figure, or empty.
        registers: a thread, from a record of this very spec; None where there is none.
    """

    step: str
    diff: Sequence[DiffLine]
    barrier_map: tuple[str, ...]
    published: str
    registers: int | None


def rungs_in(text: str) -> list[str]:
    """Rungs that `text` has a place for: between ``<!-- rung NAME -->`` and its end."""
    return [match["name"] for match in _MARK.finditer(text)]


def replace_rungs(text: str, cards: Mapping[str, str]) -> str:
    """`text` with the card of each rung that it has a place for."""
    return _MARK.sub(lambda match: f"{match[1]}{cards[match['name']]}{match[3]}", text)


def card(plan: Plan, rung: Rung) -> str:
    """A Markdown table of what the kernel takes, its barrier map, and its step, folded."""
    rows = [
        ("step", rung.step or "the first of its ladder"),
        ("warps", _warps(plan)),
        ("registers a thread", "" if rung.registers is None else str(rung.registers)),
        ("shared memory", f"{plan.smem.total} bytes"),
        ("tensor memory", "" if plan.tmem is None else _columns(plan)),
        ("barriers", _barriers(plan)),
        ("published, not measured here", rung.published),
    ]
    table = [f"| {name} | {_cell(text)} |" for name, text in rows if text]
    barrier_map = _fenced("text", rung.barrier_map)
    return "\n".join(["| | |", "|---|---|", *table, "", *barrier_map, *_folded(rung.diff), ""])


def _fenced(language: str, lines: Sequence[str]) -> list[str]:
    return [f"```{language}", *lines, "```"]


def _folded(diff: Sequence[DiffLine]) -> list[str]:
    """The blank lines let Markdown be Markdown inside HTML."""
    if not diff:
        return []
    summary = "<summary>the step, line by line</summary>"
    lines = _fenced("diff", [str(line) for line in diff])
    return ["", "<details>", summary, "", *lines, "", "</details>"]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _warps(plan: Plan) -> str:
    total = plan.threads // 32
    roles = [f"{role.role.value} {_range(role.warps)}" for role in plan.roles]
    idle = total - len({warp for role in plan.roles for warp in role.warps})
    return f"{total}: {', '.join(roles)}" + (f"; {idle} without a role" if idle else "")


def _range(warps: tuple[int, ...]) -> str:
    first, last = min(warps), max(warps)
    gapless = warps == tuple(range(first, last + 1))
    return f"{first} to {last}" if gapless and last > first else ", ".join(map(str, warps))


def _columns(plan: Plan) -> str:
    tmem = plan.tmem
    assert tmem is not None
    return f"{tmem.used}; {tmem.allocated} of {tmem.limit} columns allocated"


def _barriers(plan: Plan) -> str:
    named = plan.epilogue.named_barrier
    mbarriers = counted(sum(barrier.depth for barrier in plan.barriers), "mbarrier")
    return mbarriers + (f", {named.count} named" if named is not None else "")
