"""Compile CuTe DSL host functions and capture the launches that they make, with no GPU.

Works for any ``@cute.jit`` function, whoever wrote it. Four private places of the DSL are used, all
checked with nvidia-cutlass-dsl 4.8.1:

- ``Compiler.jit``, to reach the execution engine before its first lookup;
- ``CutlassBaseDSL._runtime_can_run_compiled``, which denies an engine to another architecture than
  the one found here (sm_100a without a GPU);
- ``CompilerDiagnosticSession.format_success``, to read the ptxas log instead of printing it;
- the cached property ``num_devices``, which would ask the driver.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gemmgen.compile import runtime
from gemmgen.compile.interrupt import held_interrupts
from gemmgen.compile.launch import Launch, param_sizes

COMPUTE = {"sm_90a": (9, 0), "sm_100a": (10, 0)}

# Line info adds `.loc` to the PTX and debug sections to the cubin and leaves its instructions as
# they are (measured: .text of fp16_gemm_0 for sm_100a is the same bytes with and without).
# remarks{ptx} turns on `ptxas -v` and hands its log to the diagnostics.
OPTIONS = "--generate-line-info --keep-ptx --keep-cubin remarks{ptx}"

_lock = threading.RLock()


@dataclass(frozen=True)
class HostFunction:
    """A compiled ``@cute.jit`` function that can be called without a GPU; see :func:`capture`."""

    function: Any
    arch: str
    ptx: str
    cubin: bytes
    ptxas_log: str


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextlib.contextmanager
def _intercepted() -> Iterator[list[str]]:
    """Give engines built inside the block the recording runtime; yields the ptxas logs."""
    from cutlass.base_dsl.compiler import Compiler
    from cutlass.base_dsl.diagnostics import CompilerDiagnosticSession
    from cutlass.cutlass_dsl.cutlass import CutlassBaseDSL

    original_jit = Compiler.jit
    logs: list[str] = []

    def jit(self: Any, *args: Any, **kwargs: Any) -> Any:
        engine = original_jit(self, *args, **kwargs)
        runtime.register(engine)
        return engine

    def format_success(self: Any) -> str:
        if self.collect_diagnostics:
            for remark in self._collected_diagnostics():
                logs.append(f"{remark.message}\n{remark.reason}")
        return ""

    with (
        _replaced(Compiler, "jit", jit),
        _replaced(CompilerDiagnosticSession, "format_success", format_success),
        _replaced(CutlassBaseDSL, "_runtime_can_run_compiled", lambda *_: True),
    ):
        yield logs


def compile_host(
    function: Any, *args: Any, arch: str = "sm_100a", options: str = ""
) -> HostFunction:
    """``cute.compile`` for :func:`capture`.

    ``args`` are what ``cute.compile`` takes: fake tensors or real CPU tensors, a stream, constants.
    ``options`` are added to the DSL's compile options. Errors are the DSL's own. What the traced
    code prints goes to stderr.
    """
    import cutlass.cute as cute

    with (
        _lock,
        held_interrupts(),
        tempfile.TemporaryDirectory(prefix="gemmgen-") as folder,
        contextlib.redirect_stdout(sys.stderr),
        _intercepted() as logs,
    ):
        text = f"--gpu-arch {arch} --dump-dir {folder} {OPTIONS} {options}".strip()
        compiled = cute.compile(function, *args, options=text)
    compiled.__dict__["num_devices"] = 1
    return HostFunction(
        compiled, arch, compiled.artifacts.PTX, compiled.artifacts.CUBIN, "\n".join(logs)
    )


def capture(host: HostFunction, *args: Any, sm_count: int = 148) -> tuple[Launch, ...]:
    """Call ``host`` and return the launches that it makes, in order.

    ``args`` are the run-time arguments (``cute.compile`` constants left out). Pointers in the
    launches are those of ``args``: keep the tensors alive. Of a tensor map the host code writes
    bytes 0–63 only; the rest is whatever the stack held. ``sm_count`` is what the host code sees
    when it asks the device.

    Raises what the host code raises, and ``LookupError`` for a question that has no answer without
    a device.
    """
    recorder = runtime.Recorder(
        sm_count, COMPUTE[host.arch], sizes=lambda kernel: param_sizes(host.ptx, kernel)
    )
    with held_interrupts(), runtime.recording(recorder):
        try:
            host.function(*args)
        except Exception:
            if recorder.failure is None:
                raise
        if recorder.failure is not None:
            raise recorder.failure
    return tuple(
        Launch(
            ptx=host.ptx,
            entry=raw.kernel,
            grid=raw.config.grid,
            block=raw.config.block,
            cluster=raw.config.cluster,
            smem_bytes=raw.config.smem_bytes,
            params=raw.params,
            stream=raw.config.stream,
            dependent=raw.config.dependent,
        )
        for raw in recorder.launches
    )
