"""Matrices of small integers, whose products are exact, as kernels and the emulator see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cutlass
import torch
from cutlass.cute.runtime import from_dlpack

from gemmgen.emulate import Buffer

ALIGNMENT = 16  # bytes: what TMA asks of a base address
BLANK = 0xFF  # as every byte of a float: a NaN
SM_COUNT = 8

TYPES: dict[str, tuple[torch.dtype, Any]] = {
    "f16": (torch.float16, cutlass.Float16),
    "bf16": (torch.bfloat16, cutlass.BFloat16),
    "f32": (torch.float32, cutlass.Float32),
    "tf32": (torch.float32, cutlass.TFloat32),
    "e4m3": (torch.float8_e4m3fn, cutlass.Float8E4M3FN),
    "e5m2": (torch.float8_e5m2, cutlass.Float8E5M2),
    "s8": (torch.int8, cutlass.Int8),
    "s32": (torch.int32, cutlass.Int32),
}
_BYTES = (torch.float8_e4m3fn, torch.float8_e5m2)  # DLPack has no name for these


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory.

    Attributes:
        storage: contiguous, as it lies in memory, slowest mode first.
        order: the modes of `storage` in the order in which the kernel names them.
        dtype: key of `TYPES`.
        fill: byte that a writable matrix holds before a run; None for an input.
    """

    storage: torch.Tensor
    order: tuple[int, ...]
    dtype: str
    fill: int | None = None

    @classmethod
    def drawn(
        cls, shape: tuple[int, ...], dtype: str, *, order: tuple[int, ...] = (), seed: int = 0
    ) -> Matrix:
        """An input of `shape` (of its storage): integers from -2 to 2."""
        generator = torch.Generator().manual_seed(seed)
        values = torch.randint(-2, 3, shape, generator=generator)
        return cls(values.to(TYPES[dtype][0]), order or tuple(range(len(shape))), dtype)

    @classmethod
    def blanked(
        cls, shape: tuple[int, ...], dtype: str, *, order: tuple[int, ...] = (), fill: int = BLANK
    ) -> Matrix:
        """An output of `shape` (of its storage)."""
        storage = torch.empty(shape, dtype=TYPES[dtype][0])
        return cls(storage, order or tuple(range(len(shape))), dtype, fill)

    def blank(self) -> None:
        """Fill an output with its byte."""
        if self.fill is not None:
            self.storage.view(torch.uint8).fill_(self.fill)

    def values(self) -> torch.Tensor:
        """The matrix with its modes in the kernel's order."""
        return self.storage.permute(*self.order)

    def view(self, align: int = ALIGNMENT) -> Any:
        """A CuTe tensor over the memory, of dynamic layout with the fastest mode as leading one."""
        raw = self.storage.view(torch.uint8) if self.storage.dtype in _BYTES else self.storage
        tensor = from_dlpack(raw.permute(*self.order), assumed_align=align)
        tensor.element_type = TYPES[self.dtype][1]
        return tensor.mark_layout_dynamic(leading_dim=self.order.index(len(self.order) - 1))

    def static_view(self) -> Any:
        """A CuTe tensor over the memory, of static layout: every alignment is known."""
        return from_dlpack(self.storage.permute(*self.order), assumed_align=ALIGNMENT)

    def buffer(self, name: str) -> Buffer:
        """The memory, for the emulator."""
        data = self.storage.view(torch.uint8).flatten().numpy()
        return Buffer(name, self.storage.data_ptr(), data, self.fill is not None)
