"""Cycles that a Hopper kernel should take, from its plan alone: bytes, waves, issue slots.

No constant here is fitted to a measurement of these kernels; each names its source. The model
knows no power limit and no clock, so it predicts ratios: `python -m gemmgen.run.predict SPECS`
prints them for a ladder, and docs/hopper.md sets them beside what was measured.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gemmgen.files import write_atomic
from gemmgen.plan import Plan
from gemmgen.terms import MainloopKind, Swizzle

SM_COUNT = 132  # H100 and H200 SXM
TENSOR_FLOP = 4096  # a cycle and SM: dense f16, f32 sums (NVIDIA H100 white paper: 989 TFLOP/s)
SMEM_BYTES = 128  # a cycle and SM: 32 banks of 4 bytes
PORT_BYTES = 64  # a cycle and SM, from L2 (A100 white paper: an SM reads 64 bytes a clock)
ROW_BYTES = 16  # a cycle: without swizzle rows of 16 bytes lie in one group of 4 banks
STORE_SECTORS = 8  # rows that one store of a warp touches when it leaves from registers
L2_CYCLES = 270  # a load that hits L2 (Luo et al. 2024, "Benchmarking and dissecting Hopper": 261)
DRAM_CYCLES = 650  # one that misses it (same)
DRAIN_CYCLES = 128  # wgmma m64n256k16, issue to completion (same)
SYNC_CYCLES = 40  # a barrier among four warps and the issue of what follows it
LAUNCH_CYCLES = 1500  # a CTA: start, barriers, descriptors, cluster, then the first bytes
REGISTERS, SMEM_OF_SM, THREADS_OF_SM = 65_536, 233_472, 2048  # CUDA guide, compute capability 9.0
OTHER_REGISTERS = 40  # a thread, beside its accumulators


@dataclass(frozen=True)
class Prediction:
    """What the model says of one kernel at one shape.

    Attributes:
        kernel, shape: of whom.
        ctas: resident on an SM.
        rounds: of tiles that the busiest SM works through, one at a time.
        k_tile: cycles of one mainloop step of a tile.
        bound: the resource that sets it.
        edge: cycles of a tile outside its mainloop that nothing hides.
        cycles: in all.
        tensor_share: of the cycles in which the tensor cores are busy.
    """

    kernel: str
    shape: tuple[int, int, int]
    ctas: int
    rounds: float
    k_tile: float
    bound: str
    edge: float
    cycles: float
    tensor_share: float


def predict(plan: Plan, shape: tuple[int, int, int]) -> Prediction:
    """Predict the cycles of `plan` at (M, N, K) on one H200."""
    m, n, k = shape
    geometry = plan.geometry
    tiles = math.ceil(m / geometry.tile_m) * math.ceil(n / geometry.tile_n)
    k_tiles = math.ceil(k / geometry.tile_k)
    ctas = _resident(plan)
    terms = _step(plan)
    bound = max(terms, key=lambda name: terms[name])
    step = terms[bound]
    if plan.spec.mainloop.kind is MainloopKind.SERIAL:
        alone = L2_CYCLES + terms["fill"] + terms["tensor"] + DRAIN_CYCLES + 2 * SYNC_CYCLES
        if alone / ctas > step:
            bound, step = "latency", alone / ctas
    elif plan.spec.mainloop.kind is MainloopKind.PREFETCH:
        alone = terms["tensor"] + DRAIN_CYCLES + 2 * SYNC_CYCLES
        if alone > step:
            bound, step = "drain", alone
    edge = _edge(plan)
    rounds = math.ceil(tiles / (SM_COUNT * ctas)) * ctas
    cycles = rounds * (k_tiles * step + edge) + _once(plan)
    busy = 2 * m * n * k / SM_COUNT / TENSOR_FLOP
    return Prediction(plan.spec.name, shape, ctas, rounds, step, bound, edge, cycles, busy / cycles)


def _resident(plan: Plan) -> int:
    """CTAs of one SM that fit its registers, shared memory and threads."""
    threads = plan.launch.threads
    accumulators = plan.geometry.acc_rows * plan.geometry.tile_n // 128
    if plan.launch.min_blocks is not None:
        return 1
    by_registers = REGISTERS // ((accumulators + OTHER_REGISTERS) * threads)
    by_smem = SMEM_OF_SM // (plan.smem.total.value + 1024)
    return max(1, min(by_registers, by_smem, THREADS_OF_SM // threads))


def _step(plan: Plan) -> dict[str, float]:
    """Cycles of one k_tile of one tile, by resource."""
    geometry, spec = plan.geometry, plan.spec
    stage = plan.smem.stage.value
    width = ROW_BYTES if spec.smem.swizzle is Swizzle.NONE else SMEM_BYTES
    instructions = geometry.tile_m // geometry.mma_m * geometry.k_blocks
    operands = 2 * (geometry.mma_m + geometry.mma_n) * geometry.mma_k
    from_l2 = sum(copy.stage_bytes.value / copy.slices for copy in plan.copies)
    return {
        "tensor": 2 * geometry.tile_m * geometry.tile_n * geometry.tile_k / TENSOR_FLOP,
        "operand reads": instructions * operands / SMEM_BYTES,
        "fill": stage / width,
        "L2": from_l2 / PORT_BYTES,
    }


def _store(plan: Plan) -> float:
    """Cycles in which a tile of D leaves an SM."""
    nbytes = 2 * plan.geometry.tile_m * plan.geometry.tile_n
    if plan.output is not None:  # written to shared memory, then read by TMA, chunk by chunk
        return 2 * nbytes / SMEM_BYTES + plan.spec.epilogue.chunks * 2 * SYNC_CYCLES
    return nbytes / 128 * STORE_SECTORS  # a warp stores 4 bytes a thread, in 8 rows


def _edge(plan: Plan) -> float:
    """Cycles a tile that neither another tile nor another CTA of the SM hides."""
    store = _store(plan)
    if plan.spec.mainloop.kind is MainloopKind.PINGPONG or plan.spec.epilogue.deferred:
        return float(SYNC_CYCLES)  # stored under the next tile's mainloop
    if plan.persistent:
        return store + DRAIN_CYCLES  # the loads of the next tile are already there
    if _resident(plan) > 1:
        return 0.0
    return LAUNCH_CYCLES + L2_CYCLES + store + DRAIN_CYCLES


def _once(plan: Plan) -> float:
    """Cycles of the first bytes and the last store of the launch."""
    return LAUNCH_CYCLES + DRAM_CYCLES + _store(plan)


def main(arguments: Sequence[str]) -> None:
    """``SPEC… M,N,K… [--json PATH]``: predict every spec at every shape."""
    from gemmgen.run.generate import checked_plan

    words = list(arguments)
    target = None
    if "--json" in words:
        at = words.index("--json")
        target = Path(words[at + 1])
        del words[at : at + 2]
    shapes = [tuple(map(int, word.split(","))) for word in words if "," in word]
    found = []
    for m, n, k in shapes:
        last = None
        for word in words:
            if "," in word:
                continue
            plan = checked_plan(word)
            one = predict(plan, (m, n, k))
            found.append(one)
            gain = "" if last is None else f"{last / one.cycles - 1:+.0%}"
            print(
                f"{one.kernel:24} {m}x{n}x{k} {one.cycles / 1e3:9.0f} kcycles {gain:>6} "
                f"k_tile {one.k_tile:5.0f} ({one.bound}), {one.rounds:.0f} rounds, "
                f"edge {one.edge:.0f}, tensor {one.tensor_share:.0%}"
            )
            last = one.cycles
    if target is not None:
        document = {"schema": 1, "predictions": [asdict(one) for one in found]}
        write_atomic(target, json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
