"""A generated file, compiled once for all shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gemmgen.compile.arguments import call_arguments, fake_arguments, probe_arguments
from gemmgen.compile.dsl import refusals
from gemmgen.compile.errors import CompileError, failure
from gemmgen.compile.intercept import OPTIONS, HostFunction, capture, compile_host
from gemmgen.compile.launch import Launch
from gemmgen.compile.resources import (
    Resources,
    checked_allow,
    judge,
    read_resources,
    single_entry,
)
from gemmgen.compile.sass import registers_lost
from gemmgen.compile.source import LoadedFile, load, read_source
from gemmgen.terms import Arch

_PROBE_SM_COUNT = 1024


@dataclass(frozen=True)
class Compiled:
    """A compiled generated file.

    Attributes:
        path, digest: the file and the SHA-256 of its text.
        ptx: with ``.loc`` lines that point into the file.
        entry: the kernel's symbol.
        cluster: cluster shape in CTAs.
    """

    path: str
    digest: str
    arch: Arch
    entry: str
    ptx: str = field(repr=False)
    cubin: bytes = field(repr=False)
    resources: Resources
    cluster: tuple[int, int, int]


class KernelUnderTest:
    """A generated file that has been compiled and whose launches can be captured, with no GPU.

    Args:
        path: the file; it is read once.
        allow: kinds of fault to let pass: ``spill``, ``local``, ``setmaxnreg``, ``serialized``,
            ``symbol``.
        arch: default: the file's own ``ARCH``, else sm_100a.

    Raises:
        CompileError: C301 … C311, C313, C314, C316.
    """

    compiled: Compiled
    file: LoadedFile

    def __init__(
        self, path: Path | str, *, allow: Iterable[str] = (), arch: Arch | None = None
    ) -> None:
        allowed = checked_allow(allow)
        self.file = load(read_source(path), arch)
        self._host = _compile(self.file)
        entry = single_entry(self._host.ptx, self.path)
        probe = self._only(self._capture(probe_arguments(self.file), _PROBE_SM_COUNT))
        resources = read_resources(self._host.ptx, self._host.ptxas_log, entry, probe.smem_bytes)
        lost: tuple[int, ...] = ()
        if self.file.arch is Arch.SM90A:
            lost = registers_lost(self._host.ptx, self._host.cubin)
        findings = judge(resources, entry, self.path, allowed, lost)
        if findings:
            raise CompileError(findings)
        self.compiled = Compiled(
            path=self.path,
            digest=self.file.source.digest,
            arch=self.file.arch,
            entry=entry,
            ptx=self._host.ptx,
            cubin=self._host.cubin,
            resources=resources,
            cluster=probe.cluster,
        )

    @property
    def path(self) -> str:
        """The file, as it was named."""
        return self.file.source.path

    @property
    def module(self) -> Any:
        """The imported file: its constants, ``check_problem``, ``UnsupportedProblem``."""
        return self.file.module

    @property
    def check(self) -> Callable[[Any, Any, Any], None]:
        """The file's ``check_problem``; without one, every problem is let pass."""
        found: Callable[[Any, Any, Any], None] = getattr(
            self.file.module, "check_problem", lambda *_: None
        )
        return found

    def launch(self, a: Any, b: Any, d: Any, *, sm_count: int = 148, stream: int = 0) -> Launch:
        """The launch that ``gemm(a, b, d)`` makes on a device with ``sm_count`` SMs.

        ``a`` (M, K), ``b`` (N, K), ``d`` (M, N) are CPU tensors, row-major with any row stride.
        Their addresses are in the result's parameters: keep them alive. The file's
        ``check_problem`` is not called. A persistent kernel is told that ``sm_count // CTAs of a
        cluster`` clusters fit, at least one.

        Raises:
            CompileError: C313, not exactly one launch; C314, the host code fails.
        """
        return self._only(self.launches(a, b, d, sm_count=sm_count, stream=stream))

    def launches(
        self, a: Any, b: Any, d: Any, *, sm_count: int = 148, stream: int = 0
    ) -> tuple[Launch, ...]:
        """Like :meth:`launch`, for host code that may make none or several."""
        x, y, z = self.compiled.cluster
        clusters = max(1, sm_count // (x * y * z))
        with refusals(self.path, "C314"):
            arguments = call_arguments(self.file, a, b, d, clusters=clusters, stream=stream)
        return self._capture(arguments, sm_count)

    def _capture(self, arguments: list[Any], sm_count: int) -> tuple[Launch, ...]:
        with refusals(self.path, "C314"):
            return capture(self._host, *arguments, sm_count=sm_count)

    def _only(self, launches: tuple[Launch, ...]) -> Launch:
        if len(launches) != 1:
            raise failure("C313", f"`gemm` makes {len(launches)} launches, not one", file=self.path)
        return launches[0]


def compile_file(
    path: Path | str, *, allow: Iterable[str] = (), arch: Arch | None = None
) -> Compiled:
    """Compile one generated file to PTX and a cubin, and judge what it uses.

    Arguments and errors are those of :class:`KernelUnderTest`.
    """
    return KernelUnderTest(path, allow=allow, arch=arch).compiled


def _compile(file: LoadedFile) -> HostFunction:
    with refusals(file.source.path):
        return compile_host(file.gemm, *fake_arguments(file), arch=file.arch.value)


def compile_options() -> str:
    """Everything but the file and its architecture that decides what is compiled."""
    return OPTIONS
