"""Where a kernel runs: the emulator, a GPU, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from gemmgen.compile import KernelUnderTest
from gemmgen.emulate import BarrierInfo, Buffer, Listener, Settings, emulate
from gemmgen.plan import Plan
from gemmgen.run.guarded import GuardedOutput
from gemmgen.run.oracle import SMALLEST_SUBNORMAL, TORCH_DTYPE, UNIT_ROUNDOFF, Problem
from gemmgen.run.schedules import check_target
from gemmgen.run.settle import is_hopper_sum
from gemmgen.terms import Arch


@dataclass(frozen=True)
class RunFacts:
    """What a runner can say about one run.

    Attributes:
        instructions: warp instructions executed; 0 where nobody counts.
    """

    instructions: int = 0


class RunnersDisagreeError(Exception):
    """Emulator and GPU gave different results for one problem."""


class Runner(Protocol):
    """Runs one kernel on one problem."""

    name: str

    def run(self, problem: Problem, out: GuardedOutput) -> RunFacts:
        """Compute D into `out`. Raises EmulationError, RunnersDisagreeError, the device's error."""


class EmulateRunner:
    """Runs the captured launch in the emulator.

    Args:
        kernel: the compiled file.
        plan: names the barriers in error tables.
        settings: timing, seed and SM count of the emulated device.
        listeners: told what happens in the run.

    Raises:
        GemmgenError: T420, the settings delay or starve what the plan does not have.
    """

    name = "emulate"

    def __init__(
        self,
        kernel: KernelUnderTest,
        plan: Plan,
        settings: Settings,
        listeners: Sequence[Listener] = (),
    ) -> None:
        check_target(plan, settings)
        self.kernel = kernel
        self.settings = settings
        self.listeners = listeners
        self.barriers = {
            barrier.name: BarrierInfo(barrier.offset, barrier.depth) for barrier in plan.barriers
        }

    def run(self, problem: Problem, out: GuardedOutput) -> RunFacts:
        launch = self.kernel.launch(problem.a, problem.b, out.d, sm_count=self.settings.sm_count)
        buffers = [
            _buffer("a", problem.a, writable=False),
            _buffer("b", problem.b, writable=False),
            _buffer("d", out.whole, writable=True, once=True),
        ]
        result = emulate(
            launch,
            buffers,
            settings=self.settings,
            barriers=self.barriers,
            listeners=self.listeners,
        )
        return RunFacts(result.instructions)


def _buffer(name: str, tensor: torch.Tensor, *, writable: bool, once: bool = False) -> Buffer:
    data = tensor.view(torch.uint8).flatten().numpy()
    return Buffer(name, tensor.data_ptr(), data, writable, once)


class GpuRunner:
    """Runs the kernel on the current device and brings the whole allocation back, guard bands too.

    Args:
        kernel: a `gemmgen.gpu.kernel.GpuKernel`.
    """

    name = "gpu"

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def run(self, problem: Problem, out: GuardedOutput) -> RunFacts:
        whole = out.whole.cuda()
        rows, columns = out.d.shape
        d = whole.as_strided((rows, columns), whole.stride(), out.d.storage_offset())
        self.kernel(problem.a.cuda(), problem.b.cuda(), d)
        torch.cuda.synchronize()
        out.whole.copy_(whole)
        return RunFacts()


class BothRunner:
    """Runs emulator and GPU, and compares: bit by bit on exact inputs, else within a rounding.

    Elements further apart than that agree when the GPU's is what Hopper's tensor cores make of the
    sum to the bit (`gemmgen.run.settle`); that the emulator's is right, the caller judges.
    """

    name = "both"

    def __init__(self, emulator: EmulateRunner, device: GpuRunner) -> None:
        self.emulator = emulator
        self.device = device

    def run(self, problem: Problem, out: GuardedOutput) -> RunFacts:
        mirror = GuardedOutput.make(out.d.shape[0], out.d.shape[1], out.d.dtype)
        self.device.run(problem, mirror)
        facts = self.emulator.run(problem, out)
        distance = (out.d.double() - mirror.d.double()).abs()
        allowed = torch.zeros_like(distance)
        if bool(problem.bound.any()):
            kind = next(k for k, dtype in TORCH_DTYPE.items() if dtype == out.d.dtype)
            allowed = 2 * UNIT_ROUNDOFF[kind] * mirror.d.double().abs() + SMALLEST_SUBNORMAL[kind]
        wrong = ~(distance <= allowed)
        if bool(problem.bound.any()) and self.emulator.kernel.compiled.arch is Arch.SM90A:
            rows, columns = wrong.nonzero(as_tuple=True)
            settled = is_hopper_sum(problem.a[rows], problem.b[columns], mirror.d[rows, columns])
            wrong[rows, columns] = ~settled
        if bool(wrong.any()):
            row, column = (int(x) for x in wrong.nonzero()[0])
            raise RunnersDisagreeError(
                f"emulator and GPU differ in {int(wrong.sum())} elements; first at "
                f"({row}, {column}): {float(out.d[row, column])} emulated, "
                f"{float(mirror.d[row, column])} on the GPU"
            )
        return facts


def choose_runner(wanted: str, arch: Arch) -> str:
    """Turn ``auto`` into ``gpu`` where a matching device is, else into ``emulate``.

    Raises:
        GemmgenError: T410, a GPU was asked for and there is none of this architecture.
    """
    if wanted in ("emulate", "none"):
        return wanted
    from gemmgen.gpu.device import matches, require

    if wanted == "auto":
        return "gpu" if matches(arch) else "emulate"
    require(arch)
    return wanted


def device_runner(path: Path, digest: str, libraries: Path | None) -> GpuRunner:
    """A GPU runner for one file, from its built library where `libraries` is given."""
    from gemmgen.gpu.kernel import compile_source, load_library

    if libraries is not None:
        return GpuRunner(load_library(libraries / f"{path.stem}.so", source=path))
    return GpuRunner(compile_source(path, digest))
