"""How long `gemmgen render` takes as a user runs it: a process a spec, the imports included.

The second figure is a whole ladder, rendered and compiled (PTX, cubin, resources). Run it with
``make bench-render`` on a machine that does nothing else: the smallest time is the one to read.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from gemmgen.spec.find import all_specs

ROUNDS = 9
GEMMGEN = (sys.executable, "-m", "gemmgen")


def main() -> None:
    specs = [path for path in all_specs() if path.parent.name == "specs"]
    with tempfile.TemporaryDirectory() as folder:
        for spec in specs:
            command = ("render", str(spec), "-o", str(Path(folder) / f"{spec.stem}.py"))
            times = [_seconds(*command) for _ in range(ROUNDS)]
            print(f"render {spec.stem:22} least {min(times):.2f} s, median {median(times):.2f} s")
        rendered = [str(Path(folder) / f"{spec.stem}.py") for spec in specs]
        start = time.perf_counter()
        for spec, out in zip(specs, rendered, strict=True):
            _seconds("render", str(spec), "-o", out)
        _seconds("compile", *rendered)
        total = time.perf_counter() - start
    print(f"render and compile all {len(specs)}: {total:.1f} s")


def _seconds(*arguments: str) -> float:
    """Wall time of one gemmgen command in seconds; a failing command ends the benchmark."""
    start = time.perf_counter()
    subprocess.run([*GEMMGEN, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
