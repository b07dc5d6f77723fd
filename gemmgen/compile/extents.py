"""What M, N and K a generated file takes, asked of its own ``check_problem``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gemmgen.compile.arguments import element_type
from gemmgen.compile.dsl import refusals
from gemmgen.compile.manifest import Extent
from gemmgen.compile.source import LoadedFile

_SPAN = 4096  # extents that are tried one by one
_LIMIT = 2**31 - 1  # generated files hold extents in 32 bits
_NAMES = ("m", "n", "k")

Problem = tuple[int, int, int]


@dataclass(frozen=True)
class _Matrix:
    """As much of a row-major tensor as ``check_problem`` looks at."""

    shape: tuple[int, int]
    dtype: str
    device: str = "cuda:0"

    def stride(self) -> tuple[int, int]:
        return (-(-self.shape[1] // 128) * 128, 1)

    def data_ptr(self) -> int:
        return 0


def extents_of(file: LoadedFile) -> dict[str, Extent]:
    """The ``m``, ``n`` and ``k`` that the file's ``check_problem`` lets pass, each by itself.

    Found by asking: every value to 4096 beside a problem that passes, and the largest by bisection.
    Empty for a file that has no ``check_problem``, or one that lets no such problem pass.

    Raises:
        CompileError: C314, it raises something else than a ValueError.
    """
    accepts = _question(file)
    base = None if accepts is None else _passing(file, accepts)
    if accepts is None or base is None:
        return {}
    return {name: _extent(accepts, base, axis) for axis, name in enumerate(_NAMES)}


def _question(file: LoadedFile) -> Callable[[Problem], bool] | None:
    check = getattr(file.module, "check_problem", None)
    if check is None:
        return None
    dtypes = [_torch_name(element_type(file, name)) for name in "abd"]

    def accepts(problem: Problem) -> bool:
        m, n, k = problem
        shapes = ((m, k), (n, k), (m, n))
        with refusals(file.source.path, "C314"):
            try:
                check(*map(_Matrix, shapes, dtypes))
            except ValueError:
                return False
        return True

    return accepts


def _torch_name(dtype: Any) -> str:
    names = {"Float16": "float16", "BFloat16": "bfloat16", "Float32": "float32"}
    name: str = dtype.__name__
    return names.get(name, name)


def _passing(file: LoadedFile, accepts: Callable[[Problem], bool]) -> Problem | None:
    """A large problem that passes, else one of a single tile in some direction."""
    module = vars(file.module)
    m, n, k = (int(module.get(f"TILE_{axis}", _SPAN)) for axis in "MNK")
    rows = (_SPAN, 3 * _SPAN, m * int(module.get("CLUSTER_M", 1)), m)
    columns = (_SPAN, 3 * _SPAN, n * int(module.get("CLUSTER_N", 1)), n)
    tried = ((x, y, z) for z in (_SPAN, k) for x in rows for y in columns)
    return next((problem for problem in tried if accepts(problem)), None)


def _extent(accepts: Callable[[Problem], bool], base: Problem, axis: int) -> Extent:
    def passes(value: int) -> bool:
        problem = list(base)
        problem[axis] = value
        return accepts((problem[0], problem[1], problem[2]))

    taken = [value for value in range(1, _SPAN + 1) if passes(value)] or [base[axis]]
    least = taken[0]
    step = math.gcd(*(value - least for value in taken)) or least
    low, high = (taken[-1] - least) // step, (_LIMIT - least) // step + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(least + middle * step) else (low, middle)
    return Extent(min=least, step=step, max=least + low * step)
