"""ldmatrix and stmatrix against positions spelled out from the PTX ISA figures."""

import numpy as np
import pytest
from ptx import Kernel, registers

TARGET = 0x2_0000_0000


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_stmatrix_puts_each_pair_where_the_figure_says(count: int, trans: bool) -> None:
    out = np.zeros(count * 128, dtype=np.uint8)
    k = Kernel()
    k.buffer(out, TARGET)
    k(f"ld.param.u64 %d1, [p{k.param(TARGET)}];")
    for i in range(count):
        # register i of thread t holds 64 i + 2 t and 64 i + 2 t + 1
        k(f"shl.b32 %r20, %r0, 1; add.u32 %r20, %r20, {64 * i}; add.u32 %r21, %r20, 1;")
        k(f"shl.b32 %r21, %r21, 16; or.b32 %r{30 + i}, %r20, %r21;")
    k("shl.b32 %r10, %r0, 4; add.u32 %r10, %r10, %r1;")
    mode = ".trans" if trans else ""
    name = f"stmatrix.sync.aligned.m8n8.x{count}{mode}.shared.b16"
    k(f"{name} [%r10], {registers(30, count)}; bar.sync 0;")
    k.copy_out(0, count * 128, "%d1")
    k.run()
    found = out.view(np.uint16).reshape(count, 8, 8)
    for i in range(count):
        for thread in range(32):
            row, column = thread // 4, 2 * (thread % 4)
            for half in range(2):
                at = (column + half, row) if trans else (row, column + half)
                assert found[i][at] == 64 * i + 2 * thread + half


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_ldmatrix_undoes_stmatrix(count: int, trans: bool) -> None:
    out = np.zeros((count, 32), dtype=np.uint32)
    k = Kernel()
    k.buffer(out, TARGET)
    k(f"ld.param.u64 %d1, [p{k.param(TARGET)}];")
    for i in range(count):
        k(f"mad.lo.u32 %r{30 + i}, %r0, 65541, {i * 777};")
    k("shl.b32 %r10, %r0, 4; add.u32 %r10, %r10, %r1;")
    mode = ".trans" if trans else ""
    name = f"sync.aligned.m8n8.x{count}{mode}.shared.b16"
    k(f"stmatrix.{name} [%r10], {registers(30, count)}; bar.sync 0;")
    k(f"ldmatrix.{name} {registers(40, count)}, [%r10];")
    for i in range(count):
        k("mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d2, %d1;")
        k(f"st.global.b32 [%d2+{128 * i}], %r{40 + i};")
    k.run()
    thread = np.arange(32, dtype=np.uint32)
    for i in range(count):
        assert np.array_equal(out[i], thread * 65541 + i * 777)
