"""Manifests of built libraries, and the libraries that must not be loaded."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from gemmgen.compile import CompileError, Manifest, check_library, read_manifest
from gemmgen.terms import Arch


@pytest.fixture
def built(tmp_path: Path) -> tuple[Path, Manifest]:
    (tmp_path / "v.so").write_bytes(b"library")
    (tmp_path / "v.py").write_text("TILE_M = 128\n")
    manifest = Manifest(
        library="v.so",
        library_sha256=hashlib.sha256(b"library").hexdigest(),
        function="gemm",
        kernel="gemm_kernel_0",
        arch="sm_90a",
        dsl_version="4.8.1",
        parameters=(("a", "tensor:Float16"), ("max_active_clusters", "int32")),
        source="v.py",
        source_sha256=hashlib.sha256(b"TILE_M = 128\n").hexdigest(),
        spec="specs/v.toml",
        spec_digest="sha256:0",
        alignment_bytes=16,
        constants={"TILE_M": 128},
        resources={"registers": 30},
    )
    manifest.write(tmp_path / "v.json")
    return tmp_path / "v.json", manifest


def refusal(path: Path, **wanted: object) -> str:
    with pytest.raises(CompileError) as caught:
        check_library(path, **wanted)  # type: ignore[arg-type]
    assert caught.value.code == "C317"
    return str(caught.value)


def test_a_manifest_survives_writing_and_reading(built: tuple[Path, Manifest]) -> None:
    path, manifest = built
    assert read_manifest(path) == manifest
    assert check_library(path, arch=Arch.SM90A, source=path.with_name("v.py")) == manifest


def test_a_library_for_another_architecture_is_refused(built: tuple[Path, Manifest]) -> None:
    text = refusal(built[0], arch=Arch.SM100A)
    assert "v.so is built for sm_90a, and the device is sm_100a" in text


def test_a_stale_library_is_refused(built: tuple[Path, Manifest]) -> None:
    source = built[0].with_name("v.py")
    source.write_text("TILE_M = 256\n")
    assert "v.so is stale" in refusal(built[0], source=source)
    source.unlink()
    assert "v.so is stale" in refusal(built[0], source=source)


def test_an_exchanged_or_missing_library_is_refused(built: tuple[Path, Manifest]) -> None:
    library = built[0].with_name("v.so")
    library.write_bytes(b"librarY")
    assert "not the library" in refusal(built[0])
    library.unlink()
    assert "v.so is not there" in refusal(built[0])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"parameters": []}', "\x00"])
def test_a_damaged_manifest_is_refused(built: tuple[Path, Manifest], text: str) -> None:
    built[0].write_text(text)
    assert "not a manifest" in refusal(built[0])


def test_a_manifest_of_another_schema_is_refused(built: tuple[Path, Manifest]) -> None:
    replace(built[1], schema=2).write(built[0])
    assert "schema 2" in refusal(built[0])
