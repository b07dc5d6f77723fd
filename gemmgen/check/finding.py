"""How a rule says what is wrong."""

from __future__ import annotations

from gemmgen.terms import Finding


def fault(code: str, title: str, key: str, source: str = "", *, help: str) -> Finding:
    """A finding of the checker: `source` is the arithmetic that failed, `help` the way out.

    File and line are filled in by `gemmgen.spec.Source.place_all`.
    """
    return Finding(code, title, key=key, source=source, help=help)
