"""File -> PTX, cubin, resource usage; and the launch that its host code makes. No GPU and no driver needed.

Any CuTe DSL kernel, whoever wrote it::

    import torch
    from cutlass.cute.runtime import from_dlpack
    from gemmgen.compile import capture, compile_host

    a, b, d = (torch.zeros(256, 128, dtype=torch.float16) for _ in range(3))   # CPU tensors
    view = lambda t: from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=1)
    compiled = compile_host(host_function, view(a), view(b), view(d), arch="sm_100a")
    (launch,) = capture(compiled, view(a), view(b), view(d), sm_count=4)
    launch.ptx, launch.entry, launch.grid, launch.params   # pointers in params are a.data_ptr() …

Importing this package costs nothing; CuTe DSL is imported on the first compile.
"""

from __future__ import annotations

from gemmgen.compile.intercept import capture, compile_host
from gemmgen.compile.errors import CompileError, Place
from gemmgen.compile.launch import Launch

__all__ = ["CompileError", "Launch", "Place", "capture", "compile_host"]
