"""What a GPU architecture allows, as one frozen value; numbers: `sm90a.py`, `sm100a.py`."""

from __future__ import annotations

from gemmgen.frozen import frozen
from gemmgen.terms import Arch, Dtype, MmaKind, Swizzle


@frozen
class MmaRule:
    """The legal shapes of one family of dense tensor core instructions.

    Attributes:
        kind: instruction family.
        cta_group: CTAs that issue it together.
        m: rows of the result; with two CTAs, of the pair.
        n_min, n_max, n_step: columns of the result.
        k_bytes: bytes of K that one instruction reads from a row.
        operand_dtypes: element types of A and B.
        source: where the rule is written.
    """

    kind: MmaKind
    cta_group: int
    m: int
    n_min: int
    n_max: int
    n_step: int
    k_bytes: int
    operand_dtypes: tuple[Dtype, ...]
    source: str

    def k(self, dtype: Dtype) -> int:
        """Elements of K that one instruction reads."""
        return self.k_bytes // dtype.nbytes

    def allows(self, m: int, n: int, k: int, dtype: Dtype) -> bool:
        """Whether (m, n, k) is a shape of this rule for operands of `dtype`."""
        columns = self.n_min <= n <= self.n_max and n % self.n_step == 0
        return dtype in self.operand_dtypes and m == self.m and columns and k == self.k(dtype)

    def text(self, dtype: Dtype) -> str:
        """The rule in words, for instance ``128 x N x 16 with N = 16, 32 .. 256``."""
        first = f"{self.n_min}, {self.n_min + self.n_step}"
        return f"{self.m} x N x {self.k(dtype)} with N = {first} .. {self.n_max}"


@frozen
class TmemFacts:
    """Tensor memory of one SM (PTX ISA, "Tensor Memory")."""

    lanes: int
    columns: int
    alloc_min: int
    column_bytes: int
    lanes_per_warp: int


@frozen
class TmaFacts:
    """Limits of a tiled bulk tensor copy (CUDA driver API, ``cuTensorMapEncodeTiled``).

    Attributes:
        box_max: elements of a box in each mode.
        inner_bytes_multiple: the inner box extent, in bytes, is a multiple of this.
        stride_bytes_multiple: global strides are multiples of this.
        stride_bytes_max: global strides are below this.
        extent_max: elements of a global mode.
        smem_align: alignment of the shared-memory address, in bytes, where there is no swizzle.
    """

    box_max: int
    inner_bytes_multiple: int
    stride_bytes_multiple: int
    stride_bytes_max: int
    extent_max: int
    smem_align: int


@frozen
class BarrierFacts:
    """Limits of barriers (PTX ISA, "mbarrier" and "barrier").

    Attributes:
        bytes: size and alignment of an mbarrier object.
        arrivals_max: largest arrival count of an mbarrier.
        tx_bytes_max: largest transaction count of one phase.
        named: named barriers of a CTA, number 0 being that of ``bar.sync 0``.
    """

    bytes: int
    arrivals_max: int
    tx_bytes_max: int
    named: int


@frozen
class ArchFacts:
    """Limits of one architecture.

    Attributes:
        smem_per_cta: dynamic shared memory that a CTA may opt in to, in bytes.
        registers_per_sm: 32-bit registers.
        registers_per_thread: most that one thread can have.
        register_step: granularity of ``setmaxnreg``.
        threads_per_cta: most threads.
        threads_per_warp: lanes.
        warps_per_group: warps of a warpgroup.
        cluster_portable: most CTAs of a cluster that every device accepts.
        cluster_max: most CTAs of a cluster with the non-portable attribute.
        grid_yz_max: CTAs of a grid along y and along z.
        swizzle_align: alignment of a swizzled buffer, in bytes, by swizzle.
        tmem: tensor memory, absent before sm_100.
        mma: legal instruction shapes.
    """

    arch: Arch
    smem_per_cta: int
    registers_per_sm: int
    registers_per_thread: int
    register_step: int
    threads_per_cta: int
    threads_per_warp: int
    warps_per_group: int
    cluster_portable: int
    cluster_max: int
    grid_yz_max: int
    swizzle_align: tuple[tuple[Swizzle, int], ...]
    barrier: BarrierFacts
    tma: TmaFacts
    tmem: TmemFacts | None
    mma: tuple[MmaRule, ...]

    def alignment(self, swizzle: Swizzle) -> int:
        """Alignment in bytes of an operand buffer with `swizzle`."""
        return dict(self.swizzle_align)[swizzle]

    def rules(self, kind: MmaKind, cta_group: int, dtype: Dtype) -> tuple[MmaRule, ...]:
        """Rules for an instruction family, CTA group and operand type; empty without any."""
        return tuple(
            rule
            for rule in self.mma
            if rule.kind is kind and rule.cta_group == cta_group and dtype in rule.operand_dtypes
        )
