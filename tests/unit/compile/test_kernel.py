"""Compiling a generated file and capturing its launches."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from gemmgen.compile import CompileError, KernelUnderTest, compile_file
from gemmgen.terms import Arch

torch = pytest.importorskip("torch")
pytest.importorskip("cutlass")
pytestmark = pytest.mark.compile

Edit = Callable[..., Path]

STREAM = "d: cute.Tensor, stream: cuda.CUstream) -> None:"
PERSISTENT = (
    (STREAM, "d: cute.Tensor, max_active_clusters: cutlass.Int32, stream: cuda.CUstream) -> None:"),
    ("grid=[columns, cute.size(d, mode=[0]), 1]", "grid=[4, max_active_clusters, 1]"),
    ("stream=stream\n", "cluster=[4, 1, 1], stream=stream\n"),
)


def problem(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return tuple(torch.zeros(*shape, dtype=torch.float16) for shape in ((m, k), (n, k), (m, n)))


@pytest.fixture(scope="module")
def kernel() -> KernelUnderTest:
    return KernelUnderTest(Path(__file__).parent / "kernels" / "plain.py")


def test_ptx_and_cubin_are_for_the_architecture(kernel: KernelUnderTest) -> None:
    assert ".target sm_100a" in kernel.compiled.ptx
    assert kernel.compiled.cubin[:4] == b"\x7fELF"
    assert kernel.compiled.entry == "gemm_kernel_0"
    assert kernel.compiled.arch is Arch.SM100A


def test_one_compile_serves_every_shape_and_stride(kernel: KernelUnderTest) -> None:
    for m, n, k in ((8, 64, 16), (3, 200, 72), (1, 8, 8)):
        a, b, _ = problem(m, n, k)
        wide = torch.zeros(m, n + 24, dtype=torch.float16)[:, 8 : n + 8]
        launch = kernel.launch(a, b, wide)
        assert launch.grid == (-(-n // 64), m, 1)
        assert launch.block == (64, 1, 1)
        pointer, rows, columns, stride = struct.unpack("<QIIQ", launch.params[2])
        assert (pointer, rows, columns) == (wide.data_ptr(), m, n)
        assert m == 1 or stride == n + 24
        assert struct.unpack_from("<Q", launch.params[0])[0] == a.data_ptr()
        assert struct.unpack_from("<Q", launch.params[1])[0] == b.data_ptr()


def test_the_callers_stream_reaches_every_launch(kernel: KernelUnderTest) -> None:
    streams = [kernel.launch(*problem(8, 64, 16), stream=s).stream for s in (0, 0x5500, 0x6600)]
    assert streams == [0, 0x5500, 0x6600]


def test_a_persistent_kernel_is_told_how_many_clusters_fit(edited: Edit) -> None:
    kernel = KernelUnderTest(edited(*PERSISTENT))
    grids = [kernel.launch(*problem(8, 64, 16), sm_count=n).grid for n in (148, 9, 1)]
    assert grids == [(4, 37, 1), (4, 2, 1), (4, 1, 1)]
    assert kernel.compiled.cluster == (4, 1, 1)


def test_line_info_points_at_the_file(kernel: KernelUnderTest) -> None:
    lines = Path(kernel.path).read_text().splitlines()
    numbers = {int(n) for n in re.findall(r"\.loc\s+1 (\d+) ", kernel.compiled.ptx)}
    assert f'.file\t1 "{kernel.path}"' in kernel.compiled.ptx
    assert 1 + next(i for i, line in enumerate(lines) if "total += a[row, k]" in line) in numbers


def test_registers_agree_with_the_cubin(kernel: KernelUnderTest) -> None:
    # EIATTR_REGCOUNT, format 4 (sized value), attribute 0x2f: symbol index, registers.
    at = kernel.compiled.cubin.index(b"\x04\x2f\x08\x00")
    assert struct.unpack_from("<I", kernel.compiled.cubin, at + 8)[0] == (
        kernel.compiled.resources.registers
    )


def test_the_other_architecture_can_be_asked_for(plain: Path, edited: Edit) -> None:
    assert ".target sm_90a" in compile_file(plain, arch=Arch.SM90A).ptx
    own = compile_file(edited(("THREADS = 64", 'THREADS = 64\nARCH = "sm_90a"')))
    assert ".target sm_90a" in own.ptx


def test_a_file_rewritten_in_place_is_compiled_anew(edited: Edit) -> None:
    first = compile_file(edited())
    second = compile_file(edited(("THREADS = 64", "THREADS = 96")))
    assert first.path == second.path
    assert (first.resources.threads, second.resources.threads) == (64, 96)


def test_no_byte_code_is_left_beside_the_file(edited: Edit) -> None:
    path = edited()
    compile_file(path)
    assert list(path.parent.iterdir()) == [path]


def test_a_matrix_of_another_type_is_refused(kernel: KernelUnderTest) -> None:
    a, b, d = problem(8, 64, 16)
    for wrong in (d.float(), d.bfloat16()):
        with pytest.raises(CompileError, match="matrix d is") as caught:
            kernel.launch(a, b, wrong)
        assert caught.value.code == "C314"


def test_a_matrix_that_the_host_code_would_misread_is_refused(kernel: KernelUnderTest) -> None:
    a, b, d = problem(8, 64, 16)
    misread = {
        "rows are one and the same": a[:1].expand(8, 16),
        "not contiguous": torch.zeros(16, 8, dtype=torch.float16).t(),
        "not a 2-D array": a.reshape(1, 8, 16),
        "not aligned to 16 bytes": torch.zeros(8, 32, dtype=torch.float16)[:, 1:17],
    }
    for words, wrong in misread.items():
        with pytest.raises(CompileError, match=words) as caught:
            kernel.launch(wrong, b, d)
        assert caught.value.code == "C314"


def test_host_code_that_launches_twice_is_refused(edited: Edit) -> None:
    again = "    gemm_kernel(a, b, d).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])\n"
    columns = "    columns = cute.ceil_div(cute.size(d, mode=[1]), THREADS)\n"
    with pytest.raises(CompileError) as caught:
        compile_file(edited((columns, columns + again)))
    assert caught.value.code in ("C306", "C313")
