"""A dependent launch without its wait, or with a late one, is found in every kind of kernel.

No committed rung of the mutated ladder is launched so: the faults are put into rungs that are.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from mutants.catalogue import kind_named
from mutants.subjects import Rung

from gemmgen.compile import KernelUnderTest
from gemmgen.emulate import Settings
from gemmgen.run.generate import Generated, generate
from gemmgen.run.options import Options
from gemmgen.run.verify import verify_file
from gemmgen.spec.override import override

pytestmark = pytest.mark.compile
SPECS = Path(__file__).parents[2] / "specs"
Shape = tuple[int, int, int]
KERNELS: dict[str, Shape] = {
    "v8_persistent": (256, 256, 128),
    "hopper/h9_persistent": (256, 256, 128),
    "v0_single_tile": (128, 256, 16),
    "v6_multicast": (256, 512, 128),
    "tirx/v1_one_tile": (128, 128, 64),
    "hopper/h1_kloop": (128, 128, 128),
}
QUICK = ("v8_persistent", "hopper/h9_persistent")
each_kernel = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in KERNELS]
)


def dependent(folder: Path, name: str) -> Generated:
    """The kernel of the spec `name` with a dependent launch, in a project of its own."""
    spec = folder / "specs" / f"{name.rpartition('/')[2]}.toml"
    spec.parent.mkdir(parents=True)
    text = (SPECS / f"{name}.toml").read_text("utf-8")
    spec.write_text(override(text, {"launch.dependent": True}), "utf-8")
    kernel = generate(spec)
    kernel.write()
    return kernel


def said_of(path: Path, shape: Shape) -> str:
    """What the emulator says of one exact problem, at the least."""
    settings = Settings(sm_count=4, races=True)
    record = verify_file(path, Options("emulate", (shape,), settings))
    return record.message + "".join(case.message for case in record.cases)


@each_kernel
@pytest.mark.parametrize("fault", ["grid_wait_dropped", "grid_wait_late"])
def test_a_wait_that_is_missing_or_late_is_found_at_the_load(tmp_path: Path, name, fault) -> None:
    kernel = dependent(tmp_path, name)
    rung = Rung(name, kernel.plan, kernel.source)
    variants = list(kind_named(fault).make(rung))
    assert variants
    for number, variant in enumerate(variants):
        assert isinstance(variant.content, str)
        broken = tmp_path / f"broken_{number}.py"
        broken.write_text(variant.content, "utf-8")
        message = said_of(broken, KERNELS[name])
        assert "error[E270]: global memory used before griddepcontrol.wait" in message
        line = re.search(r"\(\S*broken_\d\.py:(\d+)\)", message)
        assert line, message
        assert "cute.copy(" in variant.content.splitlines()[int(line[1]) - 1]


@each_kernel
def test_the_host_says_so_and_each_cta_waits_allocates_and_lets_go(tmp_path: Path, name) -> None:
    kernel = dependent(tmp_path, name)
    loaded = KernelUnderTest(kernel.target)
    m, n, k = KERNELS[name]
    assert loaded.launch(*_tensors(m, n, k)).dependent
    words = ("griddepcontrol.wait", "tcgen05.alloc", "griddepcontrol.launch_dependents")
    at = [loaded.compiled.ptx.find(f"\t{word}") for word in words]
    assert at[1] >= 0 or kernel.plan.tmem is None
    assert [place for place in at if place >= 0] == sorted(place for place in at if place >= 0)
    assert min(at[0], at[2]) > 0


def test_a_kernel_without_the_table_is_launched_in_order() -> None:
    loaded = KernelUnderTest(SPECS.parent / "generated" / "hopper" / "h3_pipeline.py")
    assert not loaded.launch(*_tensors(128, 128, 128)).dependent
    assert "griddepcontrol" not in loaded.compiled.ptx


def _tensors(m: int, n: int, k: int) -> tuple[Any, Any, Any]:
    import torch

    return tuple(torch.zeros(shape, dtype=torch.float16) for shape in ((m, k), (n, k), (m, n)))
