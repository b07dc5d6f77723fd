"""Errors of the compile layer: coded, with a place and a way out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A line of a source file; ``line`` is 0 when only the file is known."""

    path: str
    line: int = 0
    text: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class CompileError(Exception):
    """A file that does not become a usable kernel.

    ``code`` is C3xx; ``title`` says what is wrong in one sentence; ``place`` names the file and line; ``help``
    says what to do. ``str()`` gives the whole text in the form that every gemmgen error has.
    """

    def __init__(
        self, code: str, title: str, *, place: Place | None = None, detail: str = "", help: str = ""
    ) -> None:
        self.code = code
        self.title = title
        self.place = place
        self.detail = detail
        self.help = help
        super().__init__(self.text())

    def text(self) -> str:
        """The error as people see it, without colour."""
        lines = [f"error[{self.code}]: {self.title}"]
        if self.place is not None:
            lines.append(f"  --> {self.place}")
            if self.place.text:
                lines.append(f"   |  {self.place.text.strip()}")
        lines += [f"   |  {line}" for line in self.detail.splitlines()]
        if self.help:
            lines.append(f"   = {self.help}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by fields, so that a worker process can hand the error over whole."""
        return _rebuild, (self.code, self.title, self.place, self.detail, self.help)


def _rebuild(code: str, title: str, place: Place | None, detail: str, help: str) -> CompileError:
    return CompileError(code, title, place=place, detail=detail, help=help)
