"""Timing several contenders in one interleaved run.

Every round times every contender once, in a fresh random order, so that clocks, power and
temperature drift over all of them alike. A sample is the mean of many back-to-back calls between
two CUDA events, which rotate over input sets that together exceed the L2 cache.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

Call = Callable[[int], None]


@dataclass(frozen=True)
class Plan:
    """How to time.

    Attributes:
        rounds: samples of each contender.
        slice_ms: length of one sample, in milliseconds.
        warm_ms: how long everything runs before the first sample.
        settle_ms: how long a contender runs before each of its samples, untimed. Beside slow
            kernels, which leave a power-limited chip cool, a fast one is flattered without it.
        graph_below_us: calls shorter than this are replayed from a CUDA graph, so that launch
            overhead of the host is not what is timed.
        seed: of the order.
    """

    rounds: int = 9
    slice_ms: float = 10.0
    warm_ms: float = 2000.0
    settle_ms: float = 0.0
    graph_below_us: float = 100.0
    seed: int = 0


@dataclass(frozen=True)
class Samples:
    """Microseconds a call, one a round, in the order of rounds."""

    microseconds: tuple[float, ...]
    calls: int
    graph: bool

    @property
    def median(self) -> float:
        return statistics.median(self.microseconds)

    @property
    def spread(self) -> float:
        """Half the interquartile range, relative to the median."""
        ordered = sorted(self.microseconds)
        quarter = len(ordered) // 4
        return (ordered[-1 - quarter] - ordered[quarter]) / (2 * self.median)


def measure(contenders: Mapping[str, Call], sets: int, plan: Plan) -> dict[str, Samples]:
    """Time every contender; ``call(i)`` launches once on input set ``i`` of `sets`."""
    replays = {name: _prepare(call, sets, plan) for name, call in contenders.items()}
    _warm(replays, plan)
    order = list(replays)
    shuffle = random.Random(plan.seed)
    times: dict[str, list[float]] = {name: [] for name in order}
    for _ in range(plan.rounds):
        shuffle.shuffle(order)
        for name in order:
            _settle(replays[name], plan)
            times[name].append(_sample(replays[name]))
    return {
        name: Samples(tuple(times[name]), replay.calls, replay.graph)
        for name, replay in replays.items()
    }


@dataclass(frozen=True)
class _Replay:
    run: Callable[[], None]
    calls: int
    graph: bool


def _prepare(call: Call, sets: int, plan: Plan) -> _Replay:
    for index in range(sets):
        call(index)
    torch.cuda.synchronize()
    rough = _time(lambda: _repeat(call, 10, sets)) / 10
    calls = max(sets, int(plan.slice_ms * 1e3 / rough))
    if rough >= plan.graph_below_us:
        return _Replay(lambda: _repeat(call, calls, sets), calls, False)
    graph = torch.cuda.CUDAGraph()
    per_graph = min(calls, 20 * sets)
    with torch.cuda.graph(graph):
        _repeat(call, per_graph, sets)
    repeats = max(1, calls // per_graph)

    def run() -> None:
        for _ in range(repeats):
            graph.replay()

    return _Replay(run, repeats * per_graph, True)


def _repeat(call: Call, count: int, sets: int) -> None:
    for index in range(count):
        call(index % sets)


def _time(run: Callable[[], object]) -> float:
    """Microseconds between two events around `run`."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e3


def _sample(replay: _Replay) -> float:
    return _time(replay.run) / replay.calls


def _settle(replay: _Replay, plan: Plan) -> None:
    deadline = time.perf_counter() + plan.settle_ms / 1e3
    while time.perf_counter() < deadline:
        replay.run()
        torch.cuda.synchronize()


def _warm(replays: Mapping[str, _Replay], plan: Plan) -> None:
    deadline = time.perf_counter() + plan.warm_ms / 1e3
    while time.perf_counter() < deadline:
        for replay in replays.values():
            replay.run()
        torch.cuda.synchronize()


def copy_bandwidth(plan: Plan, nbytes: int = 1 << 30) -> float:
    """Device-to-device copy, bytes read plus bytes written a second."""
    source = torch.empty(nbytes // 4, dtype=torch.float32, device="cuda").normal_()
    target = torch.empty_like(source)

    def copy(_: int) -> None:
        target.copy_(source)

    samples = measure({"copy": copy}, 1, plan)
    return 2 * nbytes / (samples["copy"].median * 1e-6)
