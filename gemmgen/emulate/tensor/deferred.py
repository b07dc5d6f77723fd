"""MMAs whose operands are taken but whose products are not formed yet.

An MMA takes effect when it completes. Nobody can see that before the accumulator is read, so the
operand bytes are copied at completion and the products of up to ``MOST`` MMAs into one accumulator
are formed in one go, over their joint K.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gemmgen.emulate.tensor.instruction import MmaShape
from gemmgen.emulate.tensor.numeric import widen

if TYPE_CHECKING:
    from gemmgen.emulate.tensor.memory import TensorMemory

MOST = 16

Chunks = NDArray[np.void]


class Deferred:
    """MMAs into one accumulator; `memories` are those of the CTAs that take part.

    `a` and `b` hold, for each MMA and CTA, its K-major rows as 16-byte chunks, shape (rows, 2).
    """

    def __init__(
        self,
        memories: Sequence[TensorMemory],
        address: int,
        shape: MmaShape,
        cta_group: int,
        accumulate: bool,
    ) -> None:
        self.memories = tuple(memories)
        self.address = address
        self.shape = shape
        self.cta_group = cta_group
        self.accumulate = accumulate
        self.a: list[list[Chunks]] = []
        self.b: list[list[Chunks]] = []

    def settle(self) -> None:
        """Form the products and write the accumulator."""
        from gemmgen.emulate.tensor.mma import multiply, update_accumulator

        for memory in self.memories:
            memory.deferred = None
        if not self.a:
            return
        left, right = self._joined(self.a, self.shape.a), self._joined(self.b, self.shape.b)
        products = multiply(self.shape, left, right)
        for memory, product in zip(self.memories, products, strict=True):
            update_accumulator(
                memory, self.address, self.shape, self.cta_group, product, self.accumulate
            )

    def _joined(self, parts: list[list[Chunks]], element: str) -> list[NDArray[np.float32]]:
        out = []
        for index in range(len(self.memories)):
            rows = np.concatenate([p[index] for p in parts], axis=1)
            out.append(widen(rows.view(np.uint8), element))
        return out


def defer(
    memories: Sequence[TensorMemory],
    address: int,
    shape: MmaShape,
    cta_group: int,
    accumulate: bool,
    a: list[Chunks],
    b: list[Chunks],
) -> None:
    """Put one MMA off. Those before it into another accumulator are carried out first."""
    now = memories[0].deferred
    same = (
        now is not None
        and accumulate
        and len(now.a) < MOST
        and now.memories == tuple(memories)
        and (now.address, now.shape, now.cta_group) == (address, shape, cta_group)
    )
    if now is None or not same:
        for memory in memories:
            if memory.deferred is not None:
                memory.deferred.settle()
        now = Deferred(memories, address, shape, cta_group, accumulate)
        for memory in memories:
            memory.deferred = now
    now.a.append(a)
    now.b.append(b)
