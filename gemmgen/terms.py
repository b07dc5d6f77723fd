"""The words that all layers speak: enums and the finding that every checker returns.

Nothing here imports another gemmgen module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Arch(StrEnum):
    """GPU architecture that a kernel is compiled for."""

    SM90A = "sm_90a"
    SM100A = "sm_100a"


class Dtype(StrEnum):
    """Element type of a matrix or of the accumulator."""

    F16 = "f16"
    BF16 = "bf16"
    TF32 = "tf32"
    F32 = "f32"
    E4M3 = "e4m3"
    E5M2 = "e5m2"

    @property
    def nbytes(self) -> int:
        """Size of one element in memory, in bytes."""
        return {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "e4m3": 1, "e5m2": 1}[self.value]


class Major(StrEnum):
    """The mode of a matrix that is contiguous in memory."""

    M = "m"
    N = "n"
    K = "k"


class KExtent(StrEnum):
    """How much of K a kernel can walk."""

    ONE_STEP = "one_step"
    ANY = "any"


class MmaKind(StrEnum):
    """Family of tensor core instruction."""

    TCGEN05 = "tcgen05"
    WGMMA = "wgmma"


class Swizzle(StrEnum):
    """Shared-memory swizzle, named by the bytes of a row that it permutes."""

    NONE = "none"
    B32 = "32b"
    B64 = "64b"
    B128 = "128b"

    @property
    def span_bytes(self) -> int:
        """Bytes of one row that the swizzle permutes; 16 where there is none.

        Source: PTX ISA, tensor swizzling modes.
        """
        return {"none": 16, "32b": 32, "64b": 64, "128b": 128}[self.value]


class LoadKind(StrEnum):
    """How operands reach shared memory."""

    TMA = "tma"
    COOPERATIVE = "cooperative"


class Operand(StrEnum):
    """An input matrix."""

    A = "a"
    B = "b"


class MainloopKind(StrEnum):
    """How loads and MMAs are interleaved."""

    SERIAL = "serial"
    PREFETCH = "prefetch"
    WARP_SPECIALIZED = "warp_specialized"
    PINGPONG = "pingpong"


class Role(StrEnum):
    """What a warp does."""

    PRODUCER = "producer"
    MMA = "mma"
    EPILOGUE = "epilogue"
    SCHEDULER = "scheduler"


class Ring(StrEnum):
    """What a barrier has one slot for."""

    AB = "ab"
    ACC = "acc"
    CONSUMER = "consumer"
    SINGLE = "single"


class ArriveHow(StrEnum):
    """What makes a barrier's pending count go down."""

    TX = "tx"
    COMMIT = "commit"
    THREAD = "thread"
    THREADS = "threads"
    WARPS = "warps"


class ArriveTo(StrEnum):
    """Which CTAs' copies of the barrier an arrival reaches."""

    SELF = "self"
    LEADER = "leader"
    PAIR = "pair"
    SHARERS = "sharers"


class SchedulerKind(StrEnum):
    """How output tiles are given to CTAs."""

    SINGLE = "single"
    GRID = "grid"
    PERSISTENT = "persistent"
    CLC = "clc"


class EpilogueKind(StrEnum):
    """How the accumulator reaches global memory."""

    DIRECT = "direct"
    TMA_STORE = "tma_store"


class Region(StrEnum):
    """The parts of a generated kernel, in file order; a lineage names those that it changes."""

    CONSTANTS = "constants"
    BARRIERS = "barriers"
    STORAGE = "storage"
    SCHEDULER = "scheduler"
    SETUP = "setup"
    MAINLOOP = "mainloop"
    PRODUCER = "producer"
    MMA = "mma"
    EPILOGUE = "epilogue"
    TEARDOWN = "teardown"
    HOST = "host"


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a spec or a plan.

    Attributes:
        code: letter and number, for instance ``S102``; ``gemmgen explain`` has the long text.
        title: one line, what is wrong.
        key: dotted key path in the spec, or empty.
        file: path of the spec as given, or empty.
        line: 1-based line in `file`, or 0 when unknown.
        source: the offending line's text, or the arithmetic that failed.
        help: a way out.
    """

    code: str
    title: str
    key: str = ""
    file: str = ""
    line: int = 0
    source: str = ""
    help: str = ""

    def __str__(self) -> str:
        out = [f"error[{self.code}]: {_printable(self.title)}"]
        if self.file or self.key:
            place = f"{self.file}:{self.line}" if self.line else self.file
            out.append("  --> " + "  ".join(_printable(p) for p in (place, self.key) if p))
        out.extend(f"   |  {_printable(text)}" for text in self.source.splitlines())
        out.extend(
            f"   {'=' if i == 0 else ' '} {_printable(h)}"
            for i, h in enumerate(self.help.splitlines())
        )
        return "\n".join(out)


def _printable(text: str, limit: int = 200) -> str:
    """`text` on one line of bounded length, with escapes for what a terminal might obey."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


class GemmgenError(Exception):
    """An error meant for the user: carries every finding, prints without a traceback."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(tuple(findings))
        self.findings = list(findings)

    def __str__(self) -> str:
        return "\n\n".join(str(f) for f in self.findings)
