"""The shape of a spec: one frozen, strict Pydantic model a table, in file order.

Rules that need one value only live here. Rules across fields live in `gemmgen.plan` and
`gemmgen.check`, where the arithmetic can be shown. Nothing has a default that changes the kernel:
an optional table is an absent feature. Descriptions become `specs/schema.json` and help in errors.

Annotations are not postponed here: Pydantic would evaluate each from its text, which doubles the
time that this module takes to import.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from gemmgen.spec.fields import (
    BarrierName,
    FileName,
    Prose,
    SafeName,
    Seq,
    Table,
    Title,
    Word,
    integer,
    refuse,
)
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

Warp = Annotated[int, Field(ge=0, le=31)]
Extent = Annotated[int, Field(ge=1, le=4096)]
Size = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Published(Table):
    """A figure from the write-up that a version reproduces: quoted, not measured here."""

    device: Title = Field(description="device that it was measured on")
    m: Size = Field(description="rows of D")
    n: Size = Field(description="columns of D")
    k: Size = Field(description="length of the sum")
    time_us: float | None = Field(
        default=None, gt=0, description="time of one run, in microseconds"
    )
    tflops: float | None = Field(
        default=None, gt=0, description="rate in TFLOP/s, where no time was published"
    )


def _one_figure(published: Published | None) -> Published | None:
    if published and (published.time_us is None) == (published.tflops is None):
        title = "a published figure is one time or one rate"
        raise refuse("S114", title, "give `time_us` or `tflops`, as it was published")
    return published


class Lineage(Table):
    """Where a version stands in its ladder, and what its diff may touch."""

    ladder: SafeName = Field(description="ladder that this version is a rung of")
    predecessor: SafeName | None = Field(
        default=None,
        description="name of the rung below, a file of the same folder; absent in the first one",
    )
    changes: Seq[Word[Region]] = Field(
        description="regions of the generated kernel that may differ from the predecessor's"
    )
    what: Prose = Field(
        description="what this version does differently, for the docstring of the kernel"
    )
    why: Prose = Field(
        description="why that is faster, or why it is not, for the docstring of the kernel"
    )
    published: Annotated[Published | None, AfterValidator(_one_figure)] = Field(
        default=None, description="a published figure, quoted and not measured here"
    )


class Matrix(Table):
    """Element type and contiguous mode of one matrix."""

    dtype: Word[Dtype] = Field(description="element type in memory")
    major: Word[Major] = Field(description="mode that is contiguous in memory")


class Problem(Table):
    """``D[M, N] = A[M, K] @ B[N, K].T``."""

    a: Matrix = Field(description="A, M x K")
    b: Matrix = Field(description="B, N x K")
    d: Matrix = Field(description="D, M x N")
    acc_dtype: Word[Dtype] = Field(description="type of the accumulator")
    k_extent: Word[KExtent] = Field(
        description="how much of K the kernel can walk: one_step is a single tile, any is a loop"
    )


class Tile(Table):
    """One CTA's output tile and its K step, in elements."""

    m: Extent = Field(description="rows of D that one CTA computes")
    n: Extent = Field(description="columns of D that one CTA computes")
    k: Extent = Field(description="elements of K that one stage holds")


class Mma(Table):
    """Shape of one instruction; with ``cta_group = 2`` the shape that the CTA pair computes."""

    kind: Word[MmaKind] = Field(description="family of tensor core instruction")
    m: Extent = Field(description="rows of one instruction, in elements")
    n: Extent = Field(description="columns of one instruction, in elements")
    k: Extent = Field(description="elements of K that one instruction consumes")
    cta_group: Annotated[Literal[1, 2], BeforeValidator(integer)] = Field(
        description="CTAs that issue one instruction together: 2 is a CTA pair"
    )


class Cluster(Table):
    """CTAs along M and N. An absent table is a cluster of one."""

    m: Annotated[int, Field(ge=1, le=16)] = Field(description="CTAs along M")
    n: Annotated[int, Field(ge=1, le=16)] = Field(description="CTAs along N")


class Smem(Table):
    """Layout of the operands in shared memory."""

    swizzle: Word[Swizzle] = Field(
        description="swizzle of the A and B stages, named by the bytes of a row that it permutes"
    )


class Load(Table):
    """How operands reach shared memory."""

    kind: Word[LoadKind] = Field(
        description="tma, or plain copies by threads: all, or a role of them (cooperative)"
    )
    multicast: Seq[Word[Operand]] = Field(
        description="operands that TMA writes to every CTA of the cluster that reads them"
    )


class Pipeline(Table):
    """Depth of the ring buffers, in stages."""

    ab_stages: Annotated[int, Field(ge=1, le=64)] = Field(
        description="stages of A and B in shared memory, tile.k elements of K each"
    )
    acc_stages: Annotated[int, Field(ge=1, le=16)] = Field(
        description="accumulator slots of a consumer in tensor memory, tile.n columns each"
    )


class Mainloop(Table):
    """How loads and MMAs are interleaved."""

    kind: Word[MainloopKind] = Field(description="order of loads, waits and MMAs over K")


class RoleWarps(Table):
    """The warps of one role."""

    warps: Seq[Warp] = Field(description="warp indices in the CTA, from 0")
    registers: Annotated[int, Field(ge=24, le=256, multiple_of=8)] | None = Field(
        default=None,
        description="registers a thread that setmaxnreg asks for; absent: setmaxnreg is not used",
    )


class Roles(Table):
    """Which warps do what. A warp may have two roles only where one follows the other."""

    producer: RoleWarps = Field(description="issues the loads of A and B")
    mma: RoleWarps = Field(
        description="issues the MMAs; consumers, each with its rows of A or tiles of its own, are"
        " the warps with tcgen05 and the warpgroups with wgmma"
    )
    epilogue: RoleWarps = Field(
        description="carries the accumulator to global memory, a warpgroup for each consumer"
    )


class Arrive(Table):
    """One kind of arrival on a barrier: by which role, how, and at whose copy of the barrier."""

    by: Word[Role] = Field(description="role that causes the arrival")
    how: Word[ArriveHow] = Field(
        description="tx: bytes that TMA writes; commit: MMAs that finish; thread: one thread for"
        " its role in a CTA; threads: every thread of its role; warps: one thread of each warp"
    )
    to: Word[ArriveTo] = Field(
        description="CTAs whose copy it reaches: self, leader, both of a pair, all sharers"
    )


class Barrier(Table):
    """One mbarrier, or a ring of them. Counts, bytes and masks are derived, never declared."""

    name: BarrierName = Field(description="name in the generated code: what, then its state")
    ring: Word[Ring] = Field(
        description="what it has a slot for: an A/B stage, an accumulator slot, a consumer, or just"
        " one"
    )
    arrive: Seq[Arrive] = Field(description="who arrives")
    wait: Seq[Word[Role]] = Field(description="roles that wait for it")
    pre_armed: bool = Field(
        description="the first wait passes at once: what it hands back starts free; of a ring of"
        " consumers the first consumer's"
    )


class Scheduler(Table):
    """How output tiles are given to CTAs."""

    kind: Word[SchedulerKind] = Field(
        description="tiles a CTA: one in all, one each (grid), many (persistent, clc)"
    )
    group_m: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        default=None,
        description="rows of cluster tiles that are walked before the next column; absent: all",
    )
    group_n: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        default=None,
        description="columns of cluster tiles that are walked before the next row, instead of"
        " group_m",
    )


class Epilogue(Table):
    """How the accumulator reaches global memory."""

    kind: Word[EpilogueKind] = Field(
        description="direct: registers to global memory; tma_store: through shared memory"
    )
    chunks: Annotated[int, Field(ge=1, le=64)] = Field(
        description="pieces, along N, that the tile is read in"
    )
    register_buffers: Annotated[Literal[1, 2], BeforeValidator(integer)] = Field(
        description="chunks in registers: with 2, the next read is issued before this one's store"
    )
    d_stages: Annotated[int, Field(ge=1, le=64)] | None = Field(
        default=None,
        description="chunks of D staged in shared memory for each accumulator; tma_store only",
    )
    deferred: Literal[True] | None = Field(
        default=None,
        description="the chunks of a tile are stored under the first k_tiles of the next one;"
        " absent: before it",
    )


class Launch(Table):
    """How the host launches the kernel. An absent table is a launch after the end of what is
    before it in the stream.
    """

    dependent: Literal[True] = Field(
        description="programmatic dependent launch: CTAs start while the grid before still runs,"
        " and wait for its end before they touch global memory"
    )


def namesake(name: str, first: int, second: int) -> tuple[str, str]:
    """Title and help for two barriers, by index, with one name."""
    title = f"two barriers are named `{name}`: barriers {first + 1} and {second + 1}"
    return title, "give each barrier a name of its own"


def _distinct_names(barriers: tuple[Barrier, ...]) -> tuple[Barrier, ...]:
    first: dict[str, int] = {}
    for i, barrier in enumerate(barriers):
        if (other := first.setdefault(barrier.name, i)) != i:
            title, help_ = namesake(barrier.name, other, i)
            raise refuse("S109", title, help_, index=i, at="name")
    return barriers


class Spec(Table):
    """One kernel. Field order is the order of tables in the file (`gemmgen fmt`)."""

    schema_: Annotated[Literal[1], BeforeValidator(integer)] = Field(
        alias="schema", description="version of this format"
    )
    name: FileName = Field(description="stem of this file and of the generated one")
    arch: Word[Arch] = Field(description="architecture that the kernel is compiled for")
    title: Title = Field(description="the lesson of this version in a few words")
    lineage: Lineage = Field(description="place in the ladder")
    problem: Problem = Field(description="types and layouts of the matrices")
    tile: Tile = Field(description="output tile and K step of one CTA, in elements")
    mma: Mma = Field(description="the tensor core instruction")
    cluster: Cluster | None = Field(
        default=None, description="CTAs of a cluster; absent: a cluster of one"
    )
    smem: Smem = Field(description="layout of the operands in shared memory")
    load: Load = Field(description="how operands reach shared memory")
    pipeline: Pipeline = Field(description="depth of the ring buffers")
    mainloop: Mainloop = Field(description="how loads and MMAs are interleaved")
    roles: Roles = Field(description="which warps do what")
    barriers: Annotated[
        tuple[Barrier, ...], Field(strict=False, max_length=32), AfterValidator(_distinct_names)
    ] = Field(
        default=(),
        description="the barrier protocol, one entry a barrier; absent: none but the CTA's",
    )
    scheduler: Scheduler = Field(description="how output tiles are given to CTAs")
    epilogue: Epilogue = Field(description="how the accumulator reaches global memory")
    launch: Launch | None = Field(
        default=None, description="how the host launches the kernel; absent: in order"
    )
