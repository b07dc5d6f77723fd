"""One decoded instruction."""

from __future__ import annotations

from gemmgen.emulate.decode import Handler
from gemmgen.emulate.ptx import Instr


class Step:
    """One decoded instruction with the registers that it reads and writes."""

    __slots__ = ("handler", "instr", "reads", "writes")

    def __init__(
        self, instr: Instr, handler: Handler, reads: frozenset[int], writes: frozenset[int]
    ) -> None:
        self.instr = instr
        self.handler = handler
        self.reads = reads
        self.writes = writes

    @property
    def starts_block(self) -> bool:
        """Whether a block must begin here: the instruction may be tried again."""
        return self.handler.blocking or self.handler.meet is not None

    @property
    def ends_block(self) -> bool:
        """Whether control may leave after it."""
        return self.handler.target is not None or self.handler.ends
