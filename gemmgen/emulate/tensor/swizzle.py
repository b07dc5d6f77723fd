"""Shared-memory swizzles, shared by TMA boxes and by matrix descriptors.

A swizzle exchanges 16-byte chunks inside a span of 32, 64 or 128 bytes. Hardware applies it to
the bits of the *absolute* shared-memory address: the row number in address bits [9:7] is XORed
into the chunk number in bits [6:4]. A 128-byte span uses three row bits (the pattern repeats every
1024 bytes), 64 bytes two (512), 32 bytes one (256).

Sources: PTX ISA "Swizzling Modes" (tensor copies) and "Canonical layouts" (wgmma, tcgen05);
CUTLASS `include/cute/atom/mma_traits_sm90_gmma.hpp` (`Swizzle<3,4,3>`, `<2,4,3>`, `<1,4,3>`).
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Address = TypeVar("Address", int, NDArray[np.int64])

CHUNK_BYTES = 16
"""Swizzles move 16-byte chunks whole."""

SPANS = (0, 32, 64, 128)
"""Swizzle spans in bytes; 0 is no swizzle."""

_ROW_MASK = {0: 0x00, 32: 0x10, 64: 0x30, 128: 0x70}


def swizzle(address: Address, span: int) -> Address:
    """Return the byte address (or addresses) at which a swizzled layout keeps `address`.

    `span` is 0, 32, 64 or 128 bytes. The function is its own inverse.
    """
    return address ^ ((address >> 3) & _ROW_MASK[span])


def repeat_bytes(span: int) -> int:
    """Return after how many bytes the pattern of a span repeats: 1024, 512, 256, or 16 for none."""
    return 8 * span or CHUNK_BYTES
