"""How long `gemmgen render` takes as a user runs it: a process a spec, the imports included.

The second figure is a whole ladder, rendered and compiled (PTX, cubin, resources). Run it with
``make bench-render`` on a machine that does nothing else: the smallest time is the one to read.
Processor time (of gemmgen and of the formatter that it runs) is what a busy machine moves least.
"""

from __future__ import annotations

import os
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
            times, processor = zip(*(_seconds(*command) for _ in range(ROUNDS)), strict=True)
            print(
                f"render {spec.stem:22} least {min(times):.3f} s, median {median(times):.3f} s,"
                f" least processor time {min(processor):.3f} s"
            )
        rendered = [str(Path(folder) / f"{spec.stem}.py") for spec in specs]
        start = time.perf_counter()
        for spec, out in zip(specs, rendered, strict=True):
            _seconds("render", str(spec), "-o", out)
        _seconds("compile", *rendered)
        total = time.perf_counter() - start
    print(f"render and compile all {len(specs)}: {total:.1f} s")


def _seconds(*arguments: str) -> tuple[float, float]:
    """Wall and processor time of one gemmgen command, in seconds; a failing command ends it all."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([*GEMMGEN, *arguments], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, os.times()
    user = after.children_user - before.children_user
    return wall, user + after.children_system - before.children_system


if __name__ == "__main__":
    main()
