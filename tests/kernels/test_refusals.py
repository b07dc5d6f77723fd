"""What a kernel would get wrong is refused by its file, by name, before any launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from gemmgen.gpu.kernel import check_of
from gemmgen.run.oracle import TORCH_DTYPE
from gemmgen.run.subject import Subject

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Good:
    """A small problem that a kernel takes, of several rows and columns."""

    m: int
    n: int
    k: int
    k_exact: bool
    tensors: Tensors


@pytest.fixture
def good(subject: Subject) -> Good:
    rules, spec = subject.plan.problem, subject.plan.spec.problem
    m, n = (-(-16 // unit) * unit for unit in (rules.m_multiple.value, rules.n_multiple.value))
    k = rules.k_exact or 8 * rules.k_multiple
    a = torch.zeros(m, k, dtype=TORCH_DTYPE[spec.a.dtype])
    b = torch.zeros(n, k, dtype=TORCH_DTYPE[spec.b.dtype])
    d = torch.zeros(m, n, dtype=TORCH_DTYPE[spec.d.dtype])
    return Good(m, n, k, rules.k_exact is not None, {"a": a, "b": b, "d": d})


def _like(t: torch.Tensor, *shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=t.dtype)


def _wider(t: torch.Tensor, columns: int, shift: int = 0) -> torch.Tensor:
    """A matrix like `t` inside one with `columns` more columns, `shift` elements from its start."""
    whole = _like(t, t.shape[0], t.shape[1] + columns)
    return whole[:, shift : shift + t.shape[1]]


def _each(change: Callable[[torch.Tensor], torch.Tensor]) -> list[Callable[[Good], Tensors]]:
    return [
        lambda good, name=name: {name: change(good.tensors[name])}  # type: ignore[misc]
        for name in ("a", "b", "d")
    ]


FAULTS: dict[str, tuple[list[Callable[[Good], Tensors]], str]] = {
    "an element type of its own": (_each(lambda t: t.to(torch.float64)), "this kernel takes"),
    "a vector": (_each(lambda t: t[0]), "has 1 dimensions"),
    "a batch": (_each(lambda t: t[None]), "has 3 dimensions"),
    "K of A and B that differ": (
        [lambda good: {"b": _like(good.tensors["b"], good.n, good.k + 8)}],
        "expected A (M, K), B (N, K), D (M, N)",
    ),
    "a D of another shape": (
        [
            lambda good: {"d": _like(good.tensors["d"], 2 * good.m, good.n)},
            lambda good: {"d": _like(good.tensors["d"], good.m, 2 * good.n)},
            lambda good: {"d": _like(good.tensors["d"], good.n + good.m, good.m)},
        ],
        "expected A (M, K), B (N, K), D (M, N)",
    ),
    "columns that are not contiguous": (
        _each(lambda t: _like(t, t.shape[1], t.shape[0]).T),
        "has inner stride",
    ),
    "rows that are one row expanded": (
        _each(lambda t: _like(t, 1, t.shape[1]).expand(t.shape)),
        "row stride 0: expanded or overlapping rows",
    ),
    "rows that overlap": (
        _each(lambda t: _like(t, t.numel()).as_strided(t.shape, (8, 1))),
        "row stride 8: expanded or overlapping rows",
    ),
    "a row stride that is no multiple of 16 bytes": (
        _each(lambda t: _wider(t, 1)),
        "rows must start on multiples of 16 bytes",
    ),
    "a base address that is no multiple of 16": (
        _each(lambda t: _wider(t, 16, 1)),
        "rows must start on multiples of 16 bytes",
    ),
    "matrices on two devices": (
        _each(lambda t: torch.empty(t.shape, dtype=t.dtype, device="meta")),
        "one device only",
    ),
}


def _refusal(subject: Subject, tensors: Tensors) -> str:
    with pytest.raises(ValueError, match=" ") as caught:
        check_of(subject.path)(tensors["a"], tensors["b"], tensors["d"])
    assert type(caught.value).__name__ == "UnsupportedProblem"
    return str(caught.value)


def _resized(good: Good, m: int, n: int, k: int) -> Tensors:
    t = good.tensors
    return {"a": _like(t["a"], m, k), "b": _like(t["b"], n, k), "d": _like(t["d"], m, n)}


def test_a_good_problem_is_taken_also_with_wider_rows(subject: Subject, good: Good) -> None:
    check = check_of(subject.path)
    check(*good.tensors.values())
    check(*(_wider(t, 16, 8) for t in good.tensors.values()))


@pytest.mark.parametrize("kind", FAULTS)
def test_matrices_are_refused_for(kind: str, subject: Subject, good: Good) -> None:
    changes, said = FAULTS[kind]
    for change in changes:
        assert said in _refusal(subject, good.tensors | change(good))


def test_an_empty_problem_is_refused(subject: Subject, good: Good) -> None:
    for size in ((0, good.n, good.k), (good.m, 0, good.k), (good.m, good.n, 0)):
        assert "each must be in 1 ... 2^31 - 1" in _refusal(subject, _resized(good, *size))


def test_m_and_n_that_would_leave_rows_or_columns_unwritten_are_refused(
    subject: Subject, good: Good
) -> None:
    sizes = [(good.m + 8, good.n), (good.m, good.n + 8), (good.m - 8, good.n), (good.m, good.n - 8)]
    for m, n in sizes:
        rules = subject.plan.problem
        legal = m % rules.m_multiple.value == 0 and n % rules.n_multiple.value == 0
        if not legal and min(m, n) > 0:
            one_tile = rules.m_exact is not None
            rule = "this kernel computes one" if one_tile else "must be multiples of"
            assert rule in _refusal(subject, _resized(good, m, n, good.k))


def test_a_k_that_tma_cannot_read_is_refused(subject: Subject, good: Good) -> None:
    if good.k_exact:
        for k in (good.k * 2, good.k - 8):
            assert f"K = {k}" in _refusal(subject, _resized(good, good.m, good.n, k))
    else:
        for k in (good.k + 1, good.k + 4, 4):
            assert f"K = {k}" in _refusal(subject, _resized(good, good.m, good.n, k))
