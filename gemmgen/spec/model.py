"""The shape of a spec: one frozen, strict Pydantic model a table, in file order.

Rules that need one value only live here. Rules across fields live in `gemmgen.plan` and `gemmgen.check`,
where the arithmetic can be shown. Nothing has a default that changes the kernel: an optional table is an
absent feature.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gemmgen.terms import (
    Arch,
    ArriveHow,
    ArriveTo,
    Dtype,
    EpilogueKind,
    KExtent,
    LoadKind,
    MainloopKind,
    Major,
    MmaKind,
    Operand,
    Region,
    Ring,
    Role,
    SchedulerKind,
    Swizzle,
)

SafeName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Warp = Annotated[int, Field(ge=0, le=31)]
Extent = Annotated[int, Field(ge=1, le=4096)]


class Table(BaseModel):
    """Base of every table: unknown keys refused, no coercion, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Published(Table):
    """A figure from the write-up that a version reproduces: quoted, not measured here."""

    device: str
    m: int
    n: int
    k: int
    time_us: float


class Lineage(Table):
    """Where a version stands in its ladder, and what its diff may touch."""

    ladder: SafeName
    predecessor: SafeName | None = None
    changes: list[Region]
    what: str
    why: str
    published: Published | None = None


class Matrix(Table):
    dtype: Dtype
    major: Major


class Problem(Table):
    """``D[M, N] = A[M, K] @ B[N, K].T``."""

    a: Matrix
    b: Matrix
    d: Matrix
    acc_dtype: Dtype
    k_extent: KExtent


class Tile(Table):
    """One CTA's output tile and its K step, in elements."""

    m: Extent
    n: Extent
    k: Extent


class Mma(Table):
    """Shape of one instruction; with ``cta_group = 2`` the shape that the CTA pair computes."""

    kind: MmaKind
    m: Extent
    n: Extent
    k: Extent
    cta_group: Literal[1, 2]


class Cluster(Table):
    """CTAs along M and N. An absent table is a cluster of one."""

    m: Annotated[int, Field(ge=1, le=16)]
    n: Annotated[int, Field(ge=1, le=16)]


class Smem(Table):
    swizzle: Swizzle


class Load(Table):
    kind: LoadKind
    multicast: list[Operand]


class Pipeline(Table):
    ab_stages: Annotated[int, Field(ge=1, le=64)]
    acc_stages: Annotated[int, Field(ge=1, le=16)]


class Mainloop(Table):
    kind: MainloopKind


class RoleWarps(Table):
    warps: list[Warp]
    registers: Annotated[int, Field(ge=24, le=256)] | None = None


class Roles(Table):
    producer: RoleWarps
    mma: RoleWarps
    epilogue: RoleWarps


class Arrive(Table):
    """One kind of arrival on a barrier: by which role, how, and at whose copy of the barrier."""

    by: Role
    how: ArriveHow
    to: ArriveTo


class Barrier(Table):
    name: SafeName
    ring: Ring
    arrive: list[Arrive]
    wait: list[Role]
    pre_armed: bool


class Scheduler(Table):
    kind: SchedulerKind
    group_m: Annotated[int, Field(ge=1, le=1024)] | None = None


class Epilogue(Table):
    kind: EpilogueKind
    chunks: Annotated[int, Field(ge=1, le=64)]
    register_buffers: Literal[1, 2]


class Spec(Table):
    """One kernel. Field order is the order of tables in the file (`gemmgen fmt`)."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    name: SafeName
    arch: Arch
    title: str
    lineage: Lineage
    problem: Problem
    tile: Tile
    mma: Mma
    cluster: Cluster | None = None
    smem: Smem
    load: Load
    pipeline: Pipeline
    mainloop: Mainloop
    roles: Roles
    barriers: list[Barrier]
    scheduler: Scheduler
    epilogue: Epilogue
