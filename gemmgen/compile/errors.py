"""Errors of the compile layer.

| code | what is wrong |
|---|---|
| C301 | the file is not there or cannot be read |
| C302 | it is not Python |
| C303 | importing it fails |
| C304 | it has no usable ``gemm`` |
| C305 | CuTe DSL, NVVM or ptxas refuses it |
| C306 | it does not define exactly one kernel |
| C307 | registers are spilled |
| C308 | local memory is used |
| C309 | ``setmaxnreg`` has no effect |
| C310 | the kernel's symbol contains "cutlass" |
| C311 | CuTe DSL is missing or another version than the pinned one |
| C312 | the compiler process died |
| C313 | the host function does not make exactly one launch |
| C314 | the host function fails when called |
| C315 | a shared library cannot be built |
| C316 | ptxas serializes wgmma instructions |
| C317 | a built library is damaged, stale or for another architecture |
"""

from __future__ import annotations

from gemmgen.terms import Finding, GemmgenError


class CompileError(GemmgenError):
    """A file that does not become a usable kernel."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(findings)

    @property
    def code(self) -> str:
        """Code of the first finding, such as ``C305``."""
        return self.findings[0].code

    def __reduce__(self) -> tuple[type[CompileError], tuple[list[Finding]]]:
        """Pickle by findings, so that a worker process can hand the error over whole."""
        return type(self), (self.findings,)


def failure(
    code: str, title: str, *, file: str = "", line: int = 0, source: str = "", help: str = ""
) -> CompileError:
    """A :class:`CompileError` with one finding."""
    return CompileError(
        [Finding(code=code, title=title, file=file, line=line, source=source, help=help)]
    )
