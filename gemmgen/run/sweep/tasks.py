"""Building and verifying one combination, as work for an executor: bytes in, bytes out."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gemmgen.run.sweep.state import KERNELS, SPECS
from gemmgen.terms import GemmgenError

if TYPE_CHECKING:
    from gemmgen.plan import Plan

SUFFIXES = (".so", ".json", ".cubin", ".py")


@dataclass(frozen=True)
class Kernel:
    """A rendered combination."""

    name: str
    spec: str
    source: str

    def write(self, folder: Path) -> Path:
        """Lay it out as a project in `folder`; the path of the kernel."""
        for inside, text in (
            (f"{SPECS}/{self.name}.toml", self.spec),
            (f"{KERNELS}/{self.name}.py", self.source),
        ):
            path = folder / inside
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder / KERNELS / f"{self.name}.py"


@dataclass(frozen=True)
class BuildResult:
    """The files of a library by suffix, or why there are none."""

    files: dict[str, bytes] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    code: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Verified:
    """``passed`` or ``failed``, how many cases, and what went wrong."""

    status: str
    cases: int
    message: str = ""


def build(kernel: Kernel) -> BuildResult:
    """Build the library of `kernel`."""
    from gemmgen.compile import build_file

    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="gemmgen-") as name:
        folder = Path(name)
        path = kernel.write(folder)
        try:
            built = build_file(path, folder / "built")
        except GemmgenError as error:
            first = error.findings[0]
            seconds = time.perf_counter() - begin
            return BuildResult({}, {}, seconds, first.code, f"{first.code} {first.title}")
        files = {suffix: built.library.with_suffix(suffix).read_bytes() for suffix in SUFFIXES}
    resources = {key: value for key, value in asdict(built.manifest)["resources"].items() if value}
    return BuildResult(files, resources, time.perf_counter() - begin)


def verify_quick(kernel: Kernel) -> Verified:
    """Run `kernel` in the emulator at a few small shapes, and compare with torch."""
    return _verify(kernel, quick=True)


def verify_full(kernel: Kernel) -> Verified:
    """Run `kernel` in the emulator at all of its default shapes, and compare with torch."""
    return _verify(kernel, quick=False)


def _verify(kernel: Kernel, *, quick: bool) -> Verified:
    import torch

    from gemmgen.run.options import Options
    from gemmgen.run.subject import read_subject
    from gemmgen.run.verify import verify_file

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="gemmgen-") as name:
        path = kernel.write(Path(name))
        shapes = few_shapes(read_subject(path).plan) if quick else ()
        record = verify_file(path, Options(runner="emulate", shapes=shapes))
    status = "passed" if record.status == "passed" else "failed"
    messages = (record.message, *(case.message for case in record.cases))
    return Verified(status, len(record.cases), next(filter(None, messages), ""))


def few_shapes(plan: Plan, sm_count: int = 8) -> tuple[tuple[int, int, int], ...]:
    """Two of the default shapes: one whose ring wraps twice, and the largest grid."""
    from gemmgen.plan import default_shapes

    shapes = [(shape.m, shape.n, shape.k) for shape in default_shapes(plan, sm_count)]
    longest = max(shapes, key=lambda shape: shape[2])
    widest = max(shapes, key=lambda shape: shape[0] * shape[1])
    return tuple(dict.fromkeys((longest, widest)))


def read_kernel(folder: Path, name: str) -> Kernel:
    """The combination called `name`, as it was written into `folder`."""
    spec = (folder / SPECS / f"{name}.toml").read_text(encoding="utf-8")
    source = (folder / KERNELS / f"{name}.py").read_text(encoding="utf-8")
    return Kernel(name, spec, source)


def read_files(folder: Path, name: str) -> Mapping[str, bytes]:
    """The files of a built library by suffix."""
    return {suffix: (folder / f"{name}{suffix}").read_bytes() for suffix in SUFFIXES}
