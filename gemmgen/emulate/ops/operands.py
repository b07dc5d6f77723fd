"""Matrix operands in the shared memory of CTAs: bounds, initialisation, and their values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.machine import Cta
from gemmgen.emulate.memory import SHARED_START
from gemmgen.emulate.tensor.descriptor import MatrixDescriptor, operand_chunks
from gemmgen.emulate.tensor.faults import fault
from gemmgen.emulate.tensor.instruction import K_BYTES, MmaShape
from gemmgen.emulate.tensor.mma import read_operand
from gemmgen.emulate.tensor.numeric import ELEMENT_BYTES
from gemmgen.emulate.tensor.swizzle import CHUNK_BYTES


@lru_cache(maxsize=2048)
def _placed(
    descriptor: MatrixDescriptor, rows: int, mn_major: bool, element_bytes: int
) -> tuple[NDArray[np.int64], int, int]:
    """Return an operand's chunks, its first byte and the byte after its last."""
    chunks = operand_chunks(descriptor, rows, K_BYTES, mn_major, element_bytes)
    return chunks, int(chunks.min()) * CHUNK_BYTES, (int(chunks.max()) + 1) * CHUNK_BYTES


def operand_at(
    cta: Cta, descriptor: MatrixDescriptor, name: str, rows: int, mn_major: bool, element: str
) -> tuple[NDArray[np.int64], int, int]:
    """Return the 16-byte chunks of an operand, its first byte and the byte after its last.

    Raises E236 when part of it is outside the CTA's shared memory.
    """
    chunks, low, high = _placed(descriptor, rows, mn_major, ELEMENT_BYTES[element])
    if low < SHARED_START or high > cta.shared.size:
        raise fault(
            "E236",
            f"{name} of {rows} rows at shared offset {descriptor.start:#x} (leading offset "
            f"{descriptor.leading}, stride offset {descriptor.stride}, swizzle {descriptor.span}) "
            f"covers {low:#x} to {high:#x}; {cta.where()} has {SHARED_START:#x} to "
            f"{cta.shared.size:#x}",
        )
    return chunks, low, high


def read_operand_of(
    cta: Cta, descriptor: MatrixDescriptor, name: str, rows: int, mn_major: bool, element: str
) -> NDArray[np.float32]:
    """Return an operand as float32, shape (rows, K). Raises E237 when part of it is unwritten."""
    chunks = _readable(cta, descriptor, name, rows, mn_major, element)
    return read_operand(cta.shared.data.view("V16"), chunks, element, mn_major)


def _readable(
    cta: Cta, descriptor: MatrixDescriptor, name: str, rows: int, mn_major: bool, element: str
) -> NDArray[np.int64]:
    chunks, low, high = operand_at(cta, descriptor, name, rows, mn_major, element)
    if cta.shared.strict and not cta.shared.init[low:high].all():
        _check_written(cta, chunks, name)
    return chunks


def _check_written(cta: Cta, chunks: NDArray[np.int64], name: str) -> None:
    flags = cta.shared.init.view(np.uint64).reshape(-1, 2)[chunks.ravel()]
    missing = np.flatnonzero((flags != np.uint64(0xFFFF_FFFF_FFFF_FFFF)).any(axis=1))
    if missing.size:
        chunk = int(chunks.ravel()[missing[0]])
        raise fault(
            "E237",
            f"{name}: nothing has written shared offset {chunk * CHUNK_BYTES:#x} of {cta.where()} "
            f"({missing.size} of {chunks.size} chunks of 16 bytes are unwritten)",
        )


def read_chunks(
    ctas: Sequence[Cta], descriptor: MatrixDescriptor, name: str, shape: MmaShape, group: int
) -> list[NDArray[np.void]]:
    """Return the 16-byte chunks of a K-major operand of each CTA, shape (rows, 2)."""
    rows = (shape.m if name == "A" else shape.n) // group
    element = shape.a if name == "A" else shape.b
    return [
        cta.shared.data.view("V16").take(_readable(cta, descriptor, name, rows, False, element))
        for cta in ctas
    ]


def read_operands(
    ctas: Sequence[Cta], descriptor: MatrixDescriptor, name: str, shape: MmaShape, group: int
) -> list[NDArray[np.float32]]:
    """Return operand A or B of each CTA that takes part in an MMA."""
    rows = (shape.m if name == "A" else shape.n) // group
    mn_major = shape.a_mn_major if name == "A" else shape.b_mn_major
    element = shape.a if name == "A" else shape.b
    return [read_operand_of(cta, descriptor, name, rows, mn_major, element) for cta in ctas]
