"""What a worker process of an exploration does; it keeps the file that it compiled last."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gemmgen.records import CaseRecord, ShrinkRecord
from gemmgen.run.schedules import Schedule
from gemmgen.terms import GemmgenError

if TYPE_CHECKING:
    from gemmgen.run.trial import Trial


@dataclass(frozen=True)
class Chunk:
    """Results of some schedules by index; `message` says why there are none."""

    cases: dict[int, CaseRecord] = field(default_factory=dict)
    message: str = ""


def start_worker() -> None:
    """Leave the cores to the other workers."""
    import torch

    torch.set_num_threads(1)


@lru_cache(maxsize=1)
def _trial(path: Path, allow: tuple[str, ...]) -> Trial:
    from gemmgen.run.trial import Trial

    return Trial(path, allow)


def run_chunk(path: Path, schedules: tuple[Schedule, ...], allow: tuple[str, ...]) -> Chunk:
    """Run `schedules` in turn, up to the first that fails."""
    try:
        trial = _trial(path, allow)
    except GemmgenError as error:
        return Chunk(message=str(error))
    cases = {}
    for schedule in schedules:
        cases[schedule.index] = trial.run(schedule.shape, schedule.settings)
        if cases[schedule.index].status == "failed":
            break
    return Chunk(cases)


def shrink_case(
    path: Path, schedule: Schedule, allow: tuple[str, ...], seconds: float
) -> ShrinkRecord:
    """Shrink a failing schedule."""
    from gemmgen.run.shrink import shrink

    return shrink(_trial(path, allow), schedule.shape, schedule.settings, seconds=seconds)
