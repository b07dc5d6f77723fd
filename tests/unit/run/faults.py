"""Hand-made faults: copies of generated kernels with one edit each."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
_DRAIN = r"        for _ in cutlass\.range\(AB_STAGES, unroll=1\):.*?\n(?=\n    # ---)"


def faulty(folder: Path, name: str, *edits: tuple[str, str]) -> Path:
    """A copy of `generated/<name>.py` in `folder`, each (pattern, text) put in once.

    Raises:
        AssertionError: a pattern is not in the kernel any more.
    """
    text = (ROOT / "generated" / f"{name}.py").read_text("utf-8")
    for pattern, replacement in edits:
        text, count = re.subn(pattern, replacement, text, count=1, flags=re.DOTALL)
        assert count, f"{name} has no {pattern!r}"
    path = folder / f"{name}.py"
    path.write_text(text, "utf-8")
    return path


def phase_never_flips(folder: Path) -> Path:
    return faulty(folder, "v2_pipeline", (r"phase \^= 1", "phase ^= 0"))


def producer_leaves_early(folder: Path) -> Path:
    return faulty(folder, "v3_warp_specialized", (_DRAIN, ""))


def commit_leaves_the_peer_out(folder: Path) -> Path:
    mask = r"commit\(ab_empty \+ stage, PAIR_MASK"
    return faulty(folder, "v7_two_cta", (mask, "commit(ab_empty + stage, 0b01"), (_DRAIN, ""))


def stage_restarts_with_each_tile(folder: Path) -> Path:
    wait = r"( +)(cute\.arch\.mbarrier_wait\(acc_empty \+ slot, slot_phase\)\n)"
    return faulty(folder, "v8_persistent", (wait, r"\1\2\1stage, phase = 0, 0\n"))
