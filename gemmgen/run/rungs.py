"""Kernels of a ladder in the order of their rungs."""

from __future__ import annotations

from collections.abc import Sequence

from gemmgen.run.subject import Subject


def rungs_of(subjects: Sequence[Subject]) -> tuple[tuple[str, str], ...]:
    """Stem and title of each subject, every rung after its predecessor.

    Empty unless they are one unbroken ladder: one first rung, and every other on top of another.
    """
    below = {s.plan.spec.name: s.plan.spec.lineage.predecessor for s in subjects}
    above: dict[str | None, list[Subject]] = {}
    for subject in subjects:
        lower = subject.plan.spec.lineage.predecessor
        above.setdefault(lower if lower in below else None, []).append(subject)
    out, current = [], above.get(None, [])
    while len(current) == 1:
        spec = current[0].plan.spec
        out.append((current[0].path.stem, spec.title))
        current = above.get(spec.name, [])
    return tuple(out) if len(out) == len(subjects) else ()
