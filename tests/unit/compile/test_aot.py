"""Building shared libraries without a GPU."""

from __future__ import annotations

import builtins
import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gemmgen.compile import CompileError, build_file, check_library
from gemmgen.terms import Arch

pytest.importorskip("cutlass")
pytestmark = pytest.mark.compile


def test_a_missing_tvm_ffi_is_named(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "tvm_ffi":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(CompileError, match="pip install apache-tvm-ffi") as caught:
        build_file(plain, tmp_path)
    assert caught.value.code == "C315"
    assert list(tmp_path.iterdir()) == []


def test_a_failing_linker_is_reported_with_its_words(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tvm_ffi")
    linker = tmp_path / "ld"
    linker.write_text("#!/bin/sh\necho no room on device >&2\nexit 1\n")
    linker.chmod(0o755)
    out = tmp_path / "out"
    for command, words in ((str(linker), "no room on device"), ("/none/cc", "cannot run /none/cc")):
        monkeypatch.setenv("CC", command)
        with pytest.raises(CompileError, match=words) as caught:
            build_file(plain, out)
        assert caught.value.code == "C315"
        assert not out.exists()


def test_a_built_library_loads_and_checks_its_tensors(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    torch = pytest.importorskip("torch")
    import cutlass.cute as cute

    path = edited(("THREADS = 64", "THREADS = 96"), name="wide.py")
    path.write_text("# spec: specs/wide.toml\n# digest: sha256:12ab\n" + path.read_text())
    built = build_file(path, tmp_path / "out", arch=Arch.SM90A)
    manifest = check_library(built.manifest_path, arch=Arch.SM90A, source=path)
    assert manifest == built.manifest
    assert (manifest.spec, manifest.spec_digest) == ("specs/wide.toml", "sha256:12ab")
    assert manifest.constants == {"THREADS": 96}
    assert [name for name, _ in manifest.parameters] == ["a", "b", "d"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        f"wide.{suffix}" for suffix in ("cubin", "json", "py", "so")
    ]
    libraries = [ctypes.CDLL(p) for p in cute.runtime.find_runtime_libraries(enable_tvm_ffi=True)]
    gemm = tvm_ffi.load_module(str(built.library)).gemm
    with pytest.raises(ValueError, match="expected device_type=cuda"):
        gemm(*(torch.zeros(16, 16, dtype=torch.float16) for _ in "abd"))
    assert libraries
