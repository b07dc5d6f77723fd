"""Faults of planned resources: memory maps, roles, launch, printed constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gemmgen.plan import Plan
from gemmgen.spec import Spec
from gemmgen.terms import Role
from mutants.edit import both, where
from mutants.model import Expect, Kind
from mutants.plan_edit import (
    RUN,
    constant,
    each_copy,
    from_spec,
    kind,
    spec_table,
    whole,
)
from mutants.subjects import Rung
from mutants.text_setup import in_cluster, is_pair, is_persistent, is_wgmma, loads_by_tma


def _warps(role: str, move: Any) -> Any:
    def specs(spec: Spec, plan: Plan) -> Iterator[tuple[str, Spec]]:
        data = spec.model_dump(by_alias=True, mode="json", exclude_none=True)
        warps = move(plan, data["roles"][role]["warps"])
        if warps is not None:
            roles = data["roles"] | {role: data["roles"][role] | {"warps": warps}}
            yield role, Spec.model_validate(data | {"roles": roles})

    return from_spec(specs)


def _leader_only(plan: Plan) -> Plan:
    roles = tuple(replace(role, leader_only=False) for role in plan.roles)
    return replace(plan, roles=roles)


def _slots_overlap(plan: Plan) -> Plan | None:
    if plan.tmem is None or len(plan.tmem.slots) < 2:
        return None
    half = plan.tmem.acc_columns // 2
    return replace(
        plan, tmem=replace(plan.tmem, slots=tuple(half * i for i in range(len(plan.tmem.slots))))
    )


def _allocated(plan: Plan) -> Plan | None:
    tmem = plan.tmem
    return replace(plan, tmem=replace(tmem, allocated=tmem.allocated // 2)) if tmem else None


def _operands_overlap(plan: Plan) -> Plan:
    fields = tuple(
        replace(field, offset=plan.smem.field("a").offset) if field.name == "b" else field
        for field in plan.smem.fields
    )
    return replace(plan, smem=replace(plan.smem, fields=fields))


def _barriers_overlap(plan: Plan) -> Plan | None:
    if len(plan.barriers) < 2:
        return None
    second = plan.barriers[1]
    moved = replace(second, offset=plan.barriers[0].offset)
    return replace(plan, barriers=(plan.barriers[0], moved, *plan.barriers[2:]))


def _has_m_rule(rung: Rung) -> bool:
    """Whether M has to be a multiple of more than one CTA's rows; ragged tiles need none."""
    return in_cluster(rung) and rung.plan.problem.m_multiple.value > rung.plan.geometry.tile_m


def _m_multiple(plan: Plan) -> Plan:
    rules = replace(
        plan.problem,
        m_multiple=replace(plan.problem.m_multiple, value=plan.geometry.tile_m, text="TILE_M"),
    )
    return replace(plan, problem=rules)


def _grid_code(plan: Plan) -> Plan:
    x, y, z = plan.launch.grid_code
    return replace(plan, launch=replace(plan.launch, grid_code=(y, x, z)))


def _cluster_launch(plan: Plan) -> Plan:
    return replace(plan, launch=replace(plan.launch, cluster=(1, 1, 1)))


def _threads(plan: Plan) -> Plan:
    return replace(
        plan,
        threads=plan.threads - 32,
        launch=replace(plan.launch, threads=plan.launch.threads - 32),
    )


MEMORY: tuple[Kind, ...] = (
    kind("slots_overlap", "two accumulators share columns", whole("tmem", _slots_overlap)),
    kind("allocated_half", "the last columns belong to nobody", whole("tmem", _allocated)),
    kind("operands_overlap", "B is loaded over A", whole("smem", _operands_overlap)),
    kind("barriers_overlap", "two barriers at one address", whole("smem", _barriers_overlap)),
    kind(
        "too_many_stages",
        "more shared memory than a CTA can have",
        spec_table("pipeline", ab_stages=64),
    ),
    kind(
        "too_many_slots",
        "more columns than tensor memory has",
        where(is_persistent, spec_table("pipeline", acc_stages=4)),
    ),
    kind(
        "zero_step",
        "an instruction shape that the tensor core does not have",
        spec_table("mma", n=248),
    ),
    kind(
        "tile_below_mma",
        "instructions do not cover the tile",
        where(lambda rung: not is_wgmma(rung), spec_table("tile", m=64)),
    ),
    kind(
        "tile_k_below_swizzle",
        "rows are shorter than the swizzle",
        where(lambda rung: rung.plan.spec.smem.swizzle != "none", spec_table("tile", k=32)),
    ),
    kind("tile_k_uneven", "a stage is not a whole number of steps", spec_table("tile", k=24)),
    kind("chunks_uneven", "the last columns are never read", spec_table("epilogue", chunks=3)),
    kind(
        "issued_half",
        "a load brings half of its rows",
        where(
            loads_by_tma,
            each_copy(lambda plan, c: replace(c, issued_bytes=c.issued_bytes // 2)),
        ),
    ),
    kind(
        "slices_one_less",
        "a stage is not whole",
        each_copy(lambda plan, c: replace(c, slices=c.slices - 1) if c.slices > 1 else None),
    ),
)

ROLES: tuple[Kind, ...] = (
    kind("producer_without_warp", "the role never runs", _warps("producer", lambda plan, w: [])),
    kind("mma_without_warp", "the role never runs", _warps("mma", lambda plan, w: [])),
    kind(
        "roles_share_warp",
        "two roles that wait for each other are one warp",
        where(
            lambda rung: not rung.plan.one_warp_mainloop,
            _warps("mma", lambda plan, w: list(plan.role(Role.PRODUCER).warps)),
        ),
    ),
    kind(
        "mainloop_of_two_warps",
        "loads and MMAs in turn, by two warps",
        where(lambda rung: rung.plan.one_warp_mainloop, _warps("mma", lambda plan, w: [1])),
    ),
    kind(
        "mma_warp_in_epilogue",
        "the mma warp waits for itself",
        where(is_persistent, _warps("mma", lambda plan, w: [3])),
    ),
    kind(
        "epilogue_misaligned",
        "a warp reads lanes that are not its own",
        _warps("epilogue", lambda plan, w: [x + 1 for x in w]),
    ),
    kind(
        "epilogue_warp_missing",
        "32 rows are never read",
        _warps("epilogue", lambda plan, w: w[:-1]),
    ),
    kind(
        "epilogue_gap",
        "the epilogue's warps are no range",
        _warps("epilogue", lambda plan, w: [*w[:-1], w[-1] + 4]),
    ),
    kind(
        "mma_in_both_ctas",
        "each CTA of a pair issues the pair's MMA",
        where(is_pair, whole("roles", _leader_only)),
    ),
)

LAUNCH: tuple[Kind, ...] = (
    kind(
        "m_multiple_of_one_cta",
        "M is checked against one CTA's rows where a cluster covers more",
        where(_has_m_rule, whole("problem", _m_multiple)),
    ),
    kind(
        "grid_swapped",
        "M and N change places in the grid",
        where(lambda rung: not is_persistent(rung), whole("launch", _grid_code)),
    ),
    kind(
        "cluster_attribute",
        "the launch does not ask for the cluster",
        where(in_cluster, whole("launch", _cluster_launch)),
    ),
    kind("threads_short", "the last role has no warp", whole("launch", _threads)),
    kind(
        "cluster_below_pair", "a pair lies along N", where(is_pair, spec_table("cluster", m=1, n=2))
    ),
    kind(
        "cluster_too_large",
        "more CTAs than a cluster can have",
        where(in_cluster, spec_table("cluster", m=8, n=4)),
    ),
    kind(
        "multicast_alone",
        "multicast to nobody",
        where(lambda rung: not in_cluster(rung), spec_table("load", multicast=["a", "b"])),
    ),
)


def _one_mma_warp(rung: Rung) -> bool:
    return len(rung.plan.role(Role.MMA).warps) == 1


def _producer_warp(plan: Plan, n: int) -> int:
    return plan.role(Role.PRODUCER).warps[0]


CONSTANTS: tuple[Kind, ...] = (
    kind(
        "constant_ab_bytes",
        "the printed bytes are not the planned ones",
        where(loads_by_tma, constant("AB_BYTES", lambda plan, n: n // 2)),
    ),
    kind(
        "constant_stages",
        "the printed ring is not the planned one",
        constant("AB_STAGES", lambda plan, n: n - 1 if n > 2 else n),
        RUN,
    ),
    kind(
        "constant_acc_stages",
        "the printed ring is not the planned one",
        constant("ACC_STAGES", lambda plan, n: n - 1 if n > 1 else n),
        RUN,
    ),
    kind(
        "constant_k_blocks",
        "a step of each k_tile is left out",
        constant("K_BLOCKS", lambda plan, n: n - 1),
    ),
    kind(
        "constant_chunks",
        "the last columns are never read",
        constant("EPI_CHUNKS", lambda plan, n: n - 1),
    ),
    kind(
        "constant_arrivals",
        "the printed count is not the planned one",
        both(
            constant("ACC_EMPTY_ARRIVALS", lambda plan, n: n - 1),
            constant("AB_EMPTY_ARRIVALS", lambda plan, n: n + 1),
        ),
    ),
    kind(
        "constant_tmem_columns",
        "the printed columns are not the planned ones",
        constant("TMEM_COLUMNS", lambda plan, n: n // 2),
    ),
    kind(
        "constant_mask",
        "the printed mask is not the planned one",
        both(constant("PAIR_MASK", lambda plan, n: 1), constant("A_MASK", lambda plan, n: 0b11)),
    ),
    kind(
        "constant_warp",
        "the printed warp is not the planned one",
        both(
            where(_one_mma_warp, constant("MMA_WARP", _producer_warp)),
            constant("PRODUCER_WARP", lambda plan, n: n + 7),
        ),
    ),
    kind(  # no rule of the plan holds this constant to the warps
        "constant_first_warp",
        "the printed first warp of several is not the planned one",
        where(lambda rung: not _one_mma_warp(rung), constant("MMA_WARP", _producer_warp)),
        Expect.RUN,
    ),
)

KINDS = (
    *MEMORY,
    *ROLES,
    *LAUNCH,
    *CONSTANTS,
)
