"""What a mutant is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gemmgen.plan import Plan

if TYPE_CHECKING:
    from mutants.subjects import Rung


# Of Python and of PTX, with the debug lines of the latter.
_COMMENTS = re.compile(r"^\s*(#|//|\.loc|\.file).*\n|\s+#.*$", re.MULTILINE)


class Layer(StrEnum):
    """What is mutated."""

    PLAN = "plan"
    TEXT = "text"
    PTX = "ptx"


class Expect(StrEnum):
    """The class of detector that should find a mutant, at the latest.

    ``plan``: a rule of the checker or the protocol checker, before anything is compiled.
    ``compile``: the DSL or ptxas refuses it, or the resources are judged. ``run``: the emulator, by
    a fault, a hang or a wrong result. ``order``: the emulator's rules of memory order, as values
    come out right on most machines most of the time. ``none``: nobody, as no machine could show it.
    """

    PLAN = "plan"
    COMPILE = "compile"
    RUN = "run"
    ORDER = "order"
    NONE = "none"


class Detector(StrEnum):
    """Who found a mutant, in the order in which they are asked."""

    CHECK = "check"
    PROTOCOL = "protocol"
    RENDER = "render"
    COMPILE = "compile"
    FAULT = "fault"
    HANG = "hang"
    RESULT = "result"
    NONE = "survived"
    BROKEN = "broken"


@dataclass(frozen=True)
class Variant:
    """One place where a kind applies.

    Attributes:
        site: where, for people: a region, a barrier's name.
        content: the mutated plan, kernel text or PTX.
    """

    site: str
    content: Plan | str


Make = Callable[["Rung"], Iterable[Variant]]


@dataclass(frozen=True)
class Kind:
    """One kind of fault.

    Attributes:
        name: in snake_case, unique.
        why: what goes wrong on a machine, in one line.
        expect: who finds it at the latest.
        make: its variants on a rung, none where it does not apply.
    """

    name: str
    layer: Layer
    why: str
    expect: Expect
    make: Make


@dataclass(frozen=True)
class Mutant:
    """One fault in one rung."""

    kind: Kind
    rung: str
    site: str
    content: Plan | str

    @property
    def name(self) -> str:
        """``kind@rung:site``."""
        return f"{self.kind.name}@{self.rung}:{self.site}"

    @property
    def digest(self) -> str:
        """SHA-256 of what is mutated, apart from comments and line numbers."""
        content = self.content
        text = _COMMENTS.sub("", content) if isinstance(content, str) else repr(content)
        return hashlib.sha256(f"{self.kind.layer}\n{text}".encode()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    Attributes:
        detector: who found it.
        code: of the finding or fault, empty for a wrong result.
        message: its first lines.
        run: shape and timing that found it, or what was tried.
        seconds: host time.
        codes: every code of the static detectors.
    """

    detector: Detector
    code: str = ""
    message: str = ""
    run: str = ""
    seconds: float = 0.0
    codes: tuple[str, ...] = ()

    @property
    def killed(self) -> bool:
        """Whether a detector found it."""
        return self.detector not in (Detector.NONE, Detector.BROKEN)


def mutants_of(kind: Kind, rung: Rung) -> Iterator[Mutant]:
    """Every mutant of `kind` on `rung`, the sites told apart by a number where one has several."""
    seen: dict[str, int] = {}
    for variant in kind.make(rung):
        seen[variant.site] = count = seen.get(variant.site, 0) + 1
        site = variant.site if count == 1 else f"{variant.site}#{count}"
        yield Mutant(kind, rung.name, site, variant.content)
