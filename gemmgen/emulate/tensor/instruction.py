"""The 32-bit instruction descriptor of tcgen05.mma, kinds f16, tf32, f8f6f4 and i8.

Source: PTX ISA "Instruction descriptor" (tcgen05); CUTLASS `include/cute/arch/mma_sm100_desc.hpp`,
`InstrDescriptor`. Sparsity [2], saturation [3], D format [5:4], A format [9:7], B format [12:10],
negate A [13], negate B [14], A major [15], B major [16], N >> 3 [22:17], M >> 4 [28:24].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gemmgen.emulate.tensor.faults import fault

_INPUTS = {
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": {0: "e4m3", 1: "e5m2"},
    "i8": {0: "u8", 1: "s8"},
}
_OUTPUTS = {
    "f16": {0: "f16", 1: "f32"},
    "tf32": {1: "f32"},
    "f8f6f4": {0: "f16", 1: "f32"},
    "i8": {2: "s32"},
}

_N_STEP = {1: {64: 8, 128: 16}, 2: {128: 16, 256: 16}}

K_BYTES = 32
"""Every dense kind reads 32 bytes of K: 16 halves, 8 tf32, 32 bytes."""


@dataclass(frozen=True)
class MmaShape:
    """A decoded instruction descriptor. `m` and `n` count over the CTA pair for cta_group::2."""

    m: int
    n: int
    a: str
    b: str
    d: str
    a_mn_major: bool
    b_mn_major: bool
    negate_a: bool
    negate_b: bool
    saturate: bool = False
    """Kind i8: sums stop at the limits of int32 instead of wrapping."""


@lru_cache(maxsize=256)
def decode_instruction(bits: int, kind: str, cta_group: int) -> MmaShape:
    """Decode the descriptor of `tcgen05.mma.cta_group::<cta_group>.kind::<kind>`.

    Raises E235 on a shape, a type or a flag that the kind does not have or that
    is not emulated. Shapes (CUTLASS `include/cute/arch/mma_sm100_umma.hpp`, the assertions of the
    dense forms): one CTA, M 64 with N a multiple of 8 or M 128 with N a multiple of 16; a CTA pair,
    M 128 or 256 with N a multiple of 16; N up to 256. Kind i8 wants N a multiple of 16, or 32 for a
    pair, or 8.
    """
    if kind not in _INPUTS:
        raise fault("E235", f"tcgen05.mma kind::{kind} is not emulated")
    if bits & 4 or (bits & 8 and kind != "i8"):
        what = "sparsity is not emulated" if bits & 4 else "only kind::i8 saturates"
        raise fault("E235", f"instruction descriptor {bits:#010x}: {what}")
    shape = MmaShape(
        m=(bits >> 24 & 31) << 4,
        n=(bits >> 17 & 63) << 3,
        a=_format(_INPUTS[kind], bits >> 7 & 7, "A", kind, bits),
        b=_format(_INPUTS[kind], bits >> 10 & 7, "B", kind, bits),
        d=_format(_OUTPUTS[kind], bits >> 4 & 3, "D", kind, bits),
        a_mn_major=bool(bits >> 15 & 1),
        b_mn_major=bool(bits >> 16 & 1),
        negate_a=bool(bits >> 13 & 1),
        negate_b=bool(bits >> 14 & 1),
        saturate=bool(bits >> 3 & 1),
    )
    _check_shape(shape, kind, cta_group, bits)
    return shape


def _format(table: dict[int, str], code: int, operand: str, kind: str, bits: int) -> str:
    if code not in table:
        raise fault(
            "E235",
            f"instruction descriptor {bits:#010x}: {operand} format {code} is not one of "
            f"kind::{kind} ({', '.join(f'{k} {v}' for k, v in table.items())})",
        )
    return table[code]


def _check_shape(shape: MmaShape, kind: str, cta_group: int, bits: int) -> None:
    step = _N_STEP[cta_group].get(shape.m)
    if kind == "i8" and shape.n != 8:
        step = 16 * cta_group
    if step is None or shape.n % step or not step <= shape.n <= 256:
        raise fault(
            "E235",
            f"instruction descriptor {bits:#010x}: M = {shape.m}, N = {shape.n} is no shape of "
            f"tcgen05.mma.cta_group::{cta_group}.kind::{kind}",
        )
