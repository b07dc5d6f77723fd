"""The pairs of this folder: ``bad_….toml`` and the text that gemmgen prints for it, ``bad_….txt``.

``python tests/errors/error_pairs.py`` writes the texts again; then read the diff. A pair may be of
the loader (S codes) or of the plan's checks (P codes): the first layer that finds something speaks.
"""

from __future__ import annotations

import os
from pathlib import Path

from gemmgen.check import check_spec
from gemmgen.files import write_atomic
from gemmgen.spec import load_spec
from gemmgen.terms import GemmgenError

FOLDER = Path(__file__).parent
BAD_SPECS = sorted(FOLDER.glob("bad_*.toml"))


def said_of(spec: str) -> str:
    """What is printed for the file `spec` of this folder; empty where nothing is wrong."""
    try:
        load_spec(spec)
    except GemmgenError as error:
        return f"{error}\n"
    findings = check_spec(spec)
    return "\n\n".join(map(str, findings)) + "\n" if findings else ""


def main() -> None:
    os.chdir(FOLDER)
    for path in BAD_SPECS:
        write_atomic(path.with_suffix(".txt"), said_of(path.name))


if __name__ == "__main__":
    main()
