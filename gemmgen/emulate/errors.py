"""Errors of an emulated run: each has a code, the PTX line and, where known, the source line.

Codes E200-E229 belong to the engine and its core opcodes, E230-E259 to TMA, tensor cores and TMEM.
"""

from __future__ import annotations

from dataclasses import dataclass

TITLES = {
    "E201": "deadlock",
    "E202": "livelock",
    "E203": "unknown opcode",
    "E204": "global access out of bounds",
    "E205": "shared access out of bounds",
    "E206": "misaligned access",
    "E207": "uninitialised shared memory read",
    "E208": "mbarrier used before its init",
    "E209": "more arrivals than an mbarrier expects",
    "E210": "mbarrier transaction count out of range",
    "E211": "access to a CTA that has exited",
    "E212": "write to a read-only buffer",
    "E213": "operand differs between lanes",
    "E215": "PTX cannot be read",
    "E216": "mbarrier initialised while in use",
    "E217": "launch is not valid",
    "E218": "instruction limit reached",
    "E219": "named barrier misused",
    "E221": "trap",
    "E222": "generic access to an mbarrier",
    "E223": "phase of an mbarrier missed by a wait",
    "E224": "setmaxnreg misused",
    "E267": "arrival or wait with the wrong scope",
}


@dataclass(frozen=True)
class Place:
    """Where an instruction stands: its line in the PTX (from 1), its text, and the source line
    behind it.
    """

    ptx_line: int
    ptx_text: str
    source: str = ""

    def __str__(self) -> str:
        source = f"  ({self.source})" if self.source else ""
        return f"PTX line {self.ptx_line}: {self.ptx_text}{source}"


@dataclass(frozen=True, slots=True)
class Earlier:
    """What came before a faulty instruction and clashes with it: its name, who did it (CTA and
    warp) and where it stands.
    """

    what: str
    by: str
    place: Place | None = None

    def __str__(self) -> str:
        text = f"{self.what} by {self.by}" if self.by else self.what
        return text if self.place is None else f"{text}\n    {self.place}"


class EmulationError(Exception):
    """A fault of the emulated kernel, or PTX that the emulator cannot run.

    ``detail`` says what happened with its figures, ``where`` which CTA, warp and lanes did it.
    The engine fills ``place`` and ``where`` in for errors that an opcode raises without them.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        place: Place | None = None,
        where: str = "",
        title: str = "",
    ) -> None:
        super().__init__(code, detail)
        self.code = code
        self.title = title or TITLES.get(code, "fault")
        self.detail = detail
        self.place = place
        self.where = where

    def after(self, first: Earlier | None, missing: str) -> EmulationError:
        """Add to the detail what came first, and the edge that is missing between the two, as
        the findings about races do; an error that has them keeps those. Returns itself.
        """
        if "\n  missing: " in self.detail:
            return self
        earlier = "" if first is None else f"\n  first: {first}"
        self.detail = f"{self.detail}{earlier}\n  missing: {missing}"
        return self

    @property
    def ptx_line(self) -> int | None:
        """Line of the PTX text, from 1."""
        return self.place.ptx_line if self.place else None

    @property
    def source(self) -> str:
        """``file:line`` of the kernel source, or an empty string."""
        return self.place.source if self.place else ""

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.title}: {self.detail}"]
        if self.where:
            lines.append(f"  by {self.where}")
        if self.place:
            lines.append(f"  at {self.place}")
        return "\n".join(lines)


class Hang(EmulationError):  # noqa: N818 (the word that people use)
    """Nothing can run any more (E201, or E224 where a skipped setmaxnreg is found then), or warps
    spin without any progress (E202).
    """

    def __init__(self, code: str, detail: str, table: str) -> None:
        super().__init__(code, detail)
        self._table = table

    def table(self) -> str:
        """One row for each blocked warp: where it stands, what it waits for, and what is
        missing.
        """
        return self._table

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self._table}"
