"""Which loops count as doing nothing but wait; a wrong yes would change what a kernel does."""

from __future__ import annotations

import pytest
from ptx_bench import text_of

from gemmgen.emulate.ops.waitloop import is_wait_loop
from gemmgen.emulate.ptx import parse

TRY = "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2;"


def _verdict(body: str) -> bool:
    kernel = parse(text_of(body, 0)).kernels["kernel"]
    (wait,) = [i for i in kernel.instrs if i.opcode.startswith("mbarrier.try_wait")]
    return is_wait_loop(kernel, wait)


@pytest.mark.parametrize(
    "body",
    [
        f"L: {TRY} @%p1 bra D; bra L; D:",
        f"L: {TRY} @!%p1 bra L;",
        f"{{ .reg .pred P; L: {TRY.replace('%p1', 'P')} @P bra.uni D; bra.uni L; D: }}",
        f"L: {TRY} not.pred %p2, %p1; @%p2 bra L;",
        f"L: {TRY} selp.b32 %r3, 1, 0, %p1; setp.eq.b32 %p2, %r3, 0; @%p2 bra L;",
        f"L: {TRY} selp.u32 %r3, 1, 0, %p1; setp.ne.s32 %p2, %r3, 0; @!%p2 bra L;",
        f"L: {TRY} @%p1 bra D; nanosleep.u32 20; bra L; D:",
    ],
)
def test_a_loop_around_nothing_but_the_wait_parks(body: str) -> None:
    assert _verdict(body)


@pytest.mark.parametrize(
    "body",
    [
        TRY,
        f"{TRY} @%p1 bra D; add.u32 %r3, %r3, 1; D:",
        f"L: {TRY} add.u32 %r3, %r3, 1; @!%p1 bra L;",
        f"L: {TRY} @!%p2 bra L;",
        f"L: {TRY} mbarrier.arrive.shared.b64 _, [%r1]; @!%p1 bra L;",
        f"L: {TRY} setp.lt.u32 %p1, %r3, 5; @!%p1 bra L;",
        f"L: mov.u32 %r2, 1; {TRY} @%p1 bra D; st.shared.u32 [%r1], %r2; bra L; D:",
        f"{TRY} @%p1 bra D; L: bra L; D:",
    ],
)
def test_a_wait_beside_anything_else_answers_at_once(body: str) -> None:
    assert not _verdict(body)
