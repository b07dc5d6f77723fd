"""Kernels against cuBLAS in one interleaved run, and the record of it."""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from gemmgen.files import write_atomic
from gemmgen.gpu.device import describe_device
from gemmgen.gpu.kernel import GpuKernel
from gemmgen.gpu.nvml import State, Watch, reader
from gemmgen.gpu.timing import Call, Plan, Samples, copy_bandwidth, measure

BASELINE, AGAIN = "cublas", "cublas_again"
Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Entry:
    """One contender at one shape.

    Attributes:
        name: kernel, ``cublas`` or ``cublas_again`` (the A/A column).
        digest: of its spec; empty for cuBLAS.
        microseconds: median.
        spread: half the interquartile range, relative.
        ratio: time of cuBLAS over its own; above 1 is faster than cuBLAS.
        tflops, terabytes: per second, from 2MNK and from the bytes of A, B and D once.
        of_roofline: its rate over the lower of matrix rate and bandwidth x intensity.
        error: largest absolute distance from torch's result over the largest result.
        verdict: ``faster``, ``slower`` or ``same`` as cuBLAS, with this run's noise.
        samples: microseconds of every round.
    """

    name: str
    digest: str
    microseconds: float
    spread: float
    ratio: float
    tflops: float
    terabytes: float
    of_roofline: float
    error: float
    verdict: str
    graph: bool
    samples: tuple[float, ...]


@dataclass(frozen=True)
class ShapeRecord:
    """All contenders at one shape.

    Attributes:
        noise: the A/A difference or the larger spread, relative.
        before, during, after: clocks, power and temperature around the timed rounds, and the
            medians of readings in them (warm-up included); None without NVML.
    """

    shape: Triple
    sets: int
    noise: float
    entries: tuple[Entry, ...]
    before: State | None = None
    during: State | None = None
    after: State | None = None


@dataclass(frozen=True)
class BenchRecord:
    """One run of `gemmgen bench`."""

    device: dict[str, Any]
    versions: dict[str, str]
    date: str
    copy_terabytes: float
    matrix_tflops: float
    shapes: tuple[ShapeRecord, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
    schema: int = 1

    def write(self, path: Path) -> None:
        """Write as JSON, whole or not at all."""
        import json

        write_atomic(path, json.dumps(asdict(self), indent=1) + "\n")


@dataclass(frozen=True)
class _Inputs:
    a: list[torch.Tensor]
    b: list[torch.Tensor]
    d: list[torch.Tensor]


def bench(
    kernels: list[GpuKernel],
    shapes: list[Triple],
    plan: Plan,
    tell: Callable[[ShapeRecord], None] | None = None,
    ceilings: tuple[float, float] | None = None,
) -> BenchRecord:
    """Time `kernels` against ``torch.mm`` at every shape.

    A kernel that refuses a shape is left out of it; one whose result is wrong is reported as an
    error, never timed. Inputs are 0.1 x N(0, 1) in sets that together exceed the L2 cache twice.

    Args:
        ceilings: flop/s of the matrix units and bytes/s of the memory; measured by default.

    Raises:
        RuntimeError: a kernel's result is wrong; the message names it.
    """
    device = describe_device()
    rate, bandwidth = ceilings or (_matrix_rate(plan), copy_bandwidth(plan))
    records = []
    for shape in shapes:
        record = _bench_shape(kernels, shape, plan, device.l2_bytes, rate, bandwidth)
        records.append(record)
        if tell is not None:
            tell(record)
    versions = {"torch": torch.__version__, "python": platform.python_version(), **_installed()}
    return BenchRecord(
        device=asdict(device),
        versions=versions,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        copy_terabytes=bandwidth / 1e12,
        matrix_tflops=rate / 1e12,
        shapes=tuple(records),
    )


def _installed() -> dict[str, str]:
    """Versions of what a kernel runs through, of those that are installed."""
    found = {}
    for name in ("nvidia-cutlass-dsl", "apache-tvm-ffi", "nvidia-cublas"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _matrix_rate(plan: Plan) -> float:
    """Flop/s of cuBLAS at 8192^3 on random inputs: what this card gives, power limit included."""
    size = 8192
    inputs = _make_inputs((size, size, size), 2)
    samples = measure({BASELINE: _cublas(inputs)}, 2, plan)
    return 2.0 * size**3 / (samples[BASELINE].median * 1e-6)


def _make_inputs(shape: Triple, sets: int) -> _Inputs:
    m, n, k = shape
    generator = torch.Generator("cuda").manual_seed(1)

    def random(rows: int, columns: int) -> torch.Tensor:
        values = torch.randn((rows, columns), device="cuda", generator=generator)
        return values.mul_(0.1).half()

    a = [random(m, k) for _ in range(sets)]
    b = [random(n, k) for _ in range(sets)]
    d = [torch.empty((m, n), device="cuda", dtype=torch.float16) for _ in range(sets)]
    return _Inputs(a, b, d)


def _cublas(inputs: _Inputs) -> Call:
    def call(index: int) -> None:
        torch.mm(inputs.a[index], inputs.b[index].T, out=inputs.d[index])

    return call


def _kernel_call(kernel: GpuKernel, inputs: _Inputs) -> Call:
    def call(index: int) -> None:
        kernel.launch(inputs.a[index], inputs.b[index], inputs.d[index])

    return call


def _bench_shape(
    kernels: list[GpuKernel],
    shape: Triple,
    plan: Plan,
    l2_bytes: int,
    rate: float,
    bandwidth: float,
) -> ShapeRecord:
    m, n, k = shape
    nbytes = 2 * (m * k + n * k + m * n)
    sets = max(3, min(16, 2 * l2_bytes // nbytes + 1))
    inputs = _make_inputs(shape, sets)
    contenders = {BASELINE: _cublas(inputs), AGAIN: _cublas(inputs)}
    errors, digests = {BASELINE: 0.0, AGAIN: 0.0}, {BASELINE: "", AGAIN: ""}
    for kernel in kernels:
        try:
            kernel.check(inputs.a[0], inputs.b[0], inputs.d[0])
        except ValueError:
            continue
        errors[kernel.name] = _error(kernel, inputs)
        digests[kernel.name] = kernel.digest
        contenders[kernel.name] = _kernel_call(kernel, inputs)
    with Watch(reader()) as watch:
        samples = measure(contenders, sets, plan)
    noise = _noise(samples)
    roof = min(rate, bandwidth * (2.0 * m * n * k / nbytes))
    base = samples[BASELINE].median
    entries = []
    for name, sample in samples.items():
        seconds = sample.median * 1e-6
        ratio = base / sample.median
        entries.append(
            Entry(
                name=name,
                digest=digests[name],
                microseconds=sample.median,
                spread=sample.spread,
                ratio=ratio,
                tflops=2e-12 * m * n * k / seconds,
                terabytes=nbytes * 1e-12 / seconds,
                of_roofline=2.0 * m * n * k / seconds / roof,
                error=errors[name],
                verdict=_verdict(ratio, noise),
                graph=sample.graph,
                samples=sample.microseconds,
            )
        )
    states = (watch.before, watch.during, watch.after)
    return ShapeRecord(shape, sets, noise, tuple(entries), *states)


def _error(kernel: GpuKernel, inputs: _Inputs) -> float:
    d = torch.full_like(inputs.d[0], torch.nan)
    kernel.launch(inputs.a[0], inputs.b[0], d)
    want = torch.mm(inputs.a[0], inputs.b[0].T).float()
    error = float((d.float() - want).abs().max() / want.abs().max())
    if not error <= 2e-3:
        raise RuntimeError(f"{kernel.name} is wrong at {tuple(d.shape)}: relative error {error}")
    return error


def _noise(samples: dict[str, Samples]) -> float:
    """The A/A difference of the two cuBLAS columns, or the larger of their spreads."""
    first, second = samples[BASELINE], samples[AGAIN]
    pair = sorted((first.median, second.median))
    difference = pair[1] / pair[0] - 1.0
    return max(difference, first.spread, second.spread)


def _verdict(ratio: float, noise: float) -> str:
    if abs(ratio - 1.0) <= noise:
        return "same"
    return "faster" if ratio > 1.0 else "slower"
