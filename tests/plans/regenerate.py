"""Write the golden plans again: ``python tests/plans/regenerate.py``; then read the diff."""

from __future__ import annotations

from pathlib import Path

from gemmgen.files import write_atomic
from gemmgen.plan import describe, make_plan
from gemmgen.spec import load_spec

FOLDER = Path(__file__).parent
SPECS = FOLDER.parents[1] / "specs"


def main() -> None:
    for spec in sorted(SPECS.rglob("*.toml")):
        golden = (FOLDER / spec.relative_to(SPECS)).with_suffix(".txt")
        golden.parent.mkdir(exist_ok=True)
        write_atomic(golden, describe(make_plan(load_spec(spec))))


if __name__ == "__main__":
    main()
