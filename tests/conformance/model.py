"""A case: a kernel in one configuration, on one problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from conformance.matrices import Matrix
from gemmgen.compile import Launch
from gemmgen.emulate import Buffer


@dataclass(frozen=True)
class Prepared:
    """A compiled case, ready to be run again and again.

    Attributes:
        launch: the kernel launch; its pointers are those of `matrices`.
        matrices: by name; the writable ones are made blank before each run.
        reference: (M, N) or (L, M, N), what `matrices["d"]` must hold, exactly.
    """

    launch: Launch
    matrices: dict[str, Matrix]
    reference: torch.Tensor

    def blank(self) -> None:
        """Undo what a run wrote."""
        for matrix in self.matrices.values():
            matrix.blank()

    def buffers(self) -> list[Buffer]:
        """The memory that the kernel may reach, and no other."""
        return [matrix.buffer(name) for name, matrix in self.matrices.items()]

    def judge(self) -> str:
        """Empty, or how D differs from the reference."""
        got = self.matrices["d"].values()
        want = self.reference.to(got.dtype)
        wrong = got.double() != want.double()  # a NaN, which nothing wrote, differs from all
        if not bool(wrong.any()):
            return ""
        at = tuple(int(i) for i in wrong.nonzero()[0])
        count = f"{int(wrong.sum())} of {wrong.numel()} elements wrong"
        return f"{count}; first at {at}: got {float(got[at])}, want {float(want[at])}"


@dataclass(frozen=True)
class Case:
    """What to compile and run.

    Attributes:
        name: a few words, without spaces; unique.
        kernel: whose it is.
        arch: ``sm_90a`` or ``sm_100a``.
        config: tile, cluster, types and what else is special, for the table.
        prepare: compiles it; raises what the DSL raises.
    """

    name: str
    kernel: str
    arch: str
    config: str
    prepare: Callable[[], Prepared] = field(repr=False)
