"""Operands laid out byte by byte, and kernels that multiply them with tcgen05.mma."""

from __future__ import annotations

import numpy as np
from ptx import Kernel

SOURCE, TARGET = 0x1_0000_0000, 0x2_0000_0000
A_AT, B_AT = 1024, 1024 + 32768
SMEM = 1024 + 2 * 32768


def k_major_128(matrix: np.ndarray) -> np.ndarray:
    """The bytes of a (rows, K) matrix, K filling 128 bytes, with 128-byte swizzle."""
    raw = np.ascontiguousarray(matrix).view(np.uint8)
    rows = raw.shape[0]
    out = np.zeros((rows, 128), dtype=np.uint8)
    for row in range(rows):
        for chunk in range(raw.shape[1] // 16):
            to = chunk ^ (row % 8)
            out[row, 16 * to : 16 * to + 16] = raw[row, 16 * chunk : 16 * chunk + 16]
    return out.reshape(-1)


def descriptor(offset_register: str, result: str) -> str:
    """Instructions for a K-major descriptor with 128-byte swizzle: SBO 1024, version 1."""
    high = (2 << 61 | 1 << 46 | 64 << 32 | 1 << 16) & ~0x3FFF
    return (
        f"and.b32 %r380, {offset_register}, 0x3ffff; shr.u32 %r380, %r380, 4; "
        f"cvt.u64.u32 {result}, %r380; or.b64 {result}, {result}, {high};"
    )


def instruction(m: int, n: int, d: int = 1) -> int:
    """The instruction descriptor of fp16 operands, K-major; d is 1 for f32, 0 for f16."""
    return d << 4 | (n >> 3) << 17 | (m >> 4) << 24


class Mma:
    """A kernel of 128 threads: operands arrive in shared memory, columns are allocated.

    `%r3` is the accumulator's address, `%d10` and `%d11` the descriptors of A and B. Barrier 0 at
    smem is for the operands, barrier 1 at smem + 8 for commits. `a` and `b` list each CTA's rows.
    """

    def __init__(
        self, a: list[np.ndarray], b: list[np.ndarray], columns: int = 64, d_width: int = 64
    ) -> None:
        self.ctas = len(a)
        self.group = self.ctas
        images = [
            np.concatenate([k_major_128(x), k_major_128(y)]) for x, y in zip(a, b, strict=True)
        ]
        self.out = np.zeros((self.ctas, 128, d_width), dtype=np.uint32)
        self.k = k = Kernel()
        k.buffer(np.stack(images), SOURCE)
        k.buffer(self.out, TARGET)
        a_bytes, b_bytes = a[0].shape[0] * 128, b[0].shape[0] * 128
        k(f"ld.param.u64 %d0, [p{k.param(SOURCE)}]; ld.param.u64 %d1, [p{k.param(TARGET)}];")
        k(f"cvt.u64.u32 %d2, %r2; mul.lo.u64 %d3, %d2, {a_bytes + b_bytes}; add.u64 %d0, %d0, %d3;")
        k(f"mul.lo.u64 %d3, %d2, {self.out[0].nbytes}; add.u64 %d1, %d1, %d3;")
        k("shr.u32 %r4, %r0, 5; setp.eq.u32 %p1, %r4, 0;")
        k("@%p0 mbarrier.init.shared.b64 [%r1], 1; @%p0 mbarrier.init.shared.b64 [%r1+8], 1;")
        k("fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;")
        self.alloc(columns)
        k(f"@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {a_bytes + b_bytes};")
        copy = "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
        k(f"{copy} [%r1+{A_AT}], [%d0], {a_bytes}, [%r1]; add.u64 %d4, %d0, {a_bytes};")
        k(f"{copy} [%r1+{B_AT}], [%d4], {b_bytes}, [%r1];")
        k.wait("%r1")
        k(f"add.u32 %r5, %r1, {A_AT};" + descriptor("%r5", "%d10"))
        k(f"add.u32 %r5, %r1, {B_AT};" + descriptor("%r5", "%d11"))
        k("barrier.cluster.arrive; barrier.cluster.wait; bar.sync 0; ld.shared.b32 %r3, [%r1+16];")
        k("setp.eq.u32 %p2, %r2, 0; and.pred %p2, %p2, %p0;")

    def alloc(self, columns: int) -> None:
        name = f"tcgen05.alloc.cta_group::{self.group}.sync.aligned.shared::cta.b32"
        self.k(f"@!%p1 bra NOALLOC; mov.b32 %r6, {columns}; add.u32 %r7, %r1, 16;")
        self.k(f"{name} [%r7], %r6; NOALLOC: bar.sync 0;")

    def mma(self, word: int, accumulate: int = 0, k_block: int = 0, more: str = "") -> None:
        """Issue one MMA from thread 0 of CTA 0."""
        k = self.k
        lanes = ", ".join(["%r9"] * 4 * self.group)
        k(f"mov.b32 %r8, {word}; mov.b32 %r9, 0; setp.eq.u32 %p3, %r9, {1 - accumulate};")
        k(f"add.u64 %d12, %d10, {2 * k_block}; add.u64 %d13, %d11, {2 * k_block};")
        k(
            f"@%p2 tcgen05.mma.cta_group::{self.group}.kind::f16 [%r3], %d12, %d13, %r8, "
            f"{{{lanes}}}, %p3{more};"
        )

    def commit(self) -> None:
        """Commit from thread 0 of CTA 0 to barrier 1 of every CTA."""
        name = f"tcgen05.commit.cta_group::{self.group}.mbarrier::arrive::one.shared::cluster"
        if self.group == 1:
            self.k(f"@%p2 {name}.b64 [%r1+8];")
        else:
            self.k(f"mov.b16 %h1, 3; @%p2 {name}.multicast::cluster.b64 [%r1+8], %h1;")

    def read(self, width: int, wait: bool = True) -> None:
        """Load `width` columns from all lanes and write them out."""
        k = self.k
        if wait:
            k.wait("%r1+8")
            k("tcgen05.fence::after_thread_sync;")
        names = ", ".join(f"%r{100 + i}" for i in range(width))
        k("shl.b32 %r20, %r4, 21; add.u32 %r20, %r20, %r3;")
        k(f"tcgen05.ld.sync.aligned.32x32b.x{width}.b32 {{{names}}}, [%r20];")
        k("tcgen05.wait::ld.sync.aligned;")
        k(f"mul.wide.u32 %d5, %r0, {self.out.shape[2] * 4}; add.u64 %d5, %d5, %d1;")
        for i in range(width):
            k(f"st.global.b32 [%d5+{4 * i}], %r{100 + i};")

    def dealloc(self, columns: int = 64) -> None:
        """Free the columns."""
        k = self.k
        k("bar.sync 0; barrier.cluster.arrive; barrier.cluster.wait; @!%p1 bra NOFREE;")
        k(f"mov.b32 %r6, {columns};")
        k(f"tcgen05.relinquish_alloc_permit.cta_group::{self.group}.sync.aligned;")
        k(f"tcgen05.dealloc.cta_group::{self.group}.sync.aligned.b32 %r3, %r6; NOFREE:")

    def run(self, **settings: object) -> np.ndarray:
        """Run and return what was read, as float32 (CTA, lane, column)."""
        self.k.run(block=128, grid=self.ctas, cluster=self.ctas, smem=SMEM, **settings)
        return self.out.view(np.float32)


def halves(rng: np.random.Generator, rows: int, k: int = 64) -> np.ndarray:
    """Small integers as fp16."""
    return rng.integers(-4, 5, (rows, k)).astype(np.float16)
