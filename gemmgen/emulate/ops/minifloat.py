"""Conversions of packed 8-bit floats: PTX ISA, "Alternate Floating-Point Data Formats"."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gemmgen.emulate.decode import Decoder, Handler
from gemmgen.emulate.lanes import WARP, Lanes, Value, spread
from gemmgen.emulate.ops.types import f32_to_bf16


@dataclass(frozen=True)
class Mini:
    """``exponent`` and ``mantissa`` bits, and the largest finite code."""

    exponent: int
    mantissa: int
    largest: int
    has_inf: bool


FORMATS = {"e4m3x2": Mini(4, 3, 0x7E, False), "e5m2x2": Mini(5, 2, 0x7B, True)}


@lru_cache
def values(name: str) -> Lanes:
    """float32 value of each of the 256 codes."""
    form = FORMATS[name]
    out = np.empty(256, dtype=np.float32)
    bias = (1 << form.exponent - 1) - 1
    for code in range(256):
        sign = -1.0 if code & 0x80 else 1.0
        exponent = code >> form.mantissa & ((1 << form.exponent) - 1)
        fraction = (code & ((1 << form.mantissa) - 1)) / (1 << form.mantissa)
        scale = 2.0 ** (max(exponent, 1) - bias)
        out[code] = sign * scale * (fraction + (1 if exponent else 0))
        if code & 0x7F > form.largest:
            top = (code & 0x7F) == form.largest + 1 and form.has_inf
            out[code] = sign * np.inf if top else np.nan
    return out


def encode(name: str, array: Lanes) -> Lanes:
    """float32 -> codes, round to nearest even, finite values saturate (`.satfinite`), NaN ->
    0x7F.
    """
    form = FORMATS[name]
    table = values(name)[: form.largest + 1].astype(np.float64)
    magnitude = np.minimum(np.abs(array.astype(np.float64)), table[-1])
    nan = np.isnan(magnitude)
    magnitude = np.where(nan, 0.0, magnitude)
    above = np.clip(np.searchsorted(table, magnitude, side="left"), 1, form.largest)
    low, high = table[above - 1], table[above]
    middle = (low + high) / 2
    up = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    codes = np.where(up, above, above - 1).astype(np.uint8)
    codes |= np.where(np.signbit(array), np.uint8(0x80), np.uint8(0))
    return np.where(nan, np.uint8(0x7F), codes).astype(np.uint8)


def convert(d: Decoder, to: str, source: str) -> Handler:
    """`cvt.rn.satfinite.e4m3x2.f32 d, a, b` (a is the upper byte), `…e4m3x2.f16x2`,
    `cvt.rn.f16x2.e4m3x2`.
    """
    if source in FORMATS:
        return _widen(d, to, source)
    if source == "f32":
        a, b = d.text(d.ops[1], 32), d.text(d.ops[2], 32)

        def narrow(high: Value, low: Value) -> Value:
            parts = [encode(to, spread(v, 32).view(np.float32)) for v in (low, high)]
            out = parts[0].astype(np.uint16) | parts[1].astype(np.uint16) << np.uint16(8)
            return (
                out if isinstance(high, np.ndarray) or isinstance(low, np.ndarray) else int(out[0])
            )

        return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(narrow)}({a}, {b})")
    if source != "f16x2":
        raise d.unknown(f"source .{source}")

    def from_half(value: Value) -> Value:
        codes = encode(to, spread(value, 32).view(np.float16).astype(np.float32))
        out = codes.view(np.uint16)
        return out if isinstance(value, np.ndarray) else int(out[0])

    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(from_half)}({d.text(d.ops[1], 32)})")


def _widen(d: Decoder, to: str, source: str) -> Handler:
    if to not in ("f16x2", "bf16x2"):
        raise d.unknown(f"target .{to}")

    def run(value: Value) -> Value:
        singles = values(source)[spread(value, 16).view(np.uint8)]
        if to == "f16x2":
            out = singles.astype(np.float16).view(np.uint32)
        else:
            halves = [int(np.asarray(f32_to_bf16(singles[i : i + 1]))) for i in range(2 * WARP)]
            out = np.array(halves, dtype=np.uint16).view(np.uint32)
        return out if isinstance(value, np.ndarray) else int(out[0])

    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(run)}({d.text(d.ops[1], 16)})")
