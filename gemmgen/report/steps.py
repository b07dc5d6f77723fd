"""Each step of the Hopper ladder: the gain that the model predicts beside the one measured.

``python -m gemmgen.report.steps PREDICTIONS PROFILE BENCH…`` prints the tables of docs/hopper.md.
A gain within the larger of the run's A/A noise and the two kernels' spreads counts as none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Shape = tuple[int, int, int]
Json = dict[str, Any]


def steps_table(predictions: Json, profile: Json, benches: Sequence[Json], shape: Shape) -> str:
    """Markdown: a line a rung, in the order of `benches` and of the kernels' names in them.

    Args:
        predictions: what `gemmgen.run.predict` wrote.
        profile: what `gemmgen profile` wrote.
        benches: what `gemmgen bench` wrote, slow rungs first; a step is read where both are.
        shape: of all of it.
    """
    cycles = {p["kernel"]: p for p in predictions["predictions"] if tuple(p["shape"]) == shape}
    counted = {p["kernel"]: p["figures"] for p in profile["profiles"] if tuple(p["shape"]) == shape}
    lines = [
        "| rung | us | TFLOP/s | x cuBLAS | predicted | measured | noise "
        "| cycles predicted | counted |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    last = ""
    for name in (name for name in cycles if name.startswith("h") and name[1:2].isdigit()):
        if name.startswith("h200"):
            continue
        pair = [s for s in _shapes(benches, shape) if {name, last or name} <= set(s[1])]
        if not pair:
            continue
        noise, entries = pair[0]
        one = entries[name]
        gain, seen, within = _gain(cycles, entries, name, last, noise)
        count = f"{counted[name]['cycles'] / 1e3:.0f} k" if name in counted else "–"
        lines.append(
            f"| `{name}` | {one['microseconds']:.1f} | {one['tflops']:.0f} | {one['ratio']:.2f} "
            f"| {gain} | {seen} | {within} | {cycles[name]['cycles'] / 1e3:.0f} k | {count} |"
        )
        last = name
    return "\n".join(lines) + "\n"


def _shapes(benches: Sequence[Json], shape: Shape) -> list[tuple[float, Json]]:
    return [
        (found["noise"], {entry["name"]: entry for entry in found["entries"]})
        for bench in benches
        for found in bench["shapes"]
        if tuple(found["shape"]) == shape
    ]


def _gain(cycles: Json, entries: Json, name: str, last: str, noise: float) -> tuple[str, str, str]:
    if not last:
        return "", "", f"{noise:.1%}"
    predicted = cycles[last]["cycles"] / cycles[name]["cycles"] - 1
    measured = entries[last]["microseconds"] / entries[name]["microseconds"] - 1
    within = max(noise, entries[last]["spread"], entries[name]["spread"])
    seen = "none" if abs(measured) <= within else f"{measured:+.1%}"
    return f"{predicted:+.0%}", seen, f"{within:.1%}"


def main(arguments: Sequence[str]) -> None:
    """Print both tables."""
    predictions, profile, *benches = (json.loads(Path(a).read_text("utf-8")) for a in arguments)
    for shape in ((4096, 4096, 4096), (8192, 8192, 8192)):
        print(f"### {'x'.join(map(str, shape))}\n")
        print(steps_table(predictions, profile, benches, shape))


if __name__ == "__main__":
    main(sys.argv[1:])
