"""One place to look a code up: what `gemmgen explain` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LAYERS = {
    "S": "a spec that cannot be read",
    "P": "a plan that no kernel can have",
    "P29": "a plan that no template prints yet",
    "R": "templates that do not fit the plan",
    "C": "a file that does not compile to a usable kernel",
    "E": "a fault of the running kernel, found by the emulator",
    "T": "something that a command cannot do",
}


@dataclass(frozen=True)
class Explanation:
    """A code and what it means.

    Attributes:
        code: letter and number, ``S102``.
        layer: what all codes with the same beginning are about.
        text: a few sentences, without line breaks.
    """

    code: str
    layer: str
    text: str


def explain(code: str) -> Explanation | None:
    """What `code` means, in either case of letters; None when there is no such code."""
    wanted = code.strip().upper()
    text = every_code().get(wanted)
    return Explanation(wanted, layer(wanted), " ".join(text.split())) if text else None


def layer(code: str) -> str:
    """What `code` is about: the longest beginning of it that `LAYERS` knows."""
    return LAYERS[max((start for start in LAYERS if code.startswith(start)), key=len)]


def every_code() -> Mapping[str, str]:
    """Every code with its text, in the order of the layers."""
    from gemmgen.check.codes import CODES as CHECK
    from gemmgen.compile.codes import CODES as COMPILE
    from gemmgen.emulate.codes import CODES as EMULATE
    from gemmgen.render.codes import CODES as RENDER
    from gemmgen.report.tools import CODES as TOOLS
    from gemmgen.spec.codes import CODES as SPEC

    return {**SPEC, **CHECK, **RENDER, **COMPILE, **EMULATE, **TOOLS}
