"""Schedules turn over every policy, target and size; a plan knows what can starve or be late."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter

import pytest
from variants import vary

from gemmgen.emulate import Settings
from gemmgen.run.schedules import (
    POLICIES,
    check_target,
    command_line,
    delayed,
    plan_schedules,
    problems,
    starved_kinds,
)
from gemmgen.terms import GemmgenError

RUNGS = ("v0_single_tile", "v3_warp_specialized", "v6_multicast", "v8_persistent")


@pytest.mark.parametrize("name", RUNGS)
def test_a_hundred_schedules_meet_every_pair_of_policy_and_size(name: str) -> None:
    plan = vary(name)
    met = {(s.settings.timing, s.shape, s.settings.sm_count) for s in plan_schedules(plan, 100)}
    pairs = problems(plan, 8)
    assert met == {(p, *pair) for p, pair in itertools.product(POLICIES, pairs)}


def test_a_hundred_schedules_starve_each_kind_and_delay_each_warp() -> None:
    plan = vary("v8_persistent")
    by_policy = {p: set() for p in POLICIES}
    for schedule in plan_schedules(plan, 100):
        by_policy[schedule.settings.timing].add(schedule.settings.target)
    assert by_policy["starve"] == {"tma_load", "mma", "commit"}
    every = {s.settings.target for s in plan_schedules(plan, 600) if s.settings.timing == "delay"}
    assert every == {"0", "1", *(f"{rank}.{warp}" for rank in (0, 1) for warp in range(6))}
    assert by_policy["lazy"] == {""}


def test_no_schedule_is_made_twice() -> None:
    for name in RUNGS:
        schedules = plan_schedules(vary(name), 200)
        fixed = [(s.settings.timing, s.shape, s.settings.sm_count) for s in schedules]
        counts = Counter(key for key in fixed if key[0] in ("lazy", "eager"))
        assert set(counts.values()) == {1}
        assert len({s.settings.seed for s in schedules}) == 200


def test_few_schedules_still_reach_the_largest_size() -> None:
    plan = vary("v7_two_cta")
    sizes = [s.shape for s in plan_schedules(plan, 6)]
    assert set(sizes) == {problems(plan, 8)[-1][0]}
    spread = [s.shape for s in plan_schedules(plan, 24)]
    assert spread[-1] == sizes[0]
    assert len(set(spread)) == 4
    assert spread == sorted(spread, key=lambda s: (s[0] * s[1], s[2]))


def test_persistent_kernels_also_run_with_one_cluster_that_walks_over_all_tiles() -> None:
    found = problems(vary("v8_persistent"), 8)
    assert {count for _, count in found} == {2, 8}
    walks = [m * n // (256 * 256) for (m, n, _), count in found if count == 2]
    assert max(walks) >= 5, "both accumulator slots twice, and once more"
    assert {count for _, count in problems(vary("v7_two_cta"), 8)} == {8}


def test_given_shapes_are_the_only_ones() -> None:
    shapes = ((128, 256, 128), (128, 256, 64))
    schedules = plan_schedules(vary("v4_swizzle"), 30, shapes=shapes)
    assert {s.shape for s in schedules} == set(shapes)


def test_equal_arguments_give_equal_schedules_and_seeds_count_on() -> None:
    plan = vary("v5_epilogue")
    assert plan_schedules(plan, 40, seed=7) == plan_schedules(plan, 40, seed=7)
    assert [s.settings.seed for s in plan_schedules(plan, 5, seed=7)] == [7, 8, 9, 10, 11]


def test_the_command_line_names_the_whole_schedule() -> None:
    settings = Settings(timing="starve", target="tma_load", seed=17, sm_count=2, races=True)
    words = shlex.split(command_line("my kernels/v8.py", (256, 512, 448), settings))
    assert words == [
        *("gemmgen", "test", "my kernels/v8.py", "--shape", "256,512,448", "--timing", "starve"),
        *("--target", "tma_load", "--seed", "17", "--sm-count", "2"),
    ]
    plain = command_line("v8.py", (256, 256, 64), Settings(timing="eager", sm_count=8))
    assert plain == "gemmgen test v8.py --shape 256,256,64 --timing eager --seed 0 --no-races"


@pytest.mark.parametrize(
    ("timing", "target"),
    [("starve", "tma_lode"), ("delay", "2"), ("delay", "0.6"), ("delay", "one"), ("lazy", "0")],
)
def test_a_target_that_the_plan_does_not_have_is_refused(timing: str, target: str) -> None:
    with pytest.raises(GemmgenError, match="T420") as caught:
        check_target(vary("v8_persistent"), Settings(timing=timing, target=target))
    assert caught.value.findings[0].help


def test_every_target_that_is_drawn_is_accepted() -> None:
    for name in RUNGS:
        plan = vary(name)
        for kind in (*starved_kinds(plan), ",".join(starved_kinds(plan))):
            check_target(plan, Settings(timing="starve", target=kind))
        for late in delayed(plan):
            check_target(plan, Settings(timing="delay", target=late))
