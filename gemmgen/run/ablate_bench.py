"""Timing the variants of a kernel against the kernel itself, in one interleaved run."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from gemmgen.files import write_atomic
from gemmgen.gpu.device import describe_device
from gemmgen.gpu.kernel import GpuKernel, compile_source, load_library
from gemmgen.gpu.timing import Call, Plan, Samples, measure
from gemmgen.plan import Plan as KernelPlan
from gemmgen.records import Triple
from gemmgen.render.ablations import ABLATIONS
from gemmgen.run.ablate import FULL, Variant

AGAIN = "full_again"


@dataclass(frozen=True)
class AblationEntry:
    """One variant at one shape.

    Attributes:
        name, title, shows, is_gemm, settings: see `gemmgen.run.ablate.Variant`.
        says: what this run found, in a sentence; empty for the full kernel.
        microseconds: median.
        spread: half the interquartile range, relative.
        share: its time over the full kernel's.
        clear: whether that differs from 1 by more than the noise and its spread.
        loaded_bytes: that TMA brings into the shared memory of all CTAs; 0 where it brings none
            but a first lap.
        loaded_terabytes: a second.
        read_terabytes: a second, with what is multicast counted once: what L2 serves.
        samples: microseconds of every round.
    """

    name: str
    title: str
    shows: str
    is_gemm: bool
    settings: dict[str, Any]
    says: str
    microseconds: float
    spread: float
    share: float
    clear: bool
    loaded_bytes: int
    loaded_terabytes: float
    read_terabytes: float
    samples: tuple[float, ...]


@dataclass(frozen=True)
class AblationShape:
    """All variants at one shape; `noise` is the A/A difference or the larger spread, relative."""

    shape: Triple
    sets: int
    noise: float
    entries: tuple[AblationEntry, ...]


@dataclass(frozen=True)
class AblationRecord:
    """One run of `gemmgen ablate` on a GPU."""

    kernel: str
    digest: str
    device: dict[str, Any]
    versions: dict[str, str]
    date: str
    shapes: tuple[AblationShape, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
    kind: str = "ablate"
    schema: int = 1

    def write(self, path: Path) -> None:
        """Write as JSON, whole or not at all."""
        write_atomic(path, json.dumps(asdict(self), indent=1) + "\n")


def bench_variants(
    variants: Sequence[Variant],
    folder: Path,
    shapes: Sequence[Triple],
    plan: Plan,
    *,
    built: bool,
    digest: str = "",
) -> AblationRecord:
    """Time `variants`, the full kernel first, from the files in `folder`.

    Args:
        built: load ``<stem>.so`` from there; else compile ``<stem>.py``.

    Raises:
        GemmgenError: a library is missing, stale or for another GPU.
        ValueError: the kernel does not take a shape; the message names the rule.
        RuntimeError: the result of a variant that is a GEMM is wrong.
    """
    kernels = {variant.name: _load(folder / variant.stem, built) for variant in variants}
    device = describe_device()
    records = tuple(
        _bench_shape(variants, kernels, shape, plan, device.l2_bytes) for shape in shapes
    )
    return AblationRecord(
        kernel=variants[0].kernel,
        digest=digest,
        device=asdict(device),
        versions={"torch": torch.__version__, "python": platform.python_version()},
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        shapes=records,
    )


def _load(stem: Path, built: bool) -> GpuKernel:
    source = stem.with_suffix(".py")
    return (
        load_library(stem.with_suffix(".so"), source=source)
        if built
        else compile_source(source, "")
    )


def _bench_shape(
    variants: Sequence[Variant],
    kernels: dict[str, GpuKernel],
    shape: Triple,
    plan: Plan,
    l2_bytes: int,
) -> AblationShape:
    m, n, k = shape
    sets = max(3, min(16, 2 * l2_bytes // (2 * (m * k + n * k + m * n)) + 1))
    inputs = _Inputs(shape, sets)
    calls: dict[str, Call] = {}
    for variant in variants:
        kernel = kernels[variant.name]
        kernel.check(*inputs.of(0))
        if variant.is_gemm:
            inputs.judge(kernel)
        calls[variant.name] = inputs.call(kernel)
    calls[AGAIN] = inputs.call(kernels[FULL])
    samples = measure(calls, sets, plan)
    noise = noise_of(samples[FULL], samples[AGAIN])
    entries = [
        _entry(variant, shape, samples[variant.name], samples[FULL].median, noise)
        for variant in variants
    ]
    return AblationShape(shape, sets, noise, tuple(entries))


class _Inputs:
    """Random A and B, 0.1 x N(0, 1), and room for D, in `sets` sets."""

    def __init__(self, shape: Triple, sets: int) -> None:
        m, n, k = shape
        generator = torch.Generator("cuda").manual_seed(1)
        self.a = [self._random(m, k, generator) for _ in range(sets)]
        self.b = [self._random(n, k, generator) for _ in range(sets)]
        self.d = [torch.empty((m, n), device="cuda", dtype=torch.float16) for _ in range(sets)]

    @staticmethod
    def _random(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
        values = torch.randn((rows, columns), device="cuda", generator=generator)
        return values.mul_(0.1).half()

    def of(self, index: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.a[index], self.b[index], self.d[index]

    def call(self, kernel: GpuKernel) -> Call:
        def launch(index: int) -> None:
            kernel.launch(*self.of(index))

        return launch

    def judge(self, kernel: GpuKernel) -> None:
        """Raise RuntimeError unless the kernel computes D = A @ B.T."""
        a, b, d = self.of(0)
        kernel.launch(a, b, d.fill_(torch.nan))
        want = torch.mm(a, b.T).float()
        error = float((d.float() - want).abs().max() / want.abs().max())
        if not error <= 2e-3:
            raise RuntimeError(f"{kernel.name} is wrong: relative error {error}")


def noise_of(first: Samples, second: Samples) -> float:
    """The difference of two runs of one kernel, or the larger of their spreads, relative."""
    pair = sorted((first.median, second.median))
    return max(pair[1] / pair[0] - 1.0, first.spread, second.spread)


def _entry(
    variant: Variant, shape: Triple, sample: Samples, full: float, noise: float
) -> AblationEntry:
    share, seconds = sample.median / full, sample.median * 1e-6
    loaded, read = loaded_bytes(variant.plan, shape, variant.name)
    noise = max(noise, sample.spread)
    ablation = ABLATIONS.get(variant.name)
    rate = loaded / seconds / 1e12
    return AblationEntry(
        name=variant.name,
        title=variant.title,
        shows=variant.shows,
        is_gemm=variant.is_gemm,
        settings=variant.settings,
        says=ablation.sentence(share, noise, rate) if ablation else "",
        microseconds=sample.median,
        spread=sample.spread,
        share=share,
        clear=abs(share - 1.0) > noise,
        loaded_bytes=loaded,
        loaded_terabytes=rate,
        read_terabytes=read / seconds / 1e12,
        samples=sample.microseconds,
    )


def loaded_bytes(plan: KernelPlan, shape: Triple, name: str) -> tuple[int, int]:
    """Bytes that arrive in shared memory, and those with what is multicast counted once."""
    if name.startswith("mma_only"):
        return 0, 0
    g = plan.geometry
    rows, columns = -(-shape[0] // g.cluster_tile_m), -(-shape[1] // g.cluster_tile_n)
    steps = rows * columns * g.cluster_size * -(-shape[2] // g.tile_k)
    times = 2 if name == "loads_twice" else 1
    arrived = sum(copy.stage_bytes.value for copy in plan.copies)
    read = sum(copy.stage_bytes.value // copy.slices for copy in plan.copies)
    return times * steps * arrived, times * steps * read
