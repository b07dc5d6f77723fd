"""Capturing the launches of host functions that do not keep the contract of generated files."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gemmgen.compile import HostFunction, capture, compile_host
from gemmgen.compile.source import load, read_source

torch = pytest.importorskip("torch")
pytest.importorskip("cutlass")
pytestmark = pytest.mark.compile


def host(path: Path) -> tuple[HostFunction, list[object]]:
    import cuda.bindings.driver as cuda
    from cutlass.cute.runtime import from_dlpack

    matrices = [torch.zeros(16, 16, dtype=torch.float16) for _ in range(3)]
    views = [from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=1) for t in matrices]
    arguments = [*views, cuda.CUstream(0)]
    return compile_host(load(read_source(path)).gemm, *arguments), arguments


def test_real_tensors_can_be_compiled_with_and_called_with(plain: Path) -> None:
    function, arguments = host(plain)
    (launch,) = capture(function, *arguments)
    assert launch.grid == (1, 16, 1)
    assert launch.ptx == function.ptx
    assert len(launch.params) == 3


def test_calls_are_independent_of_each_other(plain: Path) -> None:
    function, arguments = host(plain)
    first, second = capture(function, *arguments), capture(function, *arguments)
    assert first == second
    assert len(first) == 1


def test_a_question_without_an_answer_is_an_error_not_a_guess(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gemmgen.compile.runtime import Recorder

    def refuse(self: Recorder, identifier: int) -> int:
        raise LookupError(f"attribute {identifier}")

    function, arguments = host(plain)
    monkeypatch.setattr(Recorder, "attribute", refuse)
    with pytest.raises(LookupError, match="attribute"):
        capture(function, *arguments)


def test_scalars_arrive_in_the_entrys_order(tmp_path: Path) -> None:
    path = tmp_path / "scalars.py"
    path.write_text(
        "import cutlass\nimport cutlass.cute as cute\n"
        "@cute.kernel\n"
        "def kernel(x: cutlass.Int32, y: cutlass.Int64, z: cutlass.Float32):\n"
        "    if cutlass.Int64(x) == y:\n"
        '        cute.printf("%f", z)\n'
        "@cute.jit\n"
        "def gemm(a: cutlass.Int32, b: cutlass.Int64, d: cutlass.Float32):\n"
        "    kernel(a, b, d).launch(grid=[2, 1, 1], block=[32, 1, 1], smem=4096)\n"
    )
    import cutlass

    file = load(read_source(path))
    values = (cutlass.Int32(-5), cutlass.Int64(1 << 40), cutlass.Float32(0.5))
    (launch,) = capture(compile_host(file.gemm, *values), *values)
    assert launch.params == (struct.pack("<i", -5), struct.pack("<q", 1 << 40), b"\0\0\0\x3f")
    assert launch.smem_bytes == 4096
