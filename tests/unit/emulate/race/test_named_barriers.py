"""Two groups of warps may use one named barrier one after the other, and not at the same time."""

from __future__ import annotations

import pytest
from ptx import Kernel

from gemmgen.compile.launch import Launch
from gemmgen.emulate import EmulationError, Settings, emulate

ALL = "bar.sync 0;"
FIRST = "setp.lt.u32 %p1, %r0, 64;"  # %p1: warps 0 and 1 of four


def told(*lines: str, timing: str = "lazy", seed: int = 0) -> str:
    """What is said of a kernel of four warps."""
    k = Kernel()
    k(FIRST)
    for line in lines:
        k(line)
    shape = (1, 1, 1)
    launch = Launch(k.text(), "kernel", shape, (128, 1, 1), shape, 1024, ())
    try:
        emulate(launch, [], settings=Settings(timing=timing, seed=seed, races=True))
    except EmulationError as error:
        return str(error)
    return ""


def groups(first: int, second: int, between: str = "", times: int = 3) -> list[str]:
    """Warps 0 and 1 meet at one barrier, warps 2 and 3 at another, `times` each."""
    return [
        f"@!%p1 bra OTHER; {f'bar.sync {first}, 64; ' * times} OTHER: {between}",
        f"@%p1 bra DONE; {f'bar.sync {second}, 64; ' * times} DONE:",
    ]


@pytest.mark.parametrize("timing", ["lazy", "eager", "random"])
@pytest.mark.parametrize("seed", range(4))
def test_two_groups_at_one_barrier_are_found_whatever_the_schedule(timing: str, seed: int) -> None:
    message = told(*groups(1, 1), timing=timing, seed=seed)
    assert message.startswith("error[E219]"), message
    assert "arrives at barrier 1, and nothing orders that after the arrival of warp" in message
    assert told(*groups(1, 2), timing=timing, seed=seed) == ""


@pytest.mark.parametrize("seed", range(4))
def test_two_groups_may_use_one_barrier_in_turn(seed: int) -> None:
    assert told(*groups(1, 1, between=ALL), timing="random", seed=seed) == ""


def test_a_group_that_overlaps_the_last_must_know_that_it_has_met() -> None:
    """Warps 0 and 1 meet, then warps 1 and 2: warp 2 could be counted with warp 0."""
    meet = "@{} bra SKIP{}; bar.sync 1, 64; SKIP{}:"
    last = "setp.lt.u32 %p2, %r0, 32; setp.ge.u32 %p3, %r0, 96; or.pred %p2, %p2, %p3;"
    lines = (last, meet.format("!%p1", 1, 1), meet.format("%p2", 2, 2))
    assert told(*lines).startswith("error[E219]")
    assert told(lines[0], lines[1], ALL, lines[2]) == ""


def test_an_arrival_ahead_of_its_turn_is_found() -> None:
    """Warps 0 and 1 only arrive; twice in a row nothing tells them that warps 2 and 3 have met."""
    early = "@!%p1 bra WAIT; bar.arrive 1, 128; {} bar.arrive 1, 128; bra DONE;"
    late = "WAIT: bar.sync 1, 128; {} bar.sync 1, 128; DONE:"
    assert told(early.format(""), late.format("")).startswith("error[E219]")
    turn = "bar.sync 2, 128;"
    assert told(early.format(turn), late.format(turn)) == ""
