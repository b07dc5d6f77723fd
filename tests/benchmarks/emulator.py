"""``python -m benchmarks.emulator [KERNEL ...]``: warp instructions a second in the emulator.

Every run starts from a launch that is captured already; decoding the PTX is not in it. The seconds
are those of the processor, on one core, so that a busy machine matters little; a shared one still
slows caches down, so the best of several runs is shown beside the median.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch

from gemmgen.compile import KernelUnderTest
from gemmgen.emulate import Settings
from gemmgen.run.guarded import GuardedOutput
from gemmgen.run.oracle import TORCH_DTYPE, exact_problem
from gemmgen.run.runners import EmulateRunner
from gemmgen.run.subject import read_subject

GENERATED = Path(__file__).parents[2] / "generated"
SM_COUNT = 8
TARGET = 200_000  # warp instructions a second on v8


@dataclass(frozen=True)
class Figure:
    """One timed run: warp instructions, seconds of the processor and of the clock."""

    instructions: int
    cpu: float
    wall: float

    @property
    def rate(self) -> float:
        """Warp instructions a second of the processor."""
        return self.instructions / self.cpu


def figures(
    path: Path, shape: tuple[int, int, int], timing: str, runs: int, *, races: bool
) -> Iterator[Figure]:
    """Time runs of a kernel, with race detection or without, after one that is not counted."""
    subject = read_subject(path)
    types = subject.plan.spec.problem
    settings = Settings(timing=timing, sm_count=SM_COUNT, races=races)
    runner = EmulateRunner(KernelUnderTest(path), subject.plan, settings)
    problem = exact_problem(*shape, types.a.dtype, types.d.dtype, 0)
    for number in range(runs + 1):
        out = GuardedOutput.make(shape[0], shape[1], TORCH_DTYPE[types.d.dtype])
        wall, cpu = time.perf_counter(), time.process_time()
        facts = runner.run(problem, out)
        done = Figure(facts.instructions, time.process_time() - cpu, time.perf_counter() - wall)
        assert torch.equal(out.d.double(), problem.reference), f"{path.stem} is wrong"
        if number:
            yield done


def main(argv: list[str]) -> int:
    """Print two lines a kernel: without race detection and with it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.emulator")
    parser.add_argument("kernels", nargs="*", default=["v8_persistent"], help="below generated/")
    parser.add_argument("--shape", default="512,512,1024", help="M,N,K (512,512,1024)")
    parser.add_argument("--timing", default="lazy", help="timing policy (lazy)")
    parser.add_argument("--runs", type=int, default=5, help="timed runs (5)")
    options = parser.parse_args(argv)
    m, n, k = map(int, options.shape.split(","))
    torch.set_num_threads(1)
    print(f"{m}x{n}x{k}, {options.timing} timing, {SM_COUNT} SMs, {options.runs} runs, one core")
    for name, races in product(options.kernels, (False, True)):
        path = GENERATED / f"{name}.py"
        every = list(figures(path, (m, n, k), options.timing, options.runs, races=races))
        rates = [figure.rate for figure in every]
        share = sum(f.cpu for f in every) / sum(f.wall for f in every)
        print(
            f"{name:24} races {'on: ' if races else 'off:'}"
            f" {every[0].instructions:>10,} warp instructions a run,"
            f" {max(rates):>9,.0f} a second at best,"
            f" {statistics.median(rates):>9,.0f} in the median"
            f" (target for v8, races off: {TARGET:,}; {share:.0%} of the clock was the processor's)"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
