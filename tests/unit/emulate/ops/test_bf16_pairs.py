"""cvt.rn.bf16x2.f32, which every bf16 epilogue uses."""

import numpy as np
from ptx import Kernel

TARGET = 0x2_0000_0000


def run(setup: str) -> np.ndarray:
    out = np.zeros(32, dtype=np.uint32)
    k = Kernel()
    k.buffer(out, TARGET)
    k(f"ld.param.u64 %d1, [p{k.param(TARGET)}];")
    k(setup)
    k("cvt.rn.bf16x2.f32 %r12, %r10, %r11; mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d2, %d1;")
    k("st.global.b32 [%d2], %r12;")
    k.run()
    return out


def test_a_uniform_pair_has_its_first_operand_above() -> None:
    out = run("mov.b32 %r10, 0x3f800000; mov.b32 %r11, 0xc0000000;")
    assert (out == 0x3F80C000).all()


def test_pairs_of_lanes_are_rounded_to_even_and_keep_infinity() -> None:
    out = run("cvt.rn.f32.u32 %r10, %r0; mov.b32 %r11, 0x7f800000;")
    upper = np.arange(32, dtype=np.float32).view(np.uint32) >> 16
    assert np.array_equal(out, upper << 16 | 0x7F80)
    out = run("or.b32 %r10, %r0, 0x3f800000; shl.b32 %r10, %r10, 0; mov.b32 %r11, 0x3f818000;")
    assert (out & 0xFFFF == 0x3F82).all()
