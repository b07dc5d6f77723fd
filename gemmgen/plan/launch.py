"""Launch geometry and what a problem must satisfy."""

from __future__ import annotations

from enum import StrEnum

from gemmgen.arch import ArchFacts
from gemmgen.frozen import frozen
from gemmgen.plan.geometry import Geometry
from gemmgen.plan.roles import declared, in_registers, is_persistent
from gemmgen.plan.values import Sum
from gemmgen.spec.model import Spec
from gemmgen.terms import EpilogueKind, KExtent, LoadKind, SchedulerKind


class GridKind(StrEnum):
    """How many CTAs are launched."""

    SINGLE = "single"
    TILES = "tiles"
    PERSISTENT = "persistent"


@frozen
class LaunchPlan:
    """What the host gives to a launch.

    Attributes:
        grid: one CTA or cluster in all, one a tile, or as many clusters as stay resident.
        grid_code: the three grid extents, over ``m``, ``n`` and the constants; persistent:
            ``max_active_clusters``.
        threads: of a CTA.
        cluster: CTAs along x, y and z; (1, 1, 1) launches without the attribute.
        smem_bytes: dynamic shared memory.
        min_blocks: CTAs an SM that the kernel promises to ptxas, which ignores setmaxnreg without;
            None where registers stay.
        dependent: CTAs may start before the grid ahead of them in the stream has ended, and wait.
        parameters: of the host function, after ``a, b, d``.
    """

    grid: GridKind
    grid_code: tuple[str, str, str]
    threads: int
    cluster: tuple[int, int, int]
    smem_bytes: int
    min_blocks: int | None
    dependent: bool
    parameters: tuple[str, ...]


@frozen
class ProblemRules:
    """What a problem must satisfy; the generated host code refuses the rest before any launch.

    Attributes:
        m_multiple, n_multiple: what M and N are multiples of, with the arithmetic.
        ragged: tiles may hang over the edges of D, where TMA clips its stores.
        k_multiple: what K is a multiple of: 16 bytes, for the tensor map's strides; a whole k_tile
            where plain loads fill nothing with zeros.
        m_exact, n_exact, k_exact: the only M, N or K that there is, or None.
        stride_multiple: row strides of A, B and D are multiples of this many elements.
        n_tiles_max: CTA tiles along N: the grid's y extent, or None where it does not depend on N.
        extent_max: largest M, N or K that 32-bit coordinates hold.
    """

    m_multiple: Sum
    n_multiple: Sum
    ragged: bool
    k_multiple: int
    m_exact: int | None
    n_exact: int | None
    k_exact: int | None
    stride_multiple: int
    n_tiles_max: int | None
    extent_max: int


def is_ragged(spec: Spec) -> bool:
    """Whether tiles may hang over the edges of D: TMA reads zeros there and clips its stores.

    So far the kernels for wgmma do.
    """
    return spec.epilogue.kind is EpilogueKind.TMA_STORE and in_registers(spec)


def _ceiling(extent: str, tile: str, cluster: str, ctas: int) -> str:
    step = f"{tile} * {cluster}" if ctas > 1 else tile
    return f"cute.ceil_div({extent}, {step})"


def plan_launch(spec: Spec, g: Geometry, threads: int, smem_bytes: int) -> LaunchPlan:
    """Launch geometry of `spec`."""
    persistent = is_persistent(spec)
    single = spec.scheduler.kind is SchedulerKind.SINGLE
    tiles = ("m // TILE_M", "n // TILE_N", "1")
    if single:
        tiles = ("CLUSTER_M", "CLUSTER_N", "1") if g.cluster_size > 1 else ("1", "1", "1")
    rows, columns = ("m // TILE_M", "n // TILE_N")
    if g.cluster_m > 1:
        rows = "m // (TILE_M * CLUSTER_M)"
    if g.cluster_n > 1:
        columns = "n // (TILE_N * CLUSTER_N)"
    if is_ragged(spec):
        rows = _ceiling("m", "TILE_M", "CLUSTER_M", g.cluster_m)
        columns = _ceiling("n", "TILE_N", "CLUSTER_N", g.cluster_n)
        whole = (rows, "CLUSTER_M"), (columns, "CLUSTER_N")
        extents = zip(whole, (g.cluster_m, g.cluster_n), strict=True)
        m_tiles, n_tiles = (f"{c} * {n}" if size > 1 else c for (c, n), size in extents)
        tiles = (m_tiles, n_tiles, "1")
    else:
        rows, columns = f"({rows})", f"({columns})"
    clusters = f"cutlass.min({rows} * {columns}, max_active_clusters)"
    resident = ("CLUSTER_M", "CLUSTER_N", clusters) if g.cluster_size > 1 else ("1", "1", clusters)
    return LaunchPlan(
        grid=GridKind.PERSISTENT if persistent else GridKind.SINGLE if single else GridKind.TILES,
        grid_code=resident if persistent else tiles,
        threads=threads,
        cluster=(g.cluster_m, g.cluster_n, 1),
        smem_bytes=smem_bytes,
        min_blocks=1 if any(role.registers for _, role in declared(spec)) else None,
        dependent=spec.launch is not None,
        parameters=("max_active_clusters", "stream") if persistent else ("stream",),
    )


def plan_problem(spec: Spec, arch: ArchFacts, g: Geometry) -> ProblemRules:
    """What a problem must satisfy for `spec`."""
    nbytes = spec.problem.a.dtype.nbytes
    step = arch.tma.stride_bytes_multiple // nbytes
    one_step = spec.problem.k_extent is KExtent.ONE_STEP
    single = spec.scheduler.kind is SchedulerKind.SINGLE
    whole, ragged = spec.load.kind is LoadKind.COOPERATIVE, is_ragged(spec)
    m_multiple = _multiple(g.tile_m, g.cluster_m, "TILE_M", "CLUSTER_M")
    n_multiple = _multiple(g.tile_n, g.cluster_n, "TILE_N", "CLUSTER_N")
    return ProblemRules(
        m_multiple=Sum(1, "1") if ragged else m_multiple,
        n_multiple=Sum(step, str(step)) if ragged else n_multiple,
        ragged=ragged,
        k_multiple=g.tile_k if whole else step,
        m_exact=g.cluster_tile_m if single else None,
        n_exact=g.cluster_tile_n if single else None,
        k_exact=g.tile_k if one_step else None,
        stride_multiple=step,
        n_tiles_max=None if is_persistent(spec) or single else arch.grid_yz_max,
        extent_max=2**31 - 1,
    )


def _multiple(tile: int, cluster: int, tile_name: str, cluster_name: str) -> Sum:
    text = tile_name if cluster == 1 else f"{tile_name} * {cluster_name}"
    return Sum(tile * cluster, text)
