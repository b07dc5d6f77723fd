"""Stand-ins for the machines of a sweep."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gemmgen.run.sweep.measure import Batch, Measured
from gemmgen.run.sweep.state import Sweep
from gemmgen.run.sweep.tasks import SUFFIXES, BuildResult, Kernel, Verified

SPEC = Path(__file__).parents[3] / "specs" / "hopper" / "h8_tma_store.toml"


class Here:
    """An executor in this process."""

    def each(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        return ((index, work(item)) for index, item in enumerate(items))

    def each_on_gpu(
        self, work: Callable[[Any, str], Any], items: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        return ((index, work(item, "0")) for index, item in enumerate(items))

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None: ...


def fake_build(kernel: Kernel) -> BuildResult:
    """Files that say who they are, and a manifest that fits them."""
    import hashlib
    from dataclasses import asdict

    from gemmgen.compile.manifest import Manifest

    def sha(data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()

    library, cubin, source = b"so", b"cubin", kernel.source.encode()
    manifest = Manifest(
        library=f"{kernel.name}.so",
        library_bytes=2,
        library_sha256=sha(library),
        cubin_sha256=sha(cubin),
        function="gemm",
        kernel="gemm_kernel",
        arch="sm_90a",
        dsl_version="",
        parameters=(),
        source=f"{kernel.name}.py",
        source_sha256=sha(source),
        spec="",
        spec_digest="",
        cluster=(1, 1, 1),
        alignment_bytes=16,
    )
    contents = (library, json.dumps(asdict(manifest)).encode(), cubin, source)
    resources = {"registers": 168, "dynamic_smem_bytes": 1 << 17}
    return BuildResult(dict(zip(SUFFIXES, contents, strict=True)), resources, 0.5)


def slow_build(kernel: Kernel) -> BuildResult:
    """A build that takes a while and is written down outside of the sweep."""
    time.sleep(0.1)
    with Path(os.environ["BUILD_LOG"]).open("a") as log:
        log.write(f"{kernel.name}\n")
    return fake_build(kernel)


class Timer:
    """A GPU with made-up times: microseconds by value of the first swept key."""

    def __init__(self, state: Sweep, microseconds: dict[Any, float], spread: float = 0.001) -> None:
        self.values = {point.name: next(iter(point.values.values())) for point in state.points}
        self.microseconds, self.spread = microseconds, spread
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, batch: Batch, device: str = "") -> Measured:
        names = tuple(kernel.name for kernel, _ in batch.kernels)
        self.calls.append(names)
        drift = 1.0 + 0.1 * len(self.calls)  # a card that gets slower from batch to batch
        out = Measured(device={"name": "made up"})
        out.verified = {name: Verified("passed", 4) for name in names}
        times = {name: self.microseconds[self.values[name]] for name in names}
        for shape in batch.shapes:
            entries = [self._entry(n, t, drift) for n, t in {**times, "cublas": 100.0}.items()]
            out.shapes.append({"shape": shape, "noise": self.spread, "entries": entries})
        return out

    def _entry(self, name: str, time_us: float, drift: float) -> dict[str, Any]:
        own = time_us * drift
        return {
            "name": name,
            "microseconds": own,
            "spread": self.spread,
            "ratio": 100.0 * drift / own,
            "tflops": 1e6 / own,
            "samples": [own] * 4,
        }


def fake_child() -> None:
    """Plays `gemmgen.run.sweep.child`: kernels called hang, die and late do so."""
    job = json.loads(Path(sys.argv[1]).read_text())

    def tell(**event: Any) -> None:
        print(json.dumps(event), flush=True)

    tell(event="device", device={"name": "made up"})
    for name in job["names"]:
        tell(event="kernel", name=name)
        if name == "unfit":
            tell(event="unfit", reason="error[T414]: no tvm_ffi")
            sys.exit(1)
        if name == "hang":
            time.sleep(60)
        if name == "die":
            sys.exit("CUDA error: an illegal instruction was encountered")
        verdict = {"status": "passed", "cases": 2, "message": ""}
        if name not in job["checked"]:
            tell(event="verified", name=name, verified=verdict)
    tell(event="timing")
    if "late" in job["names"]:
        time.sleep(60)
    entries = [{"name": name} for name in job["names"]]
    tell(event="timed", record={"shape": [1, 1, 1], "entries": entries})
    tell(event="done")


if __name__ == "__main__":
    fake_child()
