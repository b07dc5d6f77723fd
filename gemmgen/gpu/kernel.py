"""A kernel to call with CUDA tensors: compiled from its source here, or a built library."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gemmgen.compile import Manifest, check_library
from gemmgen.gpu.device import clusters_that_fit, device_arch, require
from gemmgen.terms import Arch, Finding, GemmgenError

Check = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]


@dataclass(frozen=True)
class GpuKernel:
    """One GEMM kernel on the current device.

    Attributes:
        name: stem of its file.
        digest: digest of the resolved spec; empty for a file without one.
        origin: ``source`` or ``library``.
        check: the generated file's ``check_problem``; raises a ValueError that names the rule.
        launch: ``launch(a, b, d)`` on the caller's current stream; returns before the kernel ends.
        clusters: clusters that are resident at once; 0 for a kernel that does not ask.
    """

    name: str
    digest: str
    origin: str
    check: Check
    launch: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]
    clusters: int = 0

    def __call__(self, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
        """Compute ``d = a @ b.T`` on the current stream, or refuse before any launch."""
        self.check(a, b, d)
        with torch.cuda.device(a.device):
            self.launch(a, b, d)


def load_library(path: Path, *, source: Path | None = None) -> GpuKernel:
    """Load a library that `gemmgen build` made; `path` is the ``.so``, its manifest beside it.

    Args:
        source: the generated file that it must have been built from, as it is now.

    Raises:
        GemmgenError: C317, damaged, half-copied, stale or for another architecture than the
            device's; T410, no GPU of any architecture that gemmgen knows; T414, the TVM-FFI
            runtime is missing.
    """
    manifest = check_library(path.with_suffix(".json"), arch=device_arch(), source=source)
    require(Arch(manifest.arch))
    try:
        import tvm_ffi

        function: Any = tvm_ffi.load_module(str(path))[manifest.function]
    except (ImportError, RuntimeError, OSError) as error:
        finding = Finding(
            code="T414",
            title=f"cannot load {path.name}: {error}",
            help="install apache-tvm-ffi, and put libcute_dsl_runtime.so on LD_LIBRARY_PATH",
        )
        raise GemmgenError([finding]) from None
    clusters = 0
    if any(name == "max_active_clusters" for name, _ in manifest.parameters):
        clusters = _fit(path, manifest)

    def launch(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
        function(a, b, d, clusters) if clusters else function(a, b, d)

    check = check_of(path.with_suffix(".py"))
    return GpuKernel(path.stem, manifest.spec_digest, "library", check, launch, clusters)


def _fit(path: Path, manifest: Manifest) -> int:
    resources = manifest.resources
    return clusters_that_fit(
        path.with_suffix(".cubin"),
        manifest.kernel,
        manifest.cluster,
        resources["threads"],
        resources["dynamic_smem_bytes"],
    )


def check_of(path: Path) -> Check:
    """``check_problem`` of a generated file, without importing the file (which needs the DSL).

    Only its constants, ``UnsupportedProblem`` and ``check_problem`` are executed.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wanted = {"UnsupportedProblem", "check_problem"}
    kept: list[ast.stmt] = []
    for node in tree.body:
        constant = isinstance(node, ast.Assign) and all(
            name.id.isupper()
            for target in node.targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name)
        )
        if constant or (isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in wanted):
            kept.append(node)
    names: dict[str, Any] = {}
    exec(compile(ast.Module(kept, []), str(path), "exec"), names)
    check: Check = names.get("check_problem", _no_check)
    return check


def _no_check(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
    """For a file without a ``check_problem``: the library's own checks are all there is."""


def compile_source(path: Path, digest: str) -> GpuKernel:
    """Compile a generated file for the GPU that is here, with the DSL that is installed here.

    One compile serves all shapes.
    """
    import cuda.bindings.driver as cuda
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack

    from gemmgen.compile.source import load, read_source

    loaded = load(read_source(path))
    require(loaded.arch)
    module: Any = loaded.module
    size = getattr(module, "CLUSTER_M", 1) * getattr(module, "CLUSTER_N", 1)
    clusters = 0
    if "max_active_clusters" in loaded.parameters:
        torch.empty(1, device="cuda")  # the question needs a current CUDA context
        hardware = cutlass.utils.HardwareInfo(torch.cuda.current_device())
        clusters = hardware.get_max_active_clusters(size)
    compiled: list[Any] = []

    def launch(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
        stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        tensors = [
            from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=1) for t in (a, b, d)
        ]
        extra = [cutlass.Int32(clusters)] if clusters else []
        if not compiled:
            compiled.append(cute.compile(module.gemm, *tensors, *extra, stream))
        compiled[0](*tensors, *extra, stream)

    return GpuKernel(path.stem, digest, "source", module.check_problem, launch, clusters)
