"""Compile CuTe DSL host functions and capture the launches that they make, with no GPU and no driver."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gemmgen.compile import runtime
from gemmgen.compile.launch import Launch, param_sizes

COMPUTE = {"sm_90a": (9, 0), "sm_100a": (10, 0)}


@contextmanager
def _intercepted() -> Iterator[None]:
    """Give every execution engine built inside the block the recording runtime."""
    from cutlass.base_dsl.compiler import Compiler

    original = Compiler.jit

    def jit(self: Any, *args: Any, **kwargs: Any) -> Any:
        engine = original(self, *args, **kwargs)
        runtime.register(engine)
        return engine

    Compiler.jit = jit
    try:
        yield
    finally:
        Compiler.jit = original


def compile_host(function: Any, *args: Any, arch: str = "sm_100a", options: str = "") -> Any:
    """``cute.compile`` for capture: returns the compiled function, its PTX and cubin in ``.artifacts``.

    ``args`` are what ``cute.compile`` takes (fake or real CPU tensors, a stream). Errors are the DSL's own.
    """
    import cutlass.cute as cute

    with tempfile.TemporaryDirectory(prefix="gemmgen-") as folder, _intercepted():
        keep = f"--gpu-arch {arch} --keep-ptx --keep-cubin --dump-dir {folder}"
        compiled = cute.compile(function, *args, options=f"{keep} {options}".strip())
    compiled.__dict__["num_devices"] = 1  # a cached property that would ask the driver
    return compiled


def capture(
    compiled: Any, *args: Any, sm_count: int = 148, arch: str = "sm_100a"
) -> tuple[Launch, ...]:
    """Call ``compiled`` (from :func:`compile_host`) and return the launches that it makes, in order.

    Pointers in the launches are those of ``args``. ``sm_count`` is what the host code sees when it asks the
    device. Raises what the host code raises; a question that the recording runtime cannot answer is raised as
    ``LookupError``.
    """
    ptx = compiled.artifacts.PTX
    recorder = runtime.Recorder(
        sm_count, COMPUTE[arch], sizes=lambda kernel: param_sizes(ptx, kernel)
    )
    with runtime.recording(recorder):
        try:
            compiled(*args)
        except Exception:
            if recorder.failure is None:
                raise
        if recorder.failure is not None:
            raise recorder.failure
    return tuple(
        Launch(
            ptx=ptx,
            entry=raw.kernel,
            grid=raw.config.grid,
            block=raw.config.block,
            cluster=raw.config.cluster,
            smem_bytes=raw.config.smem_bytes,
            params=raw.params,
            stream=raw.config.stream,
        )
        for raw in recorder.launches
    )
