"""Edits of PTX, placed by opcode."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mutants.model import Expect, Kind, Layer, Make, Variant
from mutants.subjects import Rung

RUN, ORDER, NONE = Expect.RUN, Expect.ORDER, Expect.NONE


def kind(name: str, why: str, make: Make, expect: Expect = Expect.RUN) -> Kind:
    """A kind of fault in the PTX."""
    return Kind(f"ptx_{name}", Layer.PTX, why, expect, make)


def lines(edit: Callable[[str], str], pattern: str, limit: int = 99) -> Make:
    """Edit each line that matches, one a variant, of the first `limit` lines."""

    def make(rung: Rung) -> Iterator[Variant]:
        text = rung.ptx.split("\n")
        hits = [n for n, line in enumerate(text) if re.search(pattern, line)]
        for n in hits[:limit]:
            changed = edit(text[n])
            if changed != text[n]:
                yield Variant("ptx", "\n".join([*text[:n], changed, *text[n + 1 :]]))

    return make


def drop(pattern: str, limit: int = 99) -> Make:
    """Leave out each line that matches, one a variant."""
    return lines(lambda line: f"// {line.strip()}", rf"^\s*(@!?%p\d+\s+)?({pattern})", limit)


def together(pattern: str) -> Make:
    """Leave out every line that matches, all at once."""

    def make(rung: Rung) -> Iterator[Variant]:
        text = rung.ptx.split("\n")
        kept = [line for line in text if not re.match(rf"\s*({pattern})", line)]
        if kept != text:
            yield Variant("ptx", "\n".join(kept))

    return make


def sub(pattern: str, replacement: str, limit: int = 99) -> Make:
    """Rewrite each line that matches, one a variant."""
    return lines(lambda line: re.sub(pattern, replacement, line), pattern, limit)


def constant(pattern: str, change: Callable[[int], int], limit: int = 99) -> Make:
    """Change the decimal number that group 1 of `pattern` matches."""

    def edit(line: str) -> str:
        match = re.search(pattern, line)
        if match is None:
            return line
        start, stop = match.span(1)
        return line[:start] + str(change(int(match[1]))) + line[stop:]

    return lines(edit, pattern, limit)


def source_of(pattern: str, change: Callable[[int], int], limit: int = 99) -> Make:
    """Change the constant in the register that group 1 of `pattern` names, for this use only.

    The constant is moved into a register of its own, so that other uses keep theirs.
    """

    def make(rung: Rung) -> Iterator[Variant]:
        text = rung.ptx.split("\n")
        hits = [(n, m) for n, line in enumerate(text) if (m := re.search(pattern, line))]
        for n, match in hits[:limit]:
            value = _moved(text[:n], match[1])
            if value is None:
                continue
            size = {"%rs": "16", "%rd": "64"}.get(match[1][:3], "32")
            start, stop = match.span(1)
            line = text[n][:start] + "mutant" + text[n][stop:]
            new = [f"{{ .reg .b{size} mutant;", f"mov.b{size} mutant, {change(value)};", line, "}"]
            yield Variant("ptx", "\n".join([*text[:n], *new, *text[n + 1 :]]))

    return make


def unguarded(pattern: str, limit: int = 99) -> Make:
    """Leave out the branch that lets one elected lane alone reach each line that matches."""

    def make(rung: Rung) -> Iterator[Variant]:
        text = rung.ptx.split("\n")
        hits = [n for n, line in enumerate(text) if re.search(pattern, line)]
        for n in hits[:limit]:
            branch = next(m for m in range(n, 0, -1) if re.match(r"\s*@%p\d+ bra", text[m]))
            yield Variant("ptx", "\n".join([*text[:branch], *text[branch + 1 :]]))

    return make


def scoped(pattern: str, code: str, limit: int = 99) -> Make:
    """Rewrite each line that matches as `code` (with groups) in a scope of its own."""
    return lines(lambda line: "{ " + re.sub(pattern, code, line.strip()) + " }", pattern, limit)


def constant_offset(pattern: str) -> Make:
    """Add 8 to the address that follows `pattern`."""
    return lines(lambda line: re.sub(rf"({pattern}[^\]]+)\]", r"\1+8]", line), pattern)


def _moved(before: list[str], register: str) -> int | None:
    """The last constant moved into `register`."""
    for line in reversed(before):
        match = re.match(rf"\s*mov\.b\d+\s+{re.escape(register)}, (-?\d+);", line)
        if match:
            return int(match[1])
    return None
