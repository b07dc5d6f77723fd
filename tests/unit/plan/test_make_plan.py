from __future__ import annotations

import dataclasses

import pytest
from variants import SPECS, vary

from gemmgen.plan import FieldKind, Plan, Purpose, default_shapes, make_plan
from gemmgen.spec import load_spec
from gemmgen.terms import Role

ALL = sorted(path.stem for path in SPECS.glob("v*.toml"))


@pytest.fixture(params=ALL)
def plan(request: pytest.FixtureRequest) -> Plan:
    return make_plan(load_spec(SPECS / f"{request.param}.toml"))


def test_constants_evaluate_in_order_to_the_planned_values(plan: Plan) -> None:
    scope: dict[str, int] = {}
    for line in plan.constants:
        exec(line.statement, {"__builtins__": {}}, scope)
        for constant in line.constants:
            assert scope[constant.name] == constant.value, constant


def test_constant_names_are_used_once(plan: Plan) -> None:
    names = [constant.name for line in plan.constants for constant in line.constants]
    assert len(names) == len(set(names))


def test_shared_memory_fields_do_not_overlap_and_are_aligned(plan: Plan) -> None:
    end = 0
    for field in plan.smem.fields:
        assert field.offset >= end
        assert field.offset % field.align == 0
        end = field.offset + field.bytes
    assert end == plan.smem.total.value == plan.launch.smem_bytes <= plan.smem.limit


def test_shared_memory_starts_with_the_barriers_in_spec_order(plan: Plan) -> None:
    barriers = [f.name for f in plan.smem.fields if f.kind is FieldKind.BARRIERS]
    assert barriers == [barrier.name for barrier in plan.spec.barriers]
    assert [f.name for f in plan.smem.fields][len(barriers) :] == ["tmem_slot", "a", "b"]


def test_tensor_memory_is_a_power_of_two_that_holds_every_slot(plan: Plan) -> None:
    assert plan.tmem is not None
    allocated = plan.tmem.allocated
    assert allocated & (allocated - 1) == 0
    assert plan.tmem.slots[-1] + plan.tmem.acc_columns <= allocated <= 512


def test_bytes_of_a_stage_are_those_that_its_barrier_expects(plan: Plan) -> None:
    full = plan.barrier(Purpose.AB_FULL)
    assert full is not None
    assert full.tx_bytes is not None
    landed = sum(copy.issued_bytes * copy.slices for copy in plan.copies)
    assert full.tx_bytes.value == landed * plan.geometry.cta_group


def test_a_plan_cannot_be_changed(plan: Plan) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.threads = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "total"),
    [("v6_multicast", 197_632), ("v7_two_cta", 197_632), ("v0_single_tile", 12_416)],
)
def test_shared_memory_is_what_the_ladder_says(name: str, total: int) -> None:
    assert vary(name).smem.total.value == total


def test_sums_print_their_arithmetic() -> None:
    plan = vary("v8_persistent", {"pipeline.ab_stages": 8})
    text = "(A 16_384 + B 16_384) x 8 stages + 1_024 barriers and padding = 263_168"
    assert str(plan.smem.total) == text
    assert plan.smem.stages_max == 7


@pytest.mark.parametrize(
    ("name", "arrivals"),
    [
        ("v0_single_tile", {"ab_full": 1, "acc_full": 1}),
        ("v2_pipeline", {"ab_full": 1, "mma_done": 1}),
        ("v6_multicast", {"ab_full": 1, "ab_empty": 3, "acc_full": 1}),
        ("v7_two_cta", {"ab_full": 1, "ab_empty": 1, "acc_full": 1}),
        ("v8_persistent", {"ab_full": 1, "ab_empty": 1, "acc_full": 1, "acc_empty": 2}),
    ],
)
def test_arrivals_are_those_of_the_ladder(name: str, arrivals: dict[str, int]) -> None:
    assert {b.name: b.arrivals.value for b in vary(name).barriers} == arrivals


def test_leader_counts_the_bytes_of_both_ctas() -> None:
    full = vary("v7_two_cta").barrier(Purpose.AB_FULL)
    assert full is not None
    assert full.tx_bytes is not None
    assert (full.tx_bytes.value, full.on_leader) == (65_536, True)


def test_first_phase_of_a_pre_armed_barrier_is_one() -> None:
    phases = {b.name: b.waits[0].first_phase for b in vary("v8_persistent").barriers}
    assert phases == {"ab_full": 0, "ab_empty": 1, "acc_full": 0, "acc_empty": 1}


@pytest.mark.parametrize(
    ("name", "barrier", "rule"),
    [
        ("v0_single_tile", "ab_full", ("never", False)),
        ("v1_kloop", "ab_full", ("each_use", False)),
        ("v2_pipeline", "ab_full", ("on_wrap", False)),
        ("v2_pipeline", "mma_done", ("each_use", False)),
        ("v3_warp_specialized", "acc_full", ("never", False)),
        ("v8_persistent", "ab_empty", ("on_wrap", True)),
        ("v8_persistent", "acc_full", ("on_wrap", True)),
    ],
)
def test_phases_flip_as_the_ladder_says(name: str, barrier: str, rule: tuple[str, bool]) -> None:
    wait = next(b for b in vary(name).barriers if b.name == barrier).waits[0]
    assert (wait.flips.value, wait.carried) == rule


def test_purpose_of_a_barrier_does_not_depend_on_its_name() -> None:
    renamed = vary("v8_persistent", {"barriers.ab_full.name": "tma2mma"})
    assert [b.purpose for b in renamed.barriers] == [
        b.purpose for b in vary("v8_persistent").barriers
    ]
    assert renamed.smem.field("tma2mma").offset == 0


def test_epilogue_overlaps_the_mainloop_only_in_a_persistent_kernel() -> None:
    assert vary("v7_two_cta").role(Role.EPILOGUE).concurrent == ()
    overlap = vary("v8_persistent").role(Role.EPILOGUE).concurrent
    assert overlap == (Role.PRODUCER, Role.MMA)


def test_only_a_released_accumulator_needs_a_named_barrier() -> None:
    assert vary("v7_two_cta").epilogue.named_barrier is None
    named = vary("v8_persistent").epilogue.named_barrier
    assert named is not None
    assert (named.number, named.threads) == (1, 128)


def test_plan_is_total_on_specs_that_no_kernel_can_have() -> None:
    plan = vary(
        "v8_persistent",
        {"tile.m": 1, "tile.n": 4095, "tile.k": 1, "mma.k": 4096, "epilogue.chunks": 64,
         "roles.epilogue.warps": [], "barriers": []},
    )  # fmt: skip
    assert plan.smem.total.value > 0
    assert plan.role(Role.EPILOGUE).threads == 0


def test_rows_beyond_a_box_of_tma_are_cut_into_equal_boxes() -> None:
    one, two, three = (
        vary("tirx/v9_two_consumers", {"tile.m": 128 * consumers}).a for consumers in (1, 2, 3)
    )
    assert (one.box, one.boxes) == ((64, 128), 1)
    assert (two.box, two.boxes) == ((64, 256), 1)
    assert (three.box, three.boxes) == ((64, 192), 2)


def test_a_grid_in_groups_has_a_problem_whose_last_group_is_cut_off() -> None:
    shapes = default_shapes(vary("v5_epilogue", {"scheduler.group_m": 4}), 4)
    assert any(shape.m == 5 * 128 and "cut off" in shape.why for shape in shapes)
