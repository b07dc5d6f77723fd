"""An output matrix that shows every element left unwritten and every write outside it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

GUARD_COLUMNS = 16
GUARD_ROWS = 8
_INT_OF_SIZE = {2: torch.int16, 4: torch.int32}


@dataclass(frozen=True)
class GuardedOutput:
    """D inside guard bands.

    Attributes:
        whole: (GUARD_ROWS + M + GUARD_ROWS, GUARD_COLUMNS + N + GUARD_COLUMNS), the allocation.
        d: (M, N) view; its row stride covers the guard columns; starts as NaN.
    """

    whole: torch.Tensor
    d: torch.Tensor

    @classmethod
    def make(cls, m: int, n: int, dtype: torch.dtype, device: str = "cpu") -> GuardedOutput:
        """Allocate D of (m, n) with every bit pattern of `whole` a NaN."""
        whole = torch.full(
            (m + 2 * GUARD_ROWS, n + 2 * GUARD_COLUMNS), torch.nan, dtype=dtype, device=device
        )
        d = whole[GUARD_ROWS : GUARD_ROWS + m, GUARD_COLUMNS : GUARD_COLUMNS + n]
        return cls(whole, d)

    def unwritten(self) -> int:
        """Elements of D that still are NaN."""
        return int(self.d.isnan().sum())

    def written_outside(self) -> int:
        """Elements of the guard bands whose bits changed."""
        fresh = torch.full_like(self.whole, torch.nan)
        as_int = _INT_OF_SIZE[self.whole.element_size()]
        changed = self.whole.view(as_int) != fresh.view(as_int)
        m, n = self.d.shape
        changed[GUARD_ROWS : GUARD_ROWS + m, GUARD_COLUMNS : GUARD_COLUMNS + n] = False
        return int(changed.sum())
