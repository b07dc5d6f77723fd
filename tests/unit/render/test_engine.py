"""The render engine: faults in templates are coded errors, nothing is guessed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gemmgen.plan import make_plan
from gemmgen.render.engine import render, templates_folder
from gemmgen.spec import load_spec
from gemmgen.terms import GemmgenError

ROOT = Path(__file__).parents[3]
SPEC = ROOT / "specs" / "v8_persistent.toml"


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    copy = tmp_path / "templates"
    shutil.copytree(templates_folder(), copy)
    return copy


def _render(templates: Path) -> str:
    return render(make_plan(load_spec(SPEC)), spec_path="specs/x.toml", templates=templates)


def test_a_name_that_the_plan_does_not_have_is_refused(templates: Path) -> None:
    (templates / "sm100" / "next_slot.j2").write_text("slot += {{ no_such_fact }}\n")
    with pytest.raises(GemmgenError, match="no_such_fact") as caught:
        _render(templates)
    assert caught.value.findings[0].code == "R301"


def test_a_jinja_fault_is_reported_with_its_template_and_line(templates: Path) -> None:
    (templates / "sm100" / "next_slot.j2").write_text("a = 1\n{% if %}\n")
    with pytest.raises(GemmgenError) as caught:
        _render(templates)
    finding = caught.value.findings[0]
    assert (finding.code, finding.line) == ("R301", 2)
    assert finding.file.endswith("next_slot.j2")


def test_output_that_is_not_python_is_refused(templates: Path) -> None:
    (templates / "sm100" / "next_slot.j2").write_text("slot +=\n")
    with pytest.raises(GemmgenError) as caught:
        _render(templates)
    assert caught.value.findings[0].code == "R302"


def test_rendering_imports_neither_torch_nor_cutlass() -> None:
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from gemmgen.cli import main\n"
        f"result = CliRunner().invoke(main, ['render', {str(SPEC)!r}, '--stdout'])\n"
        "assert result.exit_code == 0, result.output\n"
        "assert 'gemm_kernel' in result.output\n"
        "bad = {'torch', 'cutlass', 'cuda'} & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
