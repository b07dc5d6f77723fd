"""MMAs that are put off give what MMAs carried out at once give."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gemmgen.emulate.tensor.deferred import MOST, defer
from gemmgen.emulate.tensor.instruction import MmaShape
from gemmgen.emulate.tensor.memory import TensorMemory

K = 16


def _shape(m: int, n: int) -> MmaShape:
    return MmaShape(m, n, "f16", "f16", "f32", False, False, False, False)


def _operand(rows: int, seed: int) -> NDArray[np.float16]:
    return np.random.default_rng(seed).integers(-3, 4, (rows, K)).astype(np.float16)


def _chunks(values: NDArray[np.float16]) -> NDArray[np.void]:
    return values.view("V16")


def _product(a: NDArray[np.float16], b: NDArray[np.float16]) -> NDArray[np.float32]:
    return a.astype(np.float32) @ b.astype(np.float32).T


def _one(
    memory: TensorMemory, column: int, n: int, accumulate: bool, seed: int
) -> NDArray[np.float32]:
    a, b = _operand(128, seed), _operand(n, seed + 1000)
    defer([memory], column, _shape(128, n), 1, accumulate, [_chunks(a)], [_chunks(b)])
    return _product(a, b)


def _cells(memory: TensorMemory, column: int, n: int) -> NDArray[np.float32]:
    return memory.data[:, column : column + n].view(np.float32)


@pytest.mark.parametrize("count", [1, 2, MOST, MOST + 1, 3 * MOST + 5])
def test_a_run_of_mmas_adds_up(count: int) -> None:
    memory = TensorMemory()
    total = sum(_one(memory, 32, 64, i > 0, i) for i in range(count))
    assert (_cells(memory, 32, 64) == total).all()


def test_an_mma_that_does_not_accumulate_forgets_those_before_it() -> None:
    memory = TensorMemory()
    _one(memory, 0, 32, False, 1)
    _one(memory, 0, 32, True, 2)
    last = _one(memory, 0, 32, False, 3)
    assert (_cells(memory, 0, 32) == last).all()


def test_two_accumulators_in_turn_keep_apart() -> None:
    memory = TensorMemory()
    first = second = np.zeros((128, 32), np.float32)
    for i in range(6):
        first = first + _one(memory, 0, 32, i > 0, i)
        second = second + _one(memory, 32, 32, i > 0, 100 + i)
    assert (_cells(memory, 0, 32) == first).all()
    assert (_cells(memory, 32, 32) == second).all()


def test_reading_in_between_shows_what_has_completed() -> None:
    memory = TensorMemory()
    first = _one(memory, 0, 32, False, 1)
    assert (_cells(memory, 0, 32) == first).all()
    second = _one(memory, 0, 32, True, 2)
    assert (_cells(memory, 0, 32) == first + second).all()


def test_operands_are_those_of_the_time_of_completion() -> None:
    memory = TensorMemory()
    a, b = _operand(128, 1), _operand(32, 2)
    expected = _product(a, b)
    defer([memory], 0, _shape(128, 32), 1, False, [_chunks(a).copy()], [_chunks(b).copy()])
    a[:] = 7
    assert (_cells(memory, 0, 32) == expected).all()


def test_a_pair_writes_each_half_to_its_own_cta() -> None:
    memories = [TensorMemory(), TensorMemory()]
    total = np.zeros((256, 64), np.float32)
    for i in range(3):
        a = [_operand(128, 10 * i), _operand(128, 10 * i + 1)]
        b = [_operand(32, 10 * i + 2), _operand(32, 10 * i + 3)]
        defer(
            memories, 0, _shape(256, 64), 2, i > 0, [_chunks(x) for x in a], [_chunks(x) for x in b]
        )
        total += _product(np.concatenate(a), np.concatenate(b))
    assert (_cells(memories[1], 0, 64) == total[128:]).all()
    assert memories[0].deferred is None
    assert (_cells(memories[0], 0, 64) == total[:128]).all()


def test_a_cta_alone_and_its_pair_do_not_mix() -> None:
    memories = [TensorMemory(), TensorMemory()]
    alone = _one(memories[0], 64, 32, False, 5)
    a = [_operand(128, 1), _operand(128, 2)]
    b = [_operand(16, 3), _operand(16, 4)]
    defer(memories, 0, _shape(256, 32), 2, False, [_chunks(x) for x in a], [_chunks(x) for x in b])
    again = _one(memories[0], 64, 32, True, 6)
    assert (_cells(memories[0], 64, 32) == alone + again).all()
    expected = _product(np.concatenate(a), np.concatenate(b))
    assert (_cells(memories[1], 0, 32) == expected[128:]).all()


def test_an_infinity_reaches_its_row_alone() -> None:
    memory = TensorMemory()
    a, b = _operand(128, 1), np.abs(_operand(32, 2)) + np.float16(1)
    a[5, 3] = np.inf
    defer([memory], 0, _shape(128, 32), 1, False, [_chunks(a)], [_chunks(b)])
    assert np.flatnonzero(np.isinf(_cells(memory, 0, 32)).any(axis=1)).tolist() == [5]
