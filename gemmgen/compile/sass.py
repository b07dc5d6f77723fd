"""Register moves in a cubin for sm_90a: what the machine code does, whatever ptxas says of it.

A cubin is an ELF file (64-bit, little-endian); an instruction is 16 bytes, its opcode the low 12
bits, the registers of ``USETMAXREG`` the upper half of the first 8 bytes. Seen by compiling one
kernel with 24 and 240 registers and with 40 and 232 (ptxas of nvidia-cutlass-dsl 4.8.1,
2026-11-30): the only opcode whose operands follow.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

USETMAXREG = 0x9C8
_SETMAXNREG = re.compile(r"setmaxnreg\.(?:inc|dec)\.sync\.aligned\.u32\s+(\d+)")


def registers_set(cubin: bytes) -> tuple[int, ...]:
    """Registers a thread of every ``USETMAXREG``, in the order of the code."""
    found = []
    for code in _texts(cubin):
        for (word,) in struct.iter_unpack("<Q8x", code[: len(code) // 16 * 16]):
            if word & 0xFFF == USETMAXREG:
                found.append(word >> 32)
    return tuple(found)


def registers_lost(ptx: str, cubin: bytes) -> tuple[int, ...]:
    """What ``setmaxnreg`` in the PTX asks for and no instruction of the cubin sets, ascending."""
    asked = {int(count) for count in _SETMAXNREG.findall(ptx)}
    return tuple(sorted(asked.difference(registers_set(cubin))))


def _texts(cubin: bytes) -> Iterator[bytes]:
    """Contents of the ``.text.*`` sections."""
    (start,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<I20xQQ", cubin, start + i * size) for i in range(count)]
    for name, offset, length in headers:
        if cubin[headers[names][1] + name :].startswith(b".text."):
            yield cubin[offset : offset + length]
