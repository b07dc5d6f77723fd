"""Write the golden plans again: ``python tests/plans/regenerate.py``; then read the diff."""

from __future__ import annotations

from pathlib import Path

from gemmgen.files import write_atomic
from gemmgen.plan import describe, make_plan
from gemmgen.spec import load_spec

FOLDER = Path(__file__).parent
SPECS = FOLDER.parents[1] / "specs"


def main() -> None:
    for spec in sorted(SPECS.glob("*.toml")):
        write_atomic(FOLDER / f"{spec.stem}.txt", describe(make_plan(load_spec(spec))))


if __name__ == "__main__":
    main()
