"""The wheel is enough to render: it carries the templates, and needs no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_a_kernel_rendered_from_the_wheel_is_the_committed_one(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("gemmgen-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    folder = tmp_path / "project"
    (folder / "specs").mkdir(parents=True)
    name = "v8_persistent"
    (folder / "specs" / f"{name}.toml").write_bytes((ROOT / "specs" / f"{name}.toml").read_bytes())
    render = "import sys, gemmgen.cli as c; print(c.__file__); c.main(['render', 'v8'])"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", render], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path / "site"))
    written = (folder / "generated" / f"{name}.py").read_bytes()
    assert written == (ROOT / "generated" / f"{name}.py").read_bytes()
