"""A CPU emulator for the PTX of one kernel launch, with asynchronous work under hostile timing.

``emulate(launch, buffers)`` runs a captured launch on host memory. README.md of this package
describes the interface for opcode files. Needs numpy only.
"""

from __future__ import annotations

from gemmgen.emulate.api import Result, emulate
from gemmgen.emulate.errors import EmulationError, Hang, Place
from gemmgen.emulate.listener import Listener
from gemmgen.emulate.memory import Buffer
from gemmgen.emulate.settings import BarrierInfo, Settings

__all__ = [
    "BarrierInfo", "Buffer", "EmulationError", "Hang", "Listener", "Place", "Result", "Settings",
    "emulate",
]  # fmt: skip
