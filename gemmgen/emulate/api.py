"""``emulate``: run a captured launch on host memory."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gemmgen.compile.launch import Launch
from gemmgen.emulate.blas import one_thread
from gemmgen.emulate.engine import Engine
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.listener import Hub, Listener
from gemmgen.emulate.machine import Machine
from gemmgen.emulate.memory import SHARED_OFFSET_MASK, Buffer, GlobalMemory
from gemmgen.emulate.program import Program, program
from gemmgen.emulate.ptx import Kernel
from gemmgen.emulate.race import RaceDetector, Rules
from gemmgen.emulate.settings import BarrierInfo, Settings
from gemmgen.emulate.timing import timing

MAX_THREADS = 1024  # CUDA Programming Guide, "Technical Specifications per Compute Capability"
MAX_CLUSTER = 16  # the same: non-portable cluster size


@dataclass(frozen=True)
class Result:
    """What a run did: warp instructions, seconds of host time, CTAs, asynchronous operations by
    kind.
    """

    instructions: int
    seconds: float
    ctas: int
    operations: Mapping[str, int] = field(default_factory=dict)


def emulate(
    launch: Launch,
    buffers: Sequence[Buffer],
    *,
    settings: Settings | None = None,
    barriers: Mapping[str, BarrierInfo] | None = None,
    listeners: Sequence[Listener] = (),
) -> Result:
    """Run a launch; the kernel reads and writes ``buffers`` in place.

    ``barriers`` names mbarriers for messages. Raises :class:`EmulationError` (with its code) for
    a fault of the kernel or PTX that the emulator lacks, :class:`Hang` for a deadlock.
    """
    chosen = settings or Settings()
    loaded = program(launch.ptx, launch.entry)
    if chosen.races:
        rules = Rules(once=frozenset(b.name for b in buffers if b.once))
        listeners = (RaceDetector(rules), *listeners)
    machine = _machine(launch, loaded, buffers, chosen, barriers or {}, listeners)
    started = time.perf_counter()
    with np.errstate(all="ignore"), one_thread():
        Engine(machine, loaded).run()
    return Result(
        instructions=machine.instructions,
        seconds=time.perf_counter() - started,
        ctas=machine.started * _product(launch.cluster),
        operations=dict(machine.submitted),
    )


def _product(shape: tuple[int, int, int]) -> int:
    x, y, z = shape
    return x * y * z


def _machine(
    launch: Launch,
    loaded: Program,
    buffers: Sequence[Buffer],
    settings: Settings,
    barriers: Mapping[str, BarrierInfo],
    listeners: Sequence[Listener],
) -> Machine:
    _check(launch, loaded.kernel, settings)
    policy = timing(settings)
    if isinstance(policy, Listener):
        listeners = (*listeners, policy)
    shared = loaded.dynamic_base + launch.smem_bytes
    return Machine(
        grid=launch.grid,
        block=launch.block,
        cluster=launch.cluster,
        shared_bytes=shared,
        params=_params(launch, loaded.kernel),
        memory=GlobalMemory(buffers),
        settings=settings,
        timing=policy,
        barriers=barriers,
        hub=Hub(listeners),
        dynamic_base=loaded.dynamic_base,
        local_bytes=loaded.local_bytes,
        dependent=launch.dependent,
    )


def _check(launch: Launch, kernel: Kernel, settings: Settings) -> None:
    threads = _product(launch.block)
    problems = []
    if not 1 <= threads <= MAX_THREADS:
        problems.append(f"{threads} threads a CTA; 1 to {MAX_THREADS} are possible")
    if kernel.reqntid and kernel.reqntid != launch.block:
        problems.append(f"block {launch.block}, but the kernel requires {kernel.reqntid}")
    if not 1 <= _product(launch.cluster) <= MAX_CLUSTER:
        problems.append(f"cluster {launch.cluster} is not 1 to {MAX_CLUSTER} CTAs")
    elif any(g % c for g, c in zip(launch.grid, launch.cluster, strict=True)):
        problems.append(f"grid {launch.grid} is not a multiple of the cluster {launch.cluster}")
    if min(launch.grid) < 1:
        problems.append(f"grid {launch.grid} is empty")
    if launch.smem_bytes > SHARED_OFFSET_MASK:
        problems.append(f"{launch.smem_bytes} bytes of dynamic shared memory")
    if settings.sm_count < 1:
        problems.append(f"sm_count {settings.sm_count}")
    if problems:
        raise EmulationError("E217", "; ".join(problems))


def _params(launch: Launch, kernel: Kernel) -> bytes:
    if len(launch.params) != len(kernel.params):
        raise EmulationError(
            "E217",
            f"{len(launch.params)} parameters given, `{kernel.name}` has {len(kernel.params)}",
        )
    out = bytearray(
        sum(p.size for p in kernel.params[-1:]) + (kernel.params[-1].offset if kernel.params else 0)
    )
    for value, param in zip(launch.params, kernel.params, strict=True):
        if len(value) != param.size:
            raise EmulationError(
                "E217", f"parameter `{param.name}` has {param.size} bytes, {len(value)} were given"
            )
        out[param.offset : param.offset + param.size] = value
    return bytes(out)
