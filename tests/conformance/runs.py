"""Running a case under every timing policy, with the race detector listening."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from conformance.matrices import SM_COUNT
from conformance.model import Case, Prepared
from gemmgen.emulate import EmulationError, Settings, emulate
from gemmgen.emulate.race import RaceDetector, Rules

POLICIES = ("lazy", "eager", "random", "pct", "starve", "delay")
SEEDS = 2
KINDS = {
    "sm_90a": ("tma_load", "wgmma", "tma_store", "tma_write"),
    "sm_100a": ("tma_load", "mma", "commit", "tma_store", "tma_write"),
}
# Foreign kernels leave out tcgen05 fences between threads, and the scope of remote arrivals.
RULES = Rules(strict=False, once=frozenset({"d"}))
LONGEST = 100_000_000  # warp instructions: a hang that makes progress ends here


@dataclass(frozen=True)
class Row:
    """What became of a case.

    Attributes:
        runs: how many ran.
        passed: how many of them passed, by policy.
        message: empty when all passed, else the failed run and what it said.
        compiled, seconds: seconds to compile and to run.
    """

    case: str
    runs: int
    instructions: int
    compiled: float
    seconds: float
    message: str = ""
    passed: dict[str, int] = field(default_factory=dict)


def settings_of(case: Case, prepared: Prepared, policies: Iterable[str]) -> Iterator[Settings]:
    """Policies in turn, with each kind of work starved, each CTA and some warps late."""
    ranks = range(min(2, prepared.launch.cluster[0] * prepared.launch.cluster[1]))
    warps = range(prepared.launch.block[0] // 32)
    targets = {
        "starve": KINDS[case.arch],
        "delay": (*(map(str, ranks) if len(ranks) > 1 else ()), *(f"0.{w}" for w in warps[::4])),
    }
    for policy in policies:
        for target in targets.get(policy, ("",)):
            for seed in range(SEEDS if policy in ("random", "pct") else 1):
                yield Settings(
                    timing=policy,
                    target=target,
                    seed=seed,
                    sm_count=SM_COUNT,
                    max_instructions=LONGEST,
                )


def run_once(prepared: Prepared, settings: Settings, *, races: bool = True) -> tuple[int, str]:
    """Warp instructions, and what is wrong: empty when nothing is."""
    prepared.blank()
    listeners = (RaceDetector(RULES),) if races else ()
    try:
        result = emulate(
            prepared.launch, prepared.buffers(), settings=settings, listeners=listeners
        )
    except EmulationError as error:
        return 0, str(error)
    return result.instructions, prepared.judge()


def run_case(case: Case, policies: Iterable[str] = POLICIES, *, races: bool = True) -> Row:
    """Compile a case and run it under the policies, up to the first failure.

    Args:
        races: whether the race detector listens.
    """
    start = time.perf_counter()
    try:
        prepared = case.prepare()
    except Exception as error:
        message = f"does not compile: {type(error).__name__}: {error}"
        return Row(case.name, 0, 0, time.perf_counter() - start, 0.0, message)
    ready = time.perf_counter()
    runs = instructions = 0
    passed: Counter[str] = Counter()
    message = ""
    for settings in settings_of(case, prepared, policies):
        done, message = run_once(prepared, settings, races=races)
        runs, instructions = runs + 1, instructions + done
        if message:
            what = f"{settings.timing} {settings.target} seed {settings.seed}".replace("  ", " ")
            message = f"{what}: {message}"
            break
        passed[settings.timing] += 1
    seconds = time.perf_counter() - ready
    return Row(case.name, runs, instructions, ready - start, seconds, message, dict(passed))
