"""The memories of the emulated device, in one place to import from."""

from __future__ import annotations

from gemmgen.emulate.globalmemory import Buffer, GlobalMemory
from gemmgen.emulate.sharedmemory import SharedMemory
from gemmgen.emulate.space import Bytes
from gemmgen.emulate.windows import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_OFFSET_MASK,
    SHARED_RANK_SHIFT,
    SHARED_START,
    SHARED_WINDOW,
    is_shared,
)

__all__ = [
    "LOCAL_WINDOW",
    "PARAM_WINDOW",
    "SHARED_OFFSET_MASK",
    "SHARED_RANK_SHIFT",
    "SHARED_START",
    "SHARED_WINDOW",
    "Buffer",
    "Bytes",
    "GlobalMemory",
    "SharedMemory",
    "is_shared",
]
