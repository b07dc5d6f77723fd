"""Reading the type suffix of an opcode, and signed and float views of values."""

from __future__ import annotations

import numpy as np

from gemmgen.emulate.decode import Decoder
from gemmgen.emulate.lanes import DTYPES, SIGNED, WARP, Lanes, Value

_KINDS = {"b", "u", "s", "f"}
FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}


def type_of(mod: str) -> tuple[str, int] | None:
    """`s32` -> ("s", 32); `pred` -> ("b", 1); `bf16` -> ("bf", 16); `f16x2` -> ("f16x2", 32);
    None for no type.
    """
    if mod == "pred":
        return "b", 1
    if mod in ("f16x2", "bf16x2", "u16x2", "s16x2"):
        return mod, 32
    if mod == "f32x2":
        return mod, 64
    if mod in ("bf16", "tf32"):
        return (mod, 16 if mod == "bf16" else 32)
    if mod[:1] in _KINDS and mod[1:].isdigit():
        return mod[0], int(mod[1:])
    return None


def last_type(d: Decoder) -> tuple[str, int]:
    """The type suffix that ends the opcode. Raises E203 when there is none."""
    found = type_of(d.mods[-1]) if d.mods else None
    if found is None:
        raise d.unknown("the type")
    return found


def signed(value: Value, bits: int) -> Value:
    """Unsigned register value -> signed value (Python int or signed array)."""
    if isinstance(value, np.ndarray):
        return value.view(SIGNED[bits])
    return value - (value >> (bits - 1) << bits)


def unsigned(value: Value, bits: int) -> Value:
    """Any integer -> register value of ``bits``."""
    if isinstance(value, np.ndarray):
        dtype = DTYPES[bits]
        if value.dtype.itemsize * 8 == bits:
            return value.view(dtype)
        return value.astype(dtype)
    return int(value) & ((1 << bits) - 1)


def resize(value: Value, bits: int, to: int, is_signed: bool) -> Value:
    """Truncate or extend a register value from ``bits`` to ``to``."""
    if isinstance(value, np.ndarray):
        if bits == to:
            return value
        if to == 128:
            return value.astype(np.object_)
        if bits == 128:
            mask = (1 << to) - 1
            return np.array([int(v) & mask for v in value], dtype=DTYPES[to])
        if is_signed and to > bits:
            return value.view(SIGNED[bits]).astype(SIGNED[to]).view(DTYPES[to])
        return value.astype(DTYPES[to])
    if is_signed and to > bits:
        value -= value >> (bits - 1) << bits
    return value & ((1 << to) - 1)


def to_float(value: Value, bits: int) -> Lanes:
    """Bit patterns -> a float array of one element (uniform) or of 32."""
    if isinstance(value, np.ndarray):
        return value.view(FLOATS[bits])
    return np.array([value], dtype=DTYPES[bits]).view(FLOATS[bits])


def from_float(array: Lanes, bits: int) -> Value:
    """A float array -> bit patterns: an int for one element. NaN results are canonical, as on
    the device.
    """
    out = array.view(DTYPES[bits])
    if out.size == WARP:
        return out
    return int(out[0])


def bf16_to_f32(value: Value) -> Lanes:
    """bf16 bit patterns -> float32."""
    if isinstance(value, np.ndarray):
        return (value.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return np.array([value << 16], dtype=np.uint32).view(np.float32)


def f32_to_bf16(array: Lanes) -> Value:
    """float32 -> bf16 bit patterns, round to nearest even; NaN becomes 0x7FFF."""
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    out = np.where(np.isnan(array), np.uint32(0x7FFF), rounded).astype(np.uint16)
    return out if out.size == WARP else int(out[0])
