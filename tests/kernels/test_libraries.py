"""Every committed kernel becomes a shared library that loads, without a GPU.

pytest tests/kernels/test_libraries.py -m slow      all of them, instead of one a folder
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
import torch

from gemmgen.compile import build_file, check_library
from gemmgen.run.oracle import TORCH_DTYPE
from gemmgen.run.subject import find_kernels, read_subject

pytest.importorskip("cutlass")
tvm_ffi = pytest.importorskip("tvm_ffi")
pytestmark = pytest.mark.compile
GENERATED = Path(__file__).parents[2] / "generated"


def _kernels() -> list[object]:
    """The last kernel of each folder, which does most; the others are slow."""
    kernels = find_kernels((GENERATED,))
    last = {path.parent: path for path in kernels}
    return [
        pytest.param(
            path,
            id=path.relative_to(GENERATED).as_posix(),
            marks=() if last[path.parent] is path else pytest.mark.slow,
        )
        for path in kernels
    ]


@pytest.mark.parametrize("path", _kernels())
def test_the_library_of_a_kernel_loads_and_checks_its_arguments(path: Path, tmp_path: Path) -> None:
    import cutlass.cute as cute

    built = build_file(path, tmp_path)
    subject = read_subject(path)
    manifest = check_library(built.manifest_path, arch=subject.plan.spec.arch, source=path)
    assert (manifest.spec, manifest.spec_digest) == (subject.spec, subject.digest)
    runtime = [ctypes.CDLL(p) for p in cute.runtime.find_runtime_libraries(enable_tvm_ffi=True)]
    assert len(runtime) == 2
    gemm = tvm_ffi.load_module(str(built.library))[manifest.function]
    m, n, k = (manifest.extents[name].min for name in "mnk")
    spec = subject.plan.spec.problem
    matrices = [
        torch.zeros(rows, columns, dtype=TORCH_DTYPE[matrix.dtype])
        for rows, columns, matrix in ((m, k, spec.a), (n, k, spec.b), (m, n, spec.d))
    ]
    extra = [1] * subject.plan.persistent
    with pytest.raises(ValueError, match="expected device_type=cuda"):
        gemm(*matrices, *extra)
    with pytest.raises(TypeError, match=f"Expects {len(manifest.parameters)} parameters"):
        gemm(*matrices, *extra, 1)
