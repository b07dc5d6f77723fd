"""Kernels against cuBLAS in one interleaved run, and the record of it."""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import metadata

import torch

from gemmgen.bench_records import AGAIN, BASELINE, BenchRecord, Entry, ShapeRecord, State
from gemmgen.gpu.device import describe_device
from gemmgen.gpu.kernel import GpuKernel
from gemmgen.gpu.nvml import Watch, median_state, reader
from gemmgen.gpu.timing import Call, Plan, Samples, copy_bandwidth, measure
from gemmgen.records import Triple


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
    alone_seconds: float = 0.0,
) -> BenchRecord:
    """Time `kernels` against ``torch.mm`` at every shape.

    A kernel that refuses a shape is left out of it; one whose result is wrong is reported as an
    error, never timed. Inputs are 0.1 x N(0, 1) in sets that together exceed the L2 cache twice.

    Args:
        ceilings: flop/s of the matrix units and bytes/s of the memory; measured by default.
        alone_seconds: run each contender alone for so long, to read clocks and activity.

    Raises:
        RuntimeError: a kernel's result is wrong; the message names it.
    """
    device = describe_device()
    rate, bandwidth = ceilings = ceilings or (_matrix_rate(plan), copy_bandwidth(plan))
    records = []
    for shape in shapes:
        record = _bench_shape(kernels, shape, plan, device.l2_bytes, ceilings, alone_seconds)
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
        settle_ms=plan.settle_ms,
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
    ceilings: tuple[float, float],
    alone_seconds: float,
) -> ShapeRecord:
    sets = max(3, min(16, 2 * l2_bytes // nbytes_of(shape) + 1))
    inputs = _make_inputs(shape, sets)
    contenders = {BASELINE: _cublas(inputs), AGAIN: _cublas(inputs)}
    errors, digests = {}, {}
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
    record = shape_record(shape, sets, samples, digests, errors, ceilings)
    alone = _alone(contenders, samples, sets, alone_seconds) if alone_seconds else {}
    return replace(record, before=watch.before, during=watch.during, after=watch.after, alone=alone)


def _alone(
    contenders: Mapping[str, Call], samples: Mapping[str, Samples], sets: int, seconds: float
) -> dict[str, State]:
    """Run each contender by itself for `seconds`; the medians of the second half's readings."""
    found = {}
    for name, call in contenders.items():
        if name == AGAIN:
            continue
        burst = max(sets, int(2e4 / samples[name].median))
        begin = time.perf_counter()
        with Watch(reader()) as watch:
            while time.perf_counter() - begin < seconds:
                for index in range(burst):
                    call(index % sets)
                torch.cuda.synchronize()
        half = watch.samples[len(watch.samples) // 2 :]
        if half:
            found[name] = median_state(half)
    return found


def nbytes_of(shape: Triple) -> int:
    """Bytes of A, B and D once, in fp16."""
    m, n, k = shape
    return 2 * (m * k + n * k + m * n)


def shape_record(
    shape: Triple,
    sets: int,
    samples: Mapping[str, Samples],
    digests: Mapping[str, str],
    errors: Mapping[str, float],
    ceilings: tuple[float, float],
) -> ShapeRecord:
    """What `samples` of both cuBLAS columns and of kernels say; see :class:`Entry`."""
    m, n, k = shape
    noise = _noise(samples)
    rate, bandwidth = ceilings
    roof = min(rate, bandwidth * (2.0 * m * n * k / nbytes_of(shape)))
    base = samples[BASELINE].median
    entries = []
    for name, sample in samples.items():
        seconds = sample.median * 1e-6
        ratio = base / sample.median
        entries.append(
            Entry(
                name=name,
                digest=digests.get(name, ""),
                microseconds=sample.median,
                spread=sample.spread,
                ratio=ratio,
                tflops=2e-12 * m * n * k / seconds,
                terabytes=nbytes_of(shape) * 1e-12 / seconds,
                of_roofline=2.0 * m * n * k / seconds / roof,
                error=errors.get(name, 0.0),
                verdict=_verdict(ratio, noise),
                graph=sample.graph,
                samples=sample.microseconds,
            )
        )
    return ShapeRecord(shape, sets, noise, tuple(entries))


def _error(kernel: GpuKernel, inputs: _Inputs) -> float:
    d = torch.full_like(inputs.d[0], torch.nan)
    kernel.launch(inputs.a[0], inputs.b[0], d)
    want = torch.mm(inputs.a[0], inputs.b[0].T).float()
    error = float((d.float() - want).abs().max() / want.abs().max())
    if not error <= 2e-3:
        raise RuntimeError(f"{kernel.name} is wrong at {tuple(d.shape)}: relative error {error}")
    return error


def _noise(samples: Mapping[str, Samples]) -> float:
    """The A/A difference of the two cuBLAS columns, or the larger of their spreads."""
    first, second = samples[BASELINE], samples[AGAIN]
    pair = sorted((first.median, second.median))
    difference = pair[1] / pair[0] - 1.0
    return max(difference, first.spread, second.spread)


def _verdict(ratio: float, noise: float) -> str:
    if abs(ratio - 1.0) <= noise:
        return "same"
    return "faster" if ratio > 1.0 else "slower"
