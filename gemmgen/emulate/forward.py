"""Register pairs that are only joined and taken apart again become plain copies.

CuTe DSL carries float32 accumulators through 64-bit registers: `mov.b64 %rd, {%r1, %r2}` after a
load and `mov.b64 {%r3, %r4}, %rd` before the use. Where nothing else can come between, the second
reads %r1 and %r2, and the first is dropped when nobody else reads %rd.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from gemmgen.emulate.decode import Handler
from gemmgen.emulate.step import Step


def forward(steps: list[Step], starts: Sequence[int]) -> None:
    """Rewrite ``steps`` in place; ``starts`` are the first instructions of the basic blocks.

    A join is followed when its destination and its sources are written by one instruction each, all
    in one block, and nothing reads the destination between the first of these and the join: then
    the sources hold what the destination holds wherever that is read.
    """
    writers: dict[int, list[int]] = defaultdict(list)
    readers: dict[int, list[int]] = defaultdict(list)
    for index, step in enumerate(steps):
        for slot in step.writes:
            writers[slot].append(index)
        for slot in step.reads:
            readers[slot].append(index)
    for index, step in enumerate(steps):
        if step.handler.packs and step.instr.guard is None:
            (target,) = step.writes
            if _held(index, step, target, steps, starts, writers, readers):
                _follow(steps, index, target, readers[target])


def _held(
    index: int,
    step: Step,
    target: int,
    steps: Sequence[Step],
    starts: Sequence[int],
    writers: dict[int, list[int]],
    readers: dict[int, list[int]],
) -> bool:
    first = starts[bisect_right(starts, index) - 1]
    made = [writers[s] for s in step.handler.packs]
    if writers[target] != [index] or any(len(w) != 1 for w in made):
        return False
    begin = min(w[0] for w in made)
    if begin < first or max(w[0] for w in made) >= index:
        return False
    if any(steps[w[0]].instr.guard is not None for w in made):
        return False
    return not any(begin <= r < index for r in readers[target])


def _follow(steps: list[Step], index: int, target: int, readers: Sequence[int]) -> None:
    sources = steps[index].handler.packs
    kept = False
    for reader in readers:
        step = steps[reader]
        parts = step.handler.unpacks
        if len(parts) != len(sources) or step.reads - _guard(step) != {target}:
            kept = True
            continue
        lines = tuple(
            f"R[{p}] = R[{s}]" for p, s in zip(parts, sources, strict=True) if p is not None
        )
        reads = {s for p, s in zip(parts, sources, strict=True) if p is not None}
        steps[reader] = Step(
            step.instr, Handler(source=lines), frozenset(reads | _guard(step)), step.writes
        )
    if not kept:
        nothing = Handler(source=("pass",))
        steps[index] = Step(steps[index].instr, nothing, frozenset(), frozenset())


def _guard(step: Step) -> set[int]:
    return set() if step.instr.guard is None else {step.instr.guard.slot}
