"""Address map of the emulated device.

Global addresses are the host's own. Shared addresses are 32 bits with the CTA's rank in the cluster
from bit 24 up, so that `address & 0xFEFFFFFF` names the even CTA of a pair, as CUTLASS's two-CTA
code relies on (include/cute/arch/copy_sm100_tma.hpp, `Sm100MmaPeerBitMask`). Generic addresses of
shared, parameter and local memory lie above all host addresses.
"""

from __future__ import annotations

SHARED_WINDOW = 1 << 48
PARAM_WINDOW = 1 << 49
LOCAL_WINDOW = 1 << 50
SHARED_RANK_SHIFT = 24
SHARED_OFFSET_MASK = (1 << SHARED_RANK_SHIFT) - 1
SHARED_START = 0x400
"""The first KiB is the system's: CUDA Programming Guide, "reserved shared memory"."""


def is_shared(address: int) -> bool:
    """Whether a generic address lies in the shared window."""
    return SHARED_WINDOW <= address < SHARED_WINDOW + (1 << 32)
