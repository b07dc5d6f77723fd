"""Inputs, the reference result, and how far a correct kernel may be from it.

Two kinds of numerics, in this order:

- *exact*: small random integers whose every partial sum and result is exact in the output type, so
  that the comparison is equality, whatever the order of summation;
- *random*: 0.1 x N(0, 1), with an element-wise bound derived from K.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gemmgen.terms import Dtype

TORCH_DTYPE = {
    Dtype.F16: torch.float16,
    Dtype.BF16: torch.bfloat16,
    Dtype.F32: torch.float32,
    Dtype.E4M3: torch.float8_e4m3fn,
    Dtype.E5M2: torch.float8_e5m2,
}

# Largest integer up to which every integer is exact: 2^(mantissa bits + 1), IEEE 754.
EXACT_LIMIT = {Dtype.F16: 2048, Dtype.BF16: 256, Dtype.F32: 1 << 24}

# Unit roundoff of the output's rounding to nearest, 2^-(mantissa bits + 1).
UNIT_ROUNDOFF = {Dtype.F16: 2.0**-11, Dtype.BF16: 2.0**-8, Dtype.F32: 2.0**-24}
SMALLEST_SUBNORMAL = {Dtype.F16: 2.0**-24, Dtype.BF16: 2.0**-133, Dtype.F32: 2.0**-149}


@dataclass(frozen=True)
class Problem:
    """Inputs of one case and its answer.

    Attributes:
        a: (M, K), row-major.
        b: (N, K), row-major.
        reference: (M, N) float64, ``a @ b.T`` of the inputs as they are stored.
        bound: (M, N) float64, the largest correct distance from `reference`; zero for exact inputs.
    """

    a: torch.Tensor
    b: torch.Tensor
    reference: torch.Tensor
    bound: torch.Tensor


def exact_problem(m: int, n: int, k: int, dtype: Dtype, out: Dtype, seed: int) -> Problem:
    """Random integers whose results fit the output type exactly.

    The range of the integers starts at [-4, 4] and halves until the largest possible partial sum,
    ``max(|A| @ |B|.T)``, is within the output's exact range; from [-1, 1] on, inputs are thinned
    out instead.
    """
    generator = torch.Generator().manual_seed(seed)
    width, keep = 4, 1.0
    while True:
        a = _integers((m, k), width, keep, generator)
        b = _integers((n, k), width, keep, generator)
        magnitude = a.abs() @ b.abs().T
        if float(magnitude.max()) <= EXACT_LIMIT[out]:
            break
        width, keep = (width // 2, keep) if width > 1 else (1, keep / 2)
    reference = a @ b.T
    return Problem(
        a.to(TORCH_DTYPE[dtype]), b.to(TORCH_DTYPE[dtype]), reference, torch.zeros_like(reference)
    )


def random_problem(m: int, n: int, k: int, dtype: Dtype, out: Dtype, seed: int) -> Problem:
    """0.1 x N(0, 1) inputs and the bound of a correct kernel's error.

    The bound is ``u_out * |ref| + (1 + u_out) * gamma_k * (|A| @ |B|.T) + half a subnormal`` with
    ``gamma_k = K * 2^-24 / (1 - K * 2^-24)``: fp32 summation in any order (Higham, Accuracy and
    Stability of Numerical Algorithms, sections 3.1 and 4.2), then one rounding to the output type.
    """
    generator = torch.Generator().manual_seed(seed)
    a = (0.1 * torch.randn((m, k), generator=generator)).to(TORCH_DTYPE[dtype])
    b = (0.1 * torch.randn((n, k), generator=generator)).to(TORCH_DTYPE[dtype])
    wide_a, wide_b = a.double(), b.double()
    reference = wide_a @ wide_b.T
    step = k * 2.0**-24
    gamma = step / (1.0 - step)
    unit = UNIT_ROUNDOFF[out]
    bound = unit * reference.abs()
    bound += (1.0 + unit) * gamma * (wide_a.abs() @ wide_b.abs().T)
    bound += SMALLEST_SUBNORMAL[out] / 2
    return Problem(a, b, reference, bound)


def _integers(
    shape: tuple[int, int], width: int, keep: float, generator: torch.Generator
) -> torch.Tensor:
    values = torch.randint(-width, width + 1, shape, generator=generator).double()
    if keep < 1.0:
        values *= torch.rand(shape, generator=generator) < keep
    return values
