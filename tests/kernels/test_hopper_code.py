"""Compiled Hopper kernels: no spills, no serialised wgmma, registers moved as the plan says.

The default run refuses a kernel that breaks one of these when it compiles it for test_kernels.py;
this reads all of it off the compiled output: pytest tests/kernels/test_hopper_code.py -m slow
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gemmgen.compile import compile_file
from gemmgen.compile.sass import registers_set
from gemmgen.run.generate import checked_plan

pytestmark = [pytest.mark.compile, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
LAUNCHED_WITH_ALL = {"h5_warp_specialized"}  # 256 threads: the launch gives each what mma asks for
KERNELS = sorted(p for d in ("hopper", "tuned") for p in (ROOT / "generated" / d).glob("*.py"))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_hopper_kernel_compiles_to_what_its_plan_promises(path: Path) -> None:
    roles = checked_plan(ROOT / "specs" / path.parent.name / f"{path.stem}.toml").spec.roles
    wanted = [roles.producer.registers, roles.mma.registers]
    compiled = compile_file(path)
    used = compiled.resources
    assert (used.spill_store_bytes, used.spill_load_bytes, used.local_bytes) == (0, 0, 0)
    assert not [remark for remark in used.remarks if remark.startswith(("(C7510)", "(C7508)"))]
    assert registers_set(compiled.cubin) == tuple(count for count in wanted if count is not None)
    assert "wgmma.mma_async" in compiled.ptx
    mma = roles.mma.registers
    if mma is not None:
        moves = used.registers < mma
        assert moves == (path.stem not in LAUNCHED_WITH_ALL), (used.registers, mma)
    assert compiled.ptx.count("setmaxnreg.") == len(
        [count for count in wanted if count is not None]
    )
