"""The page that walks the TIRx ladder shows every rung, and its pictures are those of its commands.

pytest tests/docs/test_ladder_tirx.py -m slow      draws all nine pictures anew
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from gemmgen.cli import main
from gemmgen.run.ladder import climb

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ladder_tirx.md").read_text(encoding="utf-8")
STEPS = climb(ROOT, "tirx")
COMMANDS = re.findall(r"^gemmgen (trace generated/tirx/\S+ .*)$", PAGE, re.MULTILINE)
LARGEST = 60_000  # bytes of a still
QUICK = "v1_one_tile"


@pytest.mark.parametrize("step", STEPS, ids=lambda step: str(step.plan.name))
def test_a_rung_has_its_step_resources_barriers_and_picture(step) -> None:
    name, spec = step.plan.name, step.plan.spec
    card = PAGE.partition(f"<!-- rung tirx/{name} -->\n")[2].partition("<!-- end rung -->")[0]
    assert f"{step.plan.threads // 32}: " in card
    assert f"= {step.plan.smem.total.value:_} bytes" in card
    assert f"= {step.plan.tmem.used.value}; " in card
    assert all(f"#   {barrier.name}" in card for barrier in step.plan.barriers)
    if step.kernel is not None:
        counts = f"{step.kernel.changed} lines changed, {step.kernel.inserted} insertions(+)"
        assert f"`gemmgen diff tirx/{spec.lineage.predecessor} tirx/{name}`: {counts}" in card
    if spec.lineage.published is not None:
        tflops = f"{spec.lineage.published.tflops:g} TFLOP/s"
        assert f"| published, not measured here | B200: {tflops} |" in card
    assert f"](img/trace_tirx_{name.partition('_')[0]}.svg)" in PAGE


@pytest.mark.parametrize("step", STEPS[1:], ids=lambda step: str(step.plan.name))
def test_a_rung_folds_the_diff_that_its_command_prints(
    step, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(rf"`gemmgen (diff \S+ tirx/{step.plan.name})`", PAGE)
    card = PAGE.partition(f"<!-- rung tirx/{step.plan.name} -->\n")[2]
    folded = card.partition("<details>")[2].partition("</details>")[0]
    assert "<!-- " not in folded
    printed = CliRunner().invoke(main, [*command.split(), "--color", "never"]).output
    kernel = printed.partition("=== kernel: ")[2].splitlines()[1:-1]
    assert kernel == folded.partition("```diff\n")[2].partition("```")[0].splitlines()
    marks = [line[0] for line in kernel]
    assert (marks.count("+"), marks.count("-")) == (step.kernel.inserted, step.kernel.deleted)


@pytest.mark.compile
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(c, id=Path(c.split()[1]).stem, marks=() if QUICK in c else pytest.mark.slow)
        for c in COMMANDS
    ],
)
def test_a_picture_is_what_its_command_draws(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    *words, still = shlex.split(command)
    result = CliRunner().invoke(main, [*words, str(tmp_path / "still.svg")])
    assert result.exit_code == 0, result.output
    drawn = (tmp_path / "still.svg").read_bytes()
    assert len(drawn) < LARGEST
    assert drawn == (ROOT / still).read_bytes(), f"stale: gemmgen {command}"


def test_every_rung_has_its_command() -> None:
    assert [command.split()[1] for command in COMMANDS] == [
        f"generated/tirx/{step.plan.name}.py" for step in STEPS
    ]
