"""The C++ example is built, runs a library, and says what is wrong, on a machine without a GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gemmgen.compile import build_file

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MANIFEST = {
    "schema": 2,
    "function": "gemm",
    "arch": "sm_90a",
    "cluster": [2, 1, 1],
    "parameters": [[name, ""] for name in ("a", "b", "d", "max_active_clusters")],
    "extents": {
        "m": {"min": 2, "step": 2, "max": 64},
        "n": {"min": 1, "step": 1, "max": 4096},
        "k": {"min": 8, "step": 8, "max": 8},
    },
}

pytest.importorskip("tvm_ffi")
pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(not shutil.which("g++"), reason="no g++"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as its Makefile builds it: no warning, no CUDA header."""
    folder = tmp_path_factory.mktemp("cpp")
    shutil.copytree(ROOT / "examples" / "cpp", folder, dirs_exist_ok=True)
    command = ["make", f"PYTHON={sys.executable}", "CXX=g++ -Werror"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "gemm"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a libcuda.so.1 whose devices are made up."""
    folder = tmp_path_factory.mktemp("driver")
    command = ["gcc", "-shared", "-fPIC", str(HERE / "driver.c"), "-o", folder / "libcuda.so.1"]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that multiplies on the host, with a manifest that the example reads."""
    import tvm_ffi.libinfo as paths

    out = tmp_path_factory.mktemp("library") / "host.so"
    command = [
        "g++",
        "-std=c++17",
        "-O1",
        "-shared",
        "-fPIC",
        "-isystem",
        paths.find_include_path(),
    ]
    command += ["-isystem", paths.find_dlpack_include_path(), str(HERE / "library.cpp")]
    subprocess.run([*command, "-o", out, paths.find_libtvm_ffi()], check=True)
    manifest = json.dumps(MANIFEST | {"library_bytes": out.stat().st_size})
    out.with_suffix(".json").write_text(manifest)
    return out


def run(program: Path, *arguments: object, path: Path | None = None, **environment: str):
    search = {"LD_LIBRARY_PATH": str(path)} if path else {}
    done = subprocess.run(
        [program, *map(str, arguments)],
        env={**os.environ, **search, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def test_it_multiplies_on_the_callers_stream(program: Path, library: Path, driver: Path) -> None:
    status, text = run(program, library, 6, 5, 8, path=driver, FAKE_GPU="90")
    assert text == f"{library} on sm_90a: all 30 elements are right\n"
    assert status == 0


def test_a_wrong_element_is_found(program: Path, library: Path, driver: Path) -> None:
    fault = {"FAKE_GPU": "90", "FAKE_FAULT": "1"}
    assert run(program, library, 4, 8, 8, path=driver, **fault) == (1, "D[3, 7] is wrong\n")


def test_a_library_for_another_architecture_is_refused(
    program: Path, library: Path, driver: Path
) -> None:
    status, text = run(program, library, 2, 2, 8, path=driver, FAKE_GPU="100")
    assert (status, text) == (1, f"{library} is built for sm_90a, not sm_100a\n")


def test_a_machine_without_a_gpu_is_told_so(program: Path, library: Path, driver: Path) -> None:
    assert run(program, library, 2, 2, 8, path=driver) == (
        3,
        "no GPU here: the CUDA driver finds none\n",
    )


def test_a_size_that_the_kernel_does_not_take_is_refused(program: Path, library: Path) -> None:
    for m in (3, 66):
        words = f"m = {m}: this kernel takes 2 to 64 in steps of 2\n"
        assert run(program, library, m, 2, 8) == (1, words)
    words = "k = 16: this kernel takes only 8\n"
    assert run(program, library, 2, 2, 16) == (1, words)
    for word in ("x", "0", "-1", "4097", "2x", "99999999999999999999"):
        assert run(program, library, 2, word, 2) == (2, f"{word}: M, N and K are from 1 to 4096\n")
    assert run(program) == (2, "usage: gemm LIBRARY.so M N K\n")


def test_a_half_copied_library_is_refused(program: Path, library: Path, tmp_path: Path) -> None:
    copy, manifest = tmp_path / "host.so", tmp_path / "host.json"
    copy.write_bytes(library.read_bytes()[:-1])
    assert run(program, copy, 2, 2, 8)[1].startswith(f"no manifest at {manifest}")
    shutil.copy(library.with_suffix(".json"), manifest)
    assert run(program, copy, 2, 2, 8)[1].startswith(f"{copy} is not there whole")
    manifest.write_text("[")
    assert run(program, copy, 2, 2, 8)[0] == 1
    manifest.write_text('{"schema": 1}')
    assert run(program, copy, 2, 2, 8) == (1, f"{manifest}: not schema 2\n")


def test_a_real_library_loads_and_waits_for_a_gpu(program: Path, tmp_path: Path) -> None:
    pytest.importorskip("cutlass")
    import cutlass.cute as cute

    built = build_file(ROOT / "generated" / "v0_single_tile.py", tmp_path)
    shape = [built.manifest.extents[name].min for name in "mnk"]
    status, text = run(program, built.library, *shape)
    assert status == 1
    assert "libcute_dsl_runtime.so: cannot open shared object file" in text
    runtime = Path(cute.runtime.find_runtime_libraries(enable_tvm_ffi=True)[0]).parent
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    status, text = run(program, built.library, *shape, path=runtime, **hidden)
    assert status == 3
    assert text.startswith("no GPU here: ")
