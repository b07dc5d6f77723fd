"""Built libraries that gemmgen loads, and those that it refuses, on a machine of any kind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from gemmgen.compile import build_file
from gemmgen.gpu import device, kernel
from gemmgen.gpu.kernel import load_library
from gemmgen.terms import Arch, GemmgenError

pytest.importorskip("cutlass")
pytest.importorskip("tvm_ffi")
pytestmark = pytest.mark.compile
SOURCE = Path(__file__).parents[3] / "generated" / "v0_single_tile.py"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_file(SOURCE, tmp_path_factory.mktemp("built")).library


@pytest.fixture
def library(built: Path, tmp_path: Path) -> Path:
    """A copy of a library for sm_100a."""
    return Path(shutil.copytree(built.parent, tmp_path / "libs")) / built.name


def pretend(monkeypatch: pytest.MonkeyPatch, arch: Arch | None) -> None:
    """Let the current device be of `arch`."""
    monkeypatch.setattr(device, "device_arch", lambda: arch)
    monkeypatch.setattr(kernel, "device_arch", lambda: arch)


def refusal(library: Path, source: Path | None = None) -> str:
    with pytest.raises(GemmgenError) as caught:
        load_library(library, source=source)
    return str(caught.value)


def test_a_library_for_another_architecture_is_refused_by_name(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, Arch.SM90A)
    text = refusal(library)
    assert "error[C317]: v0_single_tile.so is built for sm_100a, and the device is sm_90a" in text


def test_a_machine_without_a_gpu_is_named(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, None)
    assert "error[T410]: cannot run sm_100a kernels on a GPU" in refusal(library)


def test_a_stale_library_is_refused_by_name(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, Arch.SM100A)
    edited = tmp_path / SOURCE.name
    edited.write_text(SOURCE.read_text() + "# edited\n")
    assert f"error[C317]: v0_single_tile.so is stale: {edited} has changed" in refusal(
        library, edited
    )


@pytest.mark.parametrize("suffix", [".so", ".json", ".cubin", ".py"])
def test_a_half_copied_library_is_refused_by_name(
    library: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    pretend(monkeypatch, Arch.SM100A)
    file = library.with_suffix(suffix)
    file.write_bytes(file.read_bytes()[:-8])
    assert "error[C317]" in refusal(library)
    file.unlink()
    text = refusal(library)
    assert "error[C317]" in text
    assert f"v0_single_tile{suffix}" in text


def test_a_whole_library_is_loaded_and_checks_its_problem(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctypes import CDLL

    import cutlass.cute as cute

    pretend(monkeypatch, Arch.SM100A)
    loaded = [CDLL(path) for path in cute.runtime.find_runtime_libraries(enable_tvm_ffi=True)]
    gemm = load_library(library, source=SOURCE)
    assert loaded
    assert (gemm.name, gemm.origin, gemm.clusters) == ("v0_single_tile", "library", 0)
    a, b = (torch.zeros(rows, 24, dtype=torch.float16) for rows in (128, 256))
    with pytest.raises(ValueError, match="K = 24: this kernel has no loop"):
        gemm(a, b, torch.zeros(128, 256, dtype=torch.float16))
