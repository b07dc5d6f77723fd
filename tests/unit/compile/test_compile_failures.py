"""Files that do not become a kernel: one coded error with the file and the line, no traceback."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gemmgen.compile import CompileError, compile_file
from gemmgen.compile.source import load, read_source

pytest.importorskip("cutlass")
pytestmark = pytest.mark.compile

Edit = Callable[..., Path]

TOTAL = "total = cutlass.Float32(0)"
STORE = "d[row, column] = total.to(cutlass.Float16)"
NAME = ", remove_cutlass_symbol=True, keep_mangled_name=False"

# what to replace, with what, the code, the line and the words that the error must contain
BROKEN = [
    (TOTAL, "total = = 0", "C302", "total = = 0", "invalid syntax"),
    ("import cutlass\n", "import cutlass\nimport gone\n", "C303", "import gone", "gone"),
    ("THREADS = 64", "THREADS = 1 // 0", "C303", "THREADS = 1 // 0", "ZeroDivisionError"),
    ("THREADS = 64", "raise SystemExit(0)", "C303", "raise SystemExit(0)", "does not end"),
    ("THREADS = 64", "import cutlass.gone", "C303", "import cutlass.gone", "'gemmgen[run]'"),
    (TOTAL, "total = __import__('sys').exit(3)", "C305", "exit(3)", "SystemExit: 3"),
    ("def gemm(", "def other(", "C304", "", "no `gemm`"),
    ("@cute.jit\n", "", "C304", "", "not a @cute.jit function"),
    ("d: cute.Tensor, stream", "d: cute.Tensor, swizzle", "C304", "", "swizzle"),
    (TOTAL, "total = cutlass.Flaot32(0)", "C305", "Flaot32", "Flaot32"),
    (STORE, "d[row, column] = total", "C305", "d[row, column] = total", "Float16"),
    ("mode=[0]), 1]", "mode=[7]), 1]", "C305", "mode=[7]", "mode [7]"),
    (TOTAL, "cute.arch.setmaxregister_decrease(13)\n        " + TOTAL, "C305", "(13)", "multiple"),
    ("thread, _, _ =", "thread, _ =", "C305", "thread, _ =", "unpack"),
    (NAME, "", "C310", "", "set_name_prefix"),
]


@pytest.mark.parametrize(("old", "new", "code", "line", "words"), BROKEN)
def test_each_failure_names_its_code_place_and_cause(
    edited: Edit, old: str, new: str, code: str, line: str, words: str
) -> None:
    path = edited((old, new))
    with pytest.raises(CompileError) as caught:
        compile_file(path)
    (finding,) = caught.value.findings
    assert finding.code == code
    assert finding.file == str(path)
    assert words in str(finding)
    assert "Traceback" not in str(finding)
    assert "\x1b" not in str(finding)
    if line:
        assert line in path.read_text().splitlines()[finding.line - 1]
        assert line in finding.source


@pytest.mark.parametrize("here", [True, False])
def test_a_file_that_never_ends_is_an_error(
    edited: Edit, monkeypatch: pytest.MonkeyPatch, here: bool
) -> None:
    monkeypatch.setattr("gemmgen.compile.source.IMPORT_SECONDS", 0.5)
    path = edited(("THREADS = 64", "while True:\n    THREADS = 64"))
    caught = []

    def work() -> None:
        with pytest.raises(CompileError) as info:
            load(read_source(path))
        caught.append(info.value)

    if here:
        work()
    else:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(20)
    (error,) = caught
    assert error.code == "C303"
    assert "a loop without an end" in str(error)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        compile_file(tmp_path / "none.py")
    assert caught.value.code == "C301"


def test_binary_rubbish_is_refused(tmp_path: Path) -> None:
    for data, code in ((b"\xff\xfe\x00", "C301"), (b"x = 1\0", "C302")):
        path = tmp_path / "rubbish.py"
        path.write_bytes(data)
        with pytest.raises(CompileError) as caught:
            compile_file(path)
        assert caught.value.code == code


SPILL = """scratch = cute.make_rmem_tensor((96,), cutlass.Float32)
        for k in cutlass.range_constexpr(96):
            scratch[k] = a[row, thread + 1024 * k].to(cutlass.Float32)
        cute.arch.sync_threads()
        for n in cutlass.range(cute.size(b, mode=[1])):
            for k in cutlass.range_constexpr(96):
                scratch[k] = scratch[k] * n + scratch[(k * 7 + 1) % 96]
        total = cutlass.Float32(0)
        for k in cutlass.range_constexpr(96):
            total += scratch[k] * scratch[(k * 3) % 96]
        """
LOCAL = """scratch = cute.make_rmem_tensor((64,), cutlass.Float32)
        for k in cutlass.range_constexpr(64):
            scratch[k] = cutlass.Float32(k * k % 37) + column
        for k in cutlass.range(cute.size(a, mode=[1])):
            scratch[a[row, k].to(cutlass.Int32)] = scratch[b[row, k].to(cutlass.Int32)] + 1
        total = scratch[row]
        """
SETMAXNREG = """cute.arch.setmaxregister_decrease(40)
        """
FAULTY = [
    ("spill", [(STORE, SPILL + STORE), ("THREADS = 64", "THREADS = 1024")], "C307"),
    ("local", [(STORE, LOCAL + STORE)], "C308"),
    ("setmaxnreg", [(STORE, SETMAXNREG + STORE), ("THREADS = 64", "THREADS = 128")], "C309"),
]


@pytest.mark.parametrize(("kind", "edits", "code"), FAULTY)
def test_a_wasteful_kernel_fails_unless_allowed_by_name(
    edited: Edit, kind: str, edits: list[tuple[str, str]], code: str
) -> None:
    path = edited(*edits)
    with pytest.raises(CompileError) as caught:
        compile_file(path)
    assert [finding.code for finding in caught.value.findings] == [code]
    assert compile_file(path, allow=[kind]).resources.registers > 0


def test_setmaxnreg_with_min_blocks_has_its_effect(edited: Edit) -> None:
    path = edited(
        (STORE, SETMAXNREG + STORE),
        ("THREADS = 64", "THREADS = 128"),
        ("stream=stream\n", "stream=stream, min_blocks_per_mp=1\n"),
    )
    assert compile_file(path).resources.remarks == ()


def test_a_good_file_compiles_after_bad_ones(edited: Edit, plain: Path) -> None:
    before = compile_file(plain).ptx
    for old, new, *_ in BROKEN[6:9]:
        with pytest.raises(CompileError):
            compile_file(edited((old, new)))
    assert compile_file(plain).ptx == before
