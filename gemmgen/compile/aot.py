"""Generated file -> shared library with the TVM-FFI ABI, built without a GPU."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gemmgen.compile.arguments import ALIGNMENT, aot_arguments, element_type
from gemmgen.compile.dsl import installed_version, refusals
from gemmgen.compile.errors import failure
from gemmgen.compile.extents import extents_of
from gemmgen.compile.interrupt import held_interrupts
from gemmgen.compile.kernel import KernelUnderTest
from gemmgen.compile.manifest import Manifest
from gemmgen.compile.source import LoadedFile
from gemmgen.files import write_atomic
from gemmgen.terms import Arch

FUNCTION = "gemm"
_HEADER = re.compile(r"^# (spec|digest): (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Built:
    """Paths of a built library and its manifest, and the manifest's content."""

    library: Path
    manifest_path: Path
    manifest: Manifest


def build_file(
    path: Path | str, out_dir: Path | str, *, allow: Iterable[str] = (), arch: Arch | None = None
) -> Built:
    """Build ``<out_dir>/<stem>.so`` and its manifest ``<stem>.json`` from a generated file.

    Beside them go the cubin, for questions of occupancy, and the generated file itself, for its
    ``check_problem``. The manifest is written last: a build that was cut short leaves one that
    :func:`gemmgen.compile.check_library` refuses, or none.

    The library has the function ``gemm`` (``tvm_ffi.load_module(…).gemm(a, b, d)``): tensors are
    checked for type, rank, row-major layout, alignment and matching extents, and the launch goes to
    the caller's current stream. It needs libcute_dsl_runtime.so and libtvm_ffi.so: loaded before
    it, on the library path, or in its own folder.

    Args:
        allow, arch: see :class:`gemmgen.compile.KernelUnderTest`.

    Raises:
        CompileError: what compiling raises; C315, no linker, no tvm-ffi, or linking fails.
    """
    kernel = KernelUnderTest(path, allow=allow, arch=arch)
    out = Path(out_dir)
    with tempfile.TemporaryDirectory(prefix="gemmgen-") as folder:
        compiled, libraries = _compile(kernel.file)
        shared = _link(compiled, libraries, Path(folder), kernel.path)
    library = out / f"{Path(path).stem}.so"
    manifest = _manifest(kernel, library.name, shared)
    try:
        write_atomic(library.with_suffix(".cubin"), kernel.compiled.cubin)
        write_atomic(library.with_suffix(".py"), kernel.file.source.text)
        write_atomic(library, shared)
        mode = library.stat().st_mode
        library.chmod(mode | (mode & 0o444) >> 2)
        manifest.write(library.with_suffix(".json"))
    except OSError as error:
        title = f"cannot write to {out}: {error.strerror}"
        raise failure("C315", title, file=kernel.path) from None
    return Built(library, library.with_suffix(".json"), manifest)


def _compile(file: LoadedFile) -> tuple[Any, list[str]]:
    """The function compiled for TVM-FFI, and the runtime libraries that it needs."""
    import cutlass.cute as cute

    try:
        import tvm_ffi  # noqa: F401
    except ImportError:
        raise failure(
            "C315",
            "the package apache-tvm-ffi is not installed",
            file=file.source.path,
            help="python -m pip install apache-tvm-ffi",
        ) from None
    options = f"--gpu-arch {file.arch.value} --enable-tvm-ffi"
    with refusals(file.source.path), held_interrupts():
        compiled = cute.compile(file.gemm, *aot_arguments(file), options=options)
    return compiled, cute.runtime.find_runtime_libraries(enable_tvm_ffi=True)


def _link(compiled: Any, libraries: list[str], folder: Path, path: str) -> bytes:
    linker = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
    if linker is None:
        raise failure(
            "C315", "no C compiler to link with", file=path, help="install gcc, or set CC"
        )
    compiled.export_to_c(str(folder / "gemm.o"), function_name=FUNCTION)
    command = [linker, "-shared", "-o", "gemm.so", "gemm.o", *libraries, "-Wl,-rpath,$ORIGIN"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise failure("C315", f"cannot run {linker}: {error.strerror}", file=path) from None
    if done.returncode != 0:
        raise failure(
            "C315", f"{linker} cannot link the library", file=path, source=done.stderr.strip()
        )
    return (folder / "gemm.so").read_bytes()


def _manifest(kernel: KernelUnderTest, library: str, shared: bytes) -> Manifest:
    file, compiled = kernel.file, kernel.compiled
    header = dict(_HEADER.findall(file.source.text))
    kinds = {name: f"tensor:{element_type(file, name).__name__}" for name in "abd"}
    constants = {
        name: value
        for name, value in vars(file.module).items()
        if name.isupper() and type(value) is int
    }
    return Manifest(
        library=library,
        library_bytes=len(shared),
        library_sha256=hashlib.sha256(shared).hexdigest(),
        cubin_sha256=hashlib.sha256(compiled.cubin).hexdigest(),
        function=FUNCTION,
        kernel=compiled.entry,
        arch=compiled.arch.value,
        dsl_version=installed_version() or "",
        parameters=tuple((p, kinds.get(p, "int32")) for p in file.parameters if p != "stream"),
        source=Path(kernel.path).name,
        source_sha256=compiled.digest,
        spec=header.get("spec", ""),
        spec_digest=header.get("digest", ""),
        cluster=compiled.cluster,
        alignment_bytes=ALIGNMENT,
        extents=extents_of(file),
        constants=constants,
        resources={**asdict(compiled.resources), "remarks": list(compiled.resources.remarks)},
    )
