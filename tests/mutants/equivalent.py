"""Mutants that change nothing which a machine could show, and why."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from mutants.model import Mutant

FILE = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True)
class Argument:
    """One entry of ``equivalent.toml``.

    Attributes:
        kind: name of a kind.
        rungs: patterns of rung names.
        sites: patterns of sites.
        reason: why no machine could tell.
    """

    kind: str
    rungs: tuple[str, ...]
    sites: tuple[str, ...]
    reason: str

    def covers(self, mutant: Mutant) -> bool:
        """Whether it is about `mutant`."""
        return (
            mutant.kind.name == self.kind
            and any(fnmatch(mutant.rung, pattern) for pattern in self.rungs)
            and any(fnmatch(mutant.site, pattern) for pattern in self.sites)
        )


def arguments(path: Path = FILE) -> tuple[Argument, ...]:
    """Every entry of the file."""
    data = tomllib.loads(path.read_text("utf-8"))
    return tuple(
        Argument(
            kind=entry["kind"],
            rungs=tuple(entry.get("rungs", ("*",))),
            sites=tuple(entry.get("sites", ("*",))),
            reason=" ".join(entry["reason"].split()),
        )
        for entry in data.get("equivalent", ())
    )


def argued(mutant: Mutant, entries: tuple[Argument, ...]) -> Argument | None:
    """The entry about `mutant`, if there is one."""
    return next((entry for entry in entries if entry.covers(mutant)), None)
