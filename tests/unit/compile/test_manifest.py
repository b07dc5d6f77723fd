"""Manifests of built libraries, and the libraries that must not be loaded."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from gemmgen.compile import CompileError, Manifest, check_library, read_manifest
from gemmgen.compile.manifest import Extent
from gemmgen.terms import Arch


@pytest.fixture
def built(tmp_path: Path) -> tuple[Path, Manifest]:
    (tmp_path / "v.so").write_bytes(b"library")
    (tmp_path / "v.py").write_text("TILE_M = 128\n")
    (tmp_path / "v.cubin").write_bytes(b"cubin")
    manifest = Manifest(
        library="v.so",
        library_bytes=len(b"library"),
        library_sha256=hashlib.sha256(b"library").hexdigest(),
        cubin_sha256=hashlib.sha256(b"cubin").hexdigest(),
        function="gemm",
        kernel="gemm_kernel_0",
        arch="sm_90a",
        dsl_version="4.8.1",
        parameters=(("a", "tensor:Float16"), ("max_active_clusters", "int32")),
        source="v.py",
        source_sha256=hashlib.sha256(b"TILE_M = 128\n").hexdigest(),
        spec="specs/v.toml",
        spec_digest="sha256:0",
        cluster=(2, 1, 1),
        alignment_bytes=16,
        extents={"m": Extent(128, 128, 2**31 - 128)},
        constants={"TILE_M": 128},
        resources={"registers": 30},
    )
    manifest.write(tmp_path / "v.json")
    return tmp_path / "v.json", manifest


@pytest.fixture
def source(built: tuple[Path, Manifest], tmp_path: Path) -> Path:
    """The file that the library was built from, in a folder of its own."""
    (tmp_path / "generated").mkdir()
    path = tmp_path / "generated" / "v.py"
    path.write_text("TILE_M = 128\n")
    return path


def refusal(path: Path, **wanted: object) -> str:
    with pytest.raises(CompileError) as caught:
        check_library(path, **wanted)  # type: ignore[arg-type]
    assert caught.value.code == "C317"
    return str(caught.value)


def test_a_manifest_survives_writing_and_reading(
    built: tuple[Path, Manifest], source: Path
) -> None:
    path, manifest = built
    assert read_manifest(path) == manifest
    assert check_library(path, arch=Arch.SM90A, source=source) == manifest
    source.write_bytes(b"TILE_M = 128\r\n")
    assert check_library(path, source=source) == manifest


def test_a_library_for_another_architecture_is_refused(built: tuple[Path, Manifest]) -> None:
    text = refusal(built[0], arch=Arch.SM100A)
    assert "v.so is built for sm_90a, and the device is sm_100a" in text


def test_a_stale_library_is_refused(built: tuple[Path, Manifest], source: Path) -> None:
    source.write_text("TILE_M = 256\n")
    assert f"v.so is stale: {source} has changed" in refusal(built[0], source=source)
    source.unlink()
    assert f"v.so is stale: {source} is no longer there" in refusal(built[0], source=source)


@pytest.mark.parametrize("name", ["v.so", "v.cubin", "v.py"])
def test_a_half_copied_library_is_refused(built: tuple[Path, Manifest], name: str) -> None:
    file = built[0].with_name(name)
    file.write_bytes(file.read_bytes()[:-2])
    text = refusal(built[0])
    assert f"{name} is not the one that this manifest was written for" in text
    assert "copy the .so, .json, .cubin and .py of a library together" in text
    file.unlink()
    assert f"{name} is not there" in refusal(built[0])


def test_a_library_without_its_manifest_is_refused(built: tuple[Path, Manifest]) -> None:
    built[0].unlink()
    assert "cannot read the manifest: No such file" in refusal(built[0])


def test_a_manifest_under_another_name_is_refused(built: tuple[Path, Manifest]) -> None:
    for file in built[0].parent.glob("v.*"):
        file.rename(file.with_stem("w"))
    assert "not a manifest" in refusal(built[0].with_stem("w"))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 2}', "[" * 100_000, "\x00", "\udcff", '{"schema": NaN}']
)
def test_a_damaged_manifest_is_refused(built: tuple[Path, Manifest], text: str) -> None:
    built[0].write_bytes(text.encode("utf-8", errors="surrogateescape"))
    assert "error[C317]" in refusal(built[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"v.so"', '"../v.so"'),
        ('"sm_90a"', '"sm_12"'),
        ('"gemm"', "3"),
        ('"tensor:Float16"', '"tensor:Float16", 7'),
        ('"min": 128', '"min": "128"'),
    ],
)
def test_a_manifest_of_other_values_is_refused(
    built: tuple[Path, Manifest], old: str, new: str
) -> None:
    text = built[0].read_text()
    assert old in text
    built[0].write_text(text.replace(old, new, 1))
    assert "not a manifest" in refusal(built[0])


def test_a_manifest_of_another_schema_is_refused(built: tuple[Path, Manifest]) -> None:
    replace(built[1], schema=1).write(built[0])
    assert "schema 1, and this gemmgen reads 2" in refusal(built[0])
