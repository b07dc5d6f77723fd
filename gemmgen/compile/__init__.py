"""File -> PTX, cubin, resource usage, and the launch that its host code makes. Needs no GPU.

A generated file, compiled once for all shapes::

    kernel = KernelUnderTest("generated/v8_persistent.py")
    kernel.compiled.resources                    # registers, spills, shared memory, TMEM columns
    launch = kernel.launch(a, b, d, sm_count=4)  # CPU tensors; its pointers are theirs

Many files, in parallel, as they finish::

    for outcome in compile_paths(Path("generated").glob("*.py")):
        outcome.path, outcome.compiled or outcome.error

Any CuTe DSL kernel, whoever wrote it::

    import torch
    from cutlass.cute.runtime import from_dlpack

    a, b, d = (torch.zeros(256, 128, dtype=torch.float16) for _ in range(3))
    view = lambda t: from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=1)
    host = compile_host(host_function, view(a), view(b), view(d), arch="sm_100a")
    (launch,) = capture(host, view(a), view(b), view(d), sm_count=4)

Importing this package costs nothing; CuTe DSL is imported on the first compile.
"""

from __future__ import annotations

from gemmgen.compile.aot import Built, build_file
from gemmgen.compile.errors import CompileError
from gemmgen.compile.intercept import HostFunction, capture, compile_host
from gemmgen.compile.kernel import Compiled, KernelUnderTest, compile_file
from gemmgen.compile.launch import Launch
from gemmgen.compile.manifest import Manifest, check_library, read_manifest
from gemmgen.compile.pool import Outcome, compile_paths
from gemmgen.compile.resources import Resources

__all__ = [
    "Built",
    "CompileError",
    "Compiled",
    "HostFunction",
    "KernelUnderTest",
    "Launch",
    "Manifest",
    "Outcome",
    "Resources",
    "build_file",
    "capture",
    "check_library",
    "compile_file",
    "compile_host",
    "compile_paths",
    "read_manifest",
]
