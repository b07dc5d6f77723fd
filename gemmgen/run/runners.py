"""Where a kernel runs: the emulator, a GPU, or nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from gemmgen.compile import KernelUnderTest
from gemmgen.emulate import BarrierInfo, Buffer, Settings, emulate
from gemmgen.plan import Plan
from gemmgen.run.guarded import GuardedOutput
from gemmgen.run.oracle import Problem
from gemmgen.terms import Arch, Finding, GemmgenError

CAPABILITY = {Arch.SM90A: (9, 0), Arch.SM100A: (10, 0)}


@dataclass(frozen=True)
class RunFacts:
    """What a runner can say about one run.

    Attributes:
        instructions: warp instructions executed; 0 where nobody counts.
    """

    instructions: int = 0


class Runner(Protocol):
    """Runs one kernel on one problem."""

    name: str

    def run(self, problem: Problem, out: GuardedOutput) -> RunFacts:
        """Compute D into `out`. Raises EmulationError or the device's error."""


class EmulateRunner:
    """Runs the captured launch in the emulator.

    Args:
        kernel: the compiled file.
        plan: names the barriers in error tables.
        settings: timing, seed and SM count of the emulated device.
    """

    name = "emulate"

    def __init__(self, kernel: KernelUnderTest, plan: Plan, settings: Settings) -> None:
        self.kernel = kernel
        self.settings = settings
        self.barriers = {
            barrier.name: BarrierInfo(barrier.offset, barrier.depth)
            for barrier in plan.barriers
        }

    def run(self, problem: Problem, out: GuardedOutput) -> RunFacts:
        launch = self.kernel.launch(
            problem.a, problem.b, out.d, sm_count=self.settings.sm_count
        )
        buffers = [
            _buffer("a", problem.a, writable=False),
            _buffer("b", problem.b, writable=False),
            _buffer("d", out.whole, writable=True),
        ]
        result = emulate(launch, buffers, settings=self.settings, barriers=self.barriers)
        return RunFacts(result.instructions)


def _buffer(name: str, tensor: torch.Tensor, *, writable: bool) -> Buffer:
    data = tensor.view(torch.uint8).flatten().numpy()
    return Buffer(name, tensor.data_ptr(), data, writable)


def choose_runner(wanted: str, arch: Arch) -> str:
    """Turn ``auto`` into ``gpu`` where a matching device is, else into ``emulate``.

    Raises:
        GemmgenError: T410, a GPU was asked for and there is none of this architecture.
    """
    capability = torch.cuda.get_device_capability() if torch.cuda.is_available() else None
    matches = capability == CAPABILITY[arch]
    if wanted == "auto":
        return "gpu" if matches else "emulate"
    if wanted == "gpu" and not matches:
        have = f"the GPU here is sm_{capability[0]}{capability[1]}" if capability else "no GPU here"
        raise GemmgenError(
            [
                Finding(
                    code="T410",
                    title=f"cannot run {arch} kernels on a GPU: {have}",
                    help="use --runner emulate, or run on a machine with that GPU",
                )
            ]
        )
    return wanted


def make_runner(
    name: str, kernel: KernelUnderTest, plan: Plan, settings: Settings, path: Path
) -> Runner:
    """The runner called `name`, for one compiled file."""
    if name == "gpu":
        from gemmgen.gpu import GpuRunner

        return GpuRunner(path)
    return EmulateRunner(kernel, plan, settings)
