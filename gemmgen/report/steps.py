"""Each step of the Hopper ladder: the gain that the model predicts beside the one measured.

``python -m gemmgen.report.steps [PREDICTIONS PROFILE BENCH…]`` prints the tables of docs/hopper.md,
without arguments those of the committed records. A gain within the larger of the run's A/A noise
and the two kernels' spreads counts as none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RECORDS = tuple(
    f"docs/records/h200_{name}.json"
    for name in ("predictions", "hopper_profile", "hopper_ladder_slow", "hopper_ladder")
)
Shape = tuple[int, int, int]
Json = dict[str, Any]


def steps_table(predictions: Json, profile: Json, benches: Sequence[Json], shape: Shape) -> str:
    """Markdown: a line a rung, and where the run changes the last rung again, in the new run.

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
    runs = _shapes(benches, shape)
    last, run = "", None
    for name in (name for name in cycles if name.startswith("h") and name[1:2].isdigit()):
        if name.startswith("h200"):
            continue
        pair = [s for s in runs if {name, last or name} <= set(s[1])]
        if not pair:
            continue
        noise, entries = pair[0]
        if run is not None and entries is not run:
            again = ("", "", f"{noise:.1%}")
            lines.append(_line(f"`{last}`, run of the rows below", entries[last], again, "", ""))
        run = entries
        count = f"{counted[name]['cycles'] / 1e3:.0f} k" if name in counted else "–"
        guess = f"{cycles[name]['cycles'] / 1e3:.0f} k"
        gain = _gain(cycles, entries, name, last, noise)
        lines.append(_line(f"`{name}`", entries[name], gain, guess, count))
        last = name
    return "\n".join(lines) + "\n"


def _line(label: str, one: Json, gain: tuple[str, str, str], guess: str, count: str) -> str:
    figures = (f"{one['microseconds']:.1f}", f"{one['tflops']:.0f}", f"{one['ratio']:.2f}")
    return f"| {' | '.join((label, *figures, *gain, guess, count))} |"


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
    """Print both tables.

    Raises:
        SystemExit: arguments are too few, or one of them cannot be read.
    """
    paths = arguments or RECORDS
    if len(paths) < 3:
        raise SystemExit("usage: python -m gemmgen.report.steps [PREDICTIONS PROFILE BENCH…]")
    try:
        documents = [json.loads(Path(path).read_text("utf-8")) for path in paths]
    except (OSError, ValueError) as error:
        where = "" if arguments else "; without arguments, run it in the root of the repository"
        raise SystemExit(f"cannot read the records: {error}{where}") from None
    predictions, profile, *benches = documents
    for shape in ((4096, 4096, 4096), (8192, 8192, 8192)):
        print(f"### {'x'.join(map(str, shape))}\n")
        print(steps_table(predictions, profile, benches, shape))


if __name__ == "__main__":
    main(sys.argv[1:])
