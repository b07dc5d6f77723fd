"""ldmatrix and stmatrix: 8 x 8 matrices of 16-bit elements between registers and shared memory.

PTX ISA "Warp Level Matrix Load Instruction: ldmatrix", "… Store Instruction: stmatrix".
Row r of matrix i is 16 bytes at the address of thread 8 i + r. Thread t holds, in register i, the
elements 2 (t % 4) and 2 (t % 4) + 1 of row t // 4; with `.trans`, of the transposed matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.lanes import spread
from gemmgen.emulate.machine import Group
from gemmgen.emulate.ops.spaces import loader, part_of, space_of, storer

_COUNTS = {"x1": 1, "x2": 2, "x4": 4}


def _count(d: Decoder) -> int:
    d.allow("sync", "aligned", "m8n8", *_COUNTS, "trans", "shared", "shared::cta", "b16")
    return next(_COUNTS[m] for m in d.mods if m in _COUNTS)


def _transposed(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Transpose each matrix: (matrices, 32) words of two elements in row-major order."""
    elements = words.view(np.uint16).reshape(-1, 8, 8)
    flat = np.ascontiguousarray(elements.transpose(0, 2, 1)).reshape(-1, 64)
    return flat.view(np.uint32)


@op("stmatrix")
def stmatrix(d: Decoder) -> Handler:
    """Registers to shared memory."""
    count, trans = _count(d), d.has("trans")
    address, store = d.address(d.ops[0]), storer(d, space_of(d))
    values = [d.read(item) for item in d.items(d.ops[1])]
    lanes = range(8 * count)

    def run(g: Group) -> None:
        words = np.stack([spread(value(g), 32) for value in values])
        rows = np.zeros((32, 4), dtype=np.uint32)
        rows[: 8 * count] = (_transposed(words) if trans else words).reshape(-1, 4)
        part = g if count == 4 else part_of(g, lanes)
        store(part, spread(address(g), 32), 4, list(np.ascontiguousarray(rows.T)))

    return d.collective(run)


@op("ldmatrix")
def ldmatrix(d: Decoder) -> Handler:
    """Shared memory to registers."""
    count, trans = _count(d), d.has("trans")
    address, load = d.address(d.ops[1]), loader(d, space_of(d))
    writers = [d.write(item) for item in d.items(d.ops[0])]
    lanes = range(8 * count)

    def run(g: Group) -> None:
        part = g if count == 4 else part_of(g, lanes)
        columns = [spread(v, 32) for v in load(part, spread(address(g), 32), 4, 4)]
        words = np.stack(columns, axis=1)[: 8 * count].reshape(count, 32)
        for put, row in zip(writers, _transposed(words) if trans else words, strict=True):
            put(g, row)

    return d.collective(run)
