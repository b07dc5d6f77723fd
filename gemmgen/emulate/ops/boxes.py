"""Moving boxes between global and shared memory: what a tensor copy does when it completes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.asyncops import Touch
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.machine import Cta, Machine
from gemmgen.emulate.tensor.box import Window, box_shape, clip, row_pitch, smem_bytes, smem_chunks
from gemmgen.emulate.tensor.faults import fault
from gemmgen.emulate.tensor.numeric import round_bf16, widen
from gemmgen.emulate.tensor.swizzle import CHUNK_BYTES
from gemmgen.emulate.tensor.tensormap import MAP_BYTES, TensorMap, decode_tensor_map

Chunks = NDArray[np.void]


@dataclass(frozen=True)
class Box:
    """One box: where it lies in the tensor and at which offset in shared memory."""

    tensor_map: TensorMap
    coordinates: tuple[int, ...]
    window: Window | None
    offset: int
    chunks: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Bytes of shared memory from `offset` that belong to the box."""
        return smem_bytes(self.tensor_map)

    def __str__(self) -> str:
        return f"box at {self.coordinates}, shared offset {self.offset:#x}"


def locate(
    cta: Cta, map_address: int, coordinates: Sequence[int]
) -> tuple[TensorMap, tuple[int, ...], Window | None]:
    """Decode the tensor map and clip the box. Coordinates are 32-bit patterns, dimension 0 first.

    Raises E230 and E231, and E232 when the part of the box inside the tensor is not in a buffer.
    """
    tensor_map = decode_tensor_map(cta.machine.read_generic(cta, map_address, MAP_BYTES))
    signed = tuple(c - (c >> 31 << 32) for c in coordinates)
    window = clip(tensor_map, signed)
    if window is not None:
        try:
            cta.machine.memory.find(window.address, window.span)
        except EmulationError as error:
            if error.code != "E204":
                raise
            raise fault("E232", f"box at {signed}: {error.detail}") from None
    return tensor_map, signed, window


def make_box(cta: Cta, map_address: int, coordinates: Sequence[int], offset: int) -> Box:
    """Locate the box and place it in shared memory; raises as `locate`, and E205 and E231."""
    tensor_map, signed, window = locate(cta, map_address, coordinates)
    box = Box(tensor_map, signed, window, offset, smem_chunks(tensor_map, offset))
    cta.shared.check(offset, box.size)
    return box


def touch_shared(cta: Cta, box: Box, writes: bool) -> Touch:
    """Return the box's place in a CTA's shared memory."""
    if row_pitch(box.tensor_map) == box.tensor_map.inner_bytes:
        first = box.offset // CHUNK_BYTES
        return Touch("shared", cta, writes, slice(first, first + box.size // CHUNK_BYTES))
    return Touch("shared", cta, writes, box.chunks)


def touch_global(cta: Cta, box: Box, writes: bool) -> list[Touch]:
    """Return the box's place in global memory; nothing when it is in a read-only buffer."""
    window = box.window
    if window is None or not cta.machine.memory.find(window.address, window.span).writable:
        return []
    starts = np.zeros(1, dtype=np.int64) + window.address
    for extent, stride in zip(window.shape[:-1], window.strides[:-1], strict=True):
        starts = (starts[:, None] + np.arange(extent, dtype=np.int64) * stride).ravel()
    return [Touch("global", cta, writes, starts, window.shape[-1])]


def view_of(machine: Machine, window: Window, write: bool = False) -> NDArray[np.uint8]:
    """Return the window of global memory as a strided array of bytes, in place."""
    buffer = machine.memory.find(window.address, window.span, write=write)
    return np.ndarray(
        window.shape,
        dtype=np.uint8,
        buffer=buffer.data,
        offset=window.address - buffer.address,
        strides=window.strides,
    )


def read_global(machine: Machine, box: Box) -> Chunks:
    """Return the box's bytes as 16-byte chunks in row-major order, zero outside the tensor."""
    if box.window is None:
        return np.zeros(box.tensor_map.box_bytes, dtype=np.uint8).view("V16")
    source = view_of(machine, box.window)
    if box.window.whole:
        return np.ascontiguousarray(source).reshape(-1).view("V16")
    filled = np.zeros(box_shape(box.tensor_map), dtype=np.uint8)
    filled[box.window.inside] = source
    return filled.reshape(-1).view("V16")


def write_shared(cta: Cta, box: Box, data: Chunks) -> None:
    """Put the chunks of a box at their swizzled places in a CTA's shared memory."""
    cta.shared.data.view("V16")[box.chunks] = data
    if row_pitch(box.tensor_map) == box.tensor_map.inner_bytes:
        cta.shared.mark(box.offset, box.size)
    else:
        for chunk in box.chunks.tolist():
            cta.shared.mark(chunk * CHUNK_BYTES, CHUNK_BYTES)


def read_shared(cta: Cta, box: Box) -> NDArray[np.uint8]:
    """Return the box's bytes in the box's shape. Raises E207 when some were never written."""
    if row_pitch(box.tensor_map) == box.tensor_map.inner_bytes:
        cta.shared.check_init(box.offset, box.size)
    else:
        for chunk in box.chunks.tolist():
            cta.shared.check_init(chunk * CHUNK_BYTES, CHUNK_BYTES)
    data = cta.shared.data.view("V16")[box.chunks].view(np.uint8)
    return data.reshape(box_shape(box.tensor_map))


def write_global(machine: Machine, box: Box, data: NDArray[np.uint8], reduction: str) -> None:
    """Write the part of the box that is inside the tensor, or combine it by `reduction`."""
    if box.window is None:
        return
    target = view_of(machine, box.window, write=True)
    inside = data[box.window.inside]
    if not reduction:
        target[...] = inside
        return
    old, new = np.ascontiguousarray(target), np.ascontiguousarray(inside)
    target[...] = reduce(old, new, box.tensor_map.element, reduction)


_TYPES = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "s32": np.int32, "u64": np.uint64,
    "s64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
_COMBINE = {
    "add": np.add, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def reduce(
    old: NDArray[np.uint8], new: NDArray[np.uint8], element: str, reduction: str
) -> NDArray[np.uint8]:
    """Combine two contiguous byte arrays element by element. Raises E231 when the type cannot."""
    combine = _COMBINE.get(reduction)
    if combine is None:
        raise fault("E231", f"reduction .{reduction} is not emulated")
    if element == "bf16" and reduction in ("add", "min", "max"):
        wide = combine(widen(old, "bf16"), widen(new, "bf16"))
        return round_bf16(np.ascontiguousarray(wide)).view(np.uint8)
    dtype = _TYPES.get(element)
    if dtype is None or (reduction in ("and", "or", "xor") and element[0] not in "us"):
        raise fault("E231", f"reduction .{reduction} of {element} is not emulated")
    with np.errstate(over="ignore", invalid="ignore"):
        combined: NDArray[np.uint8] = combine(old.view(dtype), new.view(dtype)).view(np.uint8)
    return combined
