"""The protocol checker: proves a plan's barriers over all interleavings of its roles."""

from __future__ import annotations

from gemmgen.check.protocol.check import check_program, check_protocol, sizes
from gemmgen.check.protocol.faults import Fault
from gemmgen.check.protocol.record import Run

__all__ = ["Fault", "Run", "check_program", "check_protocol", "sizes"]
