"""Results on disk, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mutants.equivalent import argued, arguments
from mutants.model import Detector, Mutant, Outcome
from mutants.subjects import ROOT

_CODE = (
    "gemmgen/**/*.py",
    "templates/**/*.j2",
    "tests/mutants/battery.py",
    "tests/mutants/detect.py",
)


def code_digest() -> str:
    """SHA-256 over everything that decides an outcome, but for the mutant."""
    digest = hashlib.sha256()
    for pattern in _CODE:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.relative_to(ROOT).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


class Results:
    """Outcomes by mutant, in a file of JSON lines.

    Args:
        folder: where the file lies.
        keep_found: finds of earlier code count too, and so do survivors that are argued.
    """

    def __init__(self, folder: Path, *, keep_found: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "results.jsonl"
        self.code = code_digest()
        self.keep_found = keep_found
        self.arguments = arguments()
        self.known: dict[tuple[str, str], tuple[Outcome, bool]] = {}
        """Outcomes, and whether the code is today's."""
        for row in self._rows():
            key = row["rung"], row["digest"]
            self.known[key] = _outcome(row["outcome"]), row["code"] == self.code

    def _rows(self) -> Iterator[dict[str, Any]]:
        if self.path.is_file():
            for line in self.path.read_text("utf-8").splitlines():
                yield json.loads(line)

    def get(self, mutant: Mutant) -> Outcome | None:
        """What is known of `mutant`."""
        outcome, current = self.known.get((mutant.rung, mutant.digest), (None, False))
        if outcome is None or current:
            return outcome
        stays = outcome.killed or argued(mutant, self.arguments) is not None
        return outcome if self.keep_found and stays else None

    def is_current(self, mutant: Mutant) -> bool:
        """Whether what is known of `mutant` is of today's code."""
        return self.known[mutant.rung, mutant.digest][1]

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        """Remember an outcome."""
        self.known[mutant.rung, mutant.digest] = outcome, True
        row = {
            "name": mutant.name,
            "rung": mutant.rung,
            "digest": mutant.digest,
            "code": self.code,
            "outcome": dataclasses.asdict(outcome),
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def _outcome(data: dict[str, Any]) -> Outcome:
    data = data | {"detector": Detector(data["detector"]), "codes": tuple(data["codes"])}
    return Outcome(**data)
