"""What Hopper's tensor cores make of a sum, to the bit.

Emulator and GPU add the same products in another order and precision. Where they cancel to almost
nothing, that shows behind the one rounding of the output: the elements that differ by more are
settled here, with a model of the hardware.

The model: a wgmma of 16-bit inputs adds 16 products and the accumulator at once. The 17 terms are
exact. They are aligned to the largest exponent among them, where that of a product is the sum of
its factors' (the product of their significands, which may be 2 or more, is not normalised first),
keep 25 bits behind it, and lose the rest (rounding to zero); the sum loses what float32 cannot
hold, again toward zero. Measured on an H200, 2026-11-30: of 288 models (steps of 8, 16 and 32; 22
to 29 bits; products normalised or not; truncated or floored; three final roundings) it alone gives
all four elements in which comparisons with the emulator found a difference. Li et al. 2024, "FTTN",
find 16 products and at least 2 extra bits on an H100 by other means.
"""

from __future__ import annotations

import torch

PRODUCTS = 16
FRACTION_BITS = 25
FLOAT32_BITS = 23
_NO_EXPONENT = -512  # of a zero: below every other, its unit is above 2^-1022


def hopper_sum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sums of products as an accumulator of wgmma holds them.

    Args:
        a, b: (E, K) values of 16-bit types; row e of each makes sum e.

    Returns:
        (E,) float64, each a float32 value.
    """
    a, b = a.double(), b.double()
    products = a * b  # exact: 22 bits of 53
    exponents = torch.frexp(a).exponent + torch.frexp(b).exponent - 1
    exponents = exponents.masked_fill(products == 0, _NO_EXPONENT)
    total = torch.zeros(len(products), dtype=torch.float64)
    for step, ahead in zip(
        products.split(PRODUCTS, dim=1), exponents.split(PRODUCTS, dim=1), strict=True
    ):
        own = torch.frexp(total).exponent.masked_fill(total == 0, _NO_EXPONENT)
        exponent = torch.maximum(ahead.amax(dim=1), own)
        unit = torch.ldexp(torch.ones_like(total), exponent - 1 - FRACTION_BITS)
        terms = torch.cat((step, total[:, None]), dim=1)
        total = _to_float32((terms / unit[:, None]).trunc().sum(dim=1) * unit)
    return total


def _to_float32(values: torch.Tensor) -> torch.Tensor:
    """Rounded toward zero to 24 significant bits."""
    _, exponent = torch.frexp(values)
    unit = torch.ldexp(torch.ones_like(values), exponent - 1 - FLOAT32_BITS)
    return (values / unit).trunc() * unit


def is_hopper_sum(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
    """Which elements of `d`, (E,) in its output type, are what the hardware makes of a, b."""
    return hopper_sum(a, b).to(torch.float32).to(d.dtype) == d
