"""Keeping what fuzzing finds: the spec of each fault, and how to see it again."""

from __future__ import annotations

from pathlib import Path

from fuzz.draw import Drawn
from fuzz.trial import Outcome
from gemmgen.files import write_atomic

KEPT = 3  # specs of what is most likely one fault


class Store:
    """Faults, by what they are.

    Each is a small project of its own, ``<folder>/<n>_<kind>/specs/<name>.toml`` and a
    ``README.txt`` with the commands that show it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: dict[tuple[str, str, str], int] = {}
        self.kept: list[Path] = []

    def add(self, drawn: Drawn, outcome: Outcome, seed: int) -> Path | None:
        """Keep a fault; None when there are enough of its like already."""
        count = self.counts[outcome.signature] = self.counts.get(outcome.signature, 0) + 1
        if count > KEPT:
            return None
        number = 1 + sum(1 for path in self.folder.glob("*_*") if path.is_dir())
        place = self.folder / f"{number:03d}_{outcome.kind}"
        name = drawn.base.rpartition("/")[2]
        write_atomic(place / "specs" / f"{name}.toml", outcome.text)
        write_atomic(place / "README.txt", self._words(place, name, drawn, outcome, seed))
        self.kept.append(place)
        return place

    @staticmethod
    def _words(place: Path, name: str, drawn: Drawn, outcome: Outcome, seed: int) -> str:
        commands = [f"cd {place}", f"gemmgen check specs/{name}.toml"]
        commands += [f"gemmgen render specs/{name}.toml"]
        commands += [outcome.command] if outcome.command else []
        return "\n".join(
            [
                f"{outcome.kind} {outcome.code}: {drawn}",
                f"drawn by seed {seed}: {drawn.policy} timing, {drawn.seed=}, {drawn.pick=}",
                "",
                *commands,
                "",
                outcome.message,
                "",
            ]
        )
