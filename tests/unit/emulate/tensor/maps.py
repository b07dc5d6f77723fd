"""Builds tensor maps word by word, from the documented bit positions."""

import struct


def tensor_map(
    address: int,
    dims: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, ...],
    *,
    element: int = 6,
    swizzle: int = 0,
    tf32: bool = False,
    interleave: int = 0,
) -> bytes:
    """Return 128 bytes. `strides` are the byte strides of dimensions 1 and up; dimension 0 is the
    contiguous one; `swizzle` is the code 0..3. Bytes 64 to 127 are garbage, as in real ones.
    """
    rank = len(dims)
    steps = [s // 16 for s in strides] + [0] * (5 - len(strides))
    sizes = [d - 1 for d in dims] + [0] * (5 - rank)
    boxes = [b - 1 for b in box] + [0] * (5 - rank)
    words = [0] * 8
    words[0] = address
    words[1] = (rank - 1) << 4 | element << 7 | interleave << 11 | swizzle << 13 | int(tf32) << 16
    words[1] |= (steps[0] & 0xFFFFFFFF) << 32
    words[2] = (steps[1] & 0xFFFFFFFF) | (steps[2] & 0xFFFFFFFF) << 32
    words[3] = steps[3] & 0xFFFFFFFF
    for i in range(4):
        words[3] |= (steps[i] >> 32) << 32 + 4 * i
    words[4] = sizes[0] | sizes[1] << 32
    words[5] = sizes[2] | sizes[3] << 32
    words[6] = sizes[4] | boxes[0] << 56
    for i in range(4):
        words[7] |= boxes[1 + i] << 8 * i
    return struct.pack("<8Q", *words) + b"\xaa" * 64
