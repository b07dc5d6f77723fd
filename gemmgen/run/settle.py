"""What Hopper's tensor cores make of a sum, to the bit.

Emulator and GPU add the same products in another order and precision. Where they cancel to almost
nothing, that shows behind the one rounding of the output: the elements that differ by more are
settled here, with a model of the hardware.

The model: a wgmma of 16-bit inputs adds 16 products and the accumulator at once. The 17 terms are
exact, are aligned to the largest exponent among them, keep 25 bits behind its leading one, and lose
the rest (rounding to zero); the sum loses what float32 cannot hold, again toward zero. Measured on
an H200, 2026-11-30: of 30 models (steps of 4, 8 and 16; 23 to 28 bits; either final rounding) it
alone gives all three elements in which the first comparison found a difference. Li et al. 2024,
"FTTN", find 16 products and at least 2 extra bits on an H100 by other means.
"""

from __future__ import annotations

import torch

PRODUCTS = 16
FRACTION_BITS = 25
FLOAT32_BITS = 23


def hopper_sum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sums of products as an accumulator of wgmma holds them.

    Args:
        a, b: (E, K) values of 16-bit types; row e of each makes sum e.

    Returns:
        (E,) float64, each a float32 value.
    """
    products = a.double() * b.double()  # exact: 22 bits of 53
    total = torch.zeros(len(products), dtype=torch.float64)
    for step in products.split(PRODUCTS, dim=1):
        terms = torch.cat((step, total[:, None]), dim=1)
        _, exponent = torch.frexp(terms.abs().amax(dim=1))
        unit = torch.ldexp(torch.ones_like(total), exponent - 1 - FRACTION_BITS)
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
