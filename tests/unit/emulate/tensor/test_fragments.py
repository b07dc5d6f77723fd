"""wgmma fragments against the positions of the PTX ISA figures, spelled out value by value."""

import numpy as np
import pytest

from gemmgen.emulate.tensor.fragments import a_bytes_of, fragment_of, matrix_of


@pytest.mark.parametrize(
    ("warp", "thread", "value", "row", "column"),
    [
        (0, 0, 0, 0, 0),
        (0, 0, 1, 0, 1),
        (0, 1, 0, 0, 2),
        (0, 4, 0, 1, 0),
        (0, 0, 2, 8, 0),
        (1, 0, 0, 16, 0),
        (0, 0, 4, 0, 8),
        (3, 31, 15, 63, 31),
    ],
)
def test_a_value_of_d_stands_where_the_figure_says(
    warp: int, thread: int, value: int, row: int, column: int
) -> None:
    matrix = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    fragment = fragment_of(matrix, "f32")
    assert fragment.shape == (4, 16, 32)
    assert fragment.view(np.float32)[warp, value, thread] == matrix[row, column]
    packed = fragment_of(matrix, "f16")
    assert packed.shape == (4, 8, 32)
    half = packed[warp, value // 2, thread] >> 16 * (value % 2) & 0xFFFF
    assert np.uint16(half).view(np.float16) == np.float16(matrix[row, column])


@pytest.mark.parametrize("d", ["f32", "f16", "s32"])
@pytest.mark.parametrize("n", [8, 24, 256])
def test_fragments_and_matrices_are_inverses(d: str, n: int) -> None:
    rng = np.random.default_rng(n)
    dtype = np.int32 if d == "s32" else np.float32
    matrix = rng.integers(-9, 9, (64, n)).astype(dtype)
    assert np.array_equal(matrix_of(fragment_of(matrix, d), d), matrix)


def test_a_register_of_a_holds_four_bytes_of_its_row() -> None:
    fragment = np.arange(4 * 4 * 32, dtype=np.uint32).reshape(4, 4, 32)
    found = a_bytes_of(fragment).view(np.uint32)
    assert found.shape == (64, 8)
    for warp, register, thread in ((0, 0, 0), (0, 1, 5), (2, 2, 31), (3, 3, 14)):
        row = 16 * warp + thread // 4 + 8 * (register % 2)
        word = thread % 4 + 4 * (register // 2)
        assert found[row, word] == fragment[warp, register, thread]
