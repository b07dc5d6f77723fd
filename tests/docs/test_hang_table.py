"""The README's hang is what the same edit gives now."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RIGHT, WRONG = "commit(ab_empty + stage, PAIR_MASK", "commit(ab_empty + stage, 0b01"


@pytest.mark.compile
def test_the_readme_shows_the_hang_of_a_commit_that_names_one_cta(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = readme.partition("```\nFAILED v7_broken.py")[2].partition("\n```")[0].splitlines()
    source = (ROOT / "generated/v7_two_cta.py").read_text("utf-8")
    assert source.count(RIGHT) == 1
    folder = tmp_path / "generated"
    folder.mkdir()
    (folder / "v7_broken.py").write_text(source.replace(RIGHT, WRONG))
    shutil.copy(ROOT / "specs/v7_two_cta.toml", folder)
    command = ["test", "generated/v7_broken.py", "--shape", "256,256,1024", "--runner", "emulate"]
    done = subprocess.run(
        [sys.executable, "-m", "gemmgen", *command],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    told = done.stderr.partition("FAILED v7_broken.py")[2].splitlines()
    assert [line.rstrip() for line in told[: len(shown)]] == [line.rstrip() for line in shown]
