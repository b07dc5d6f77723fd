"""Tensor Memory layouts against the cells that the PTX ISA figures show."""

import numpy as np
import pytest

from gemmgen.emulate.tensor.layout import (
    accumulator_columns,
    accumulator_parts,
    register_cells,
    register_count,
)


def cells(m: int, n: int, cta_group: int, lane: int = 0) -> dict[tuple[int, int], tuple[int, int]]:
    """(row, column of D) -> (lane, column of Tensor Memory), spelled out."""
    found = {}
    for part in accumulator_parts(m, n, cta_group, lane):
        lanes = np.arange(128)[part.lanes]
        for row, at in zip(range(part.rows.start, part.rows.stop), lanes, strict=True):
            for column in range(part.columns.start, part.columns.stop):
                found[row, column] = (int(at), column - part.columns.start)
    return found


def test_a_full_accumulator_has_row_m_in_lane_m() -> None:
    for cta_group, m in ((1, 128), (2, 256)):
        found = cells(m, 32, cta_group)
        assert len(found) == 128 * 32
        assert all(where == d for d, where in found.items())


@pytest.mark.parametrize("lane", [0, 16])
def test_64_rows_use_half_of_each_quarter(lane: int) -> None:
    found = cells(64, 8, 1, lane)
    assert len(found) == 64 * 8
    assert found[0, 0] == (lane, 0)
    assert found[15, 7] == (15 + lane, 7)
    assert found[16, 3] == (32 + lane, 3)
    assert found[50, 1] == (98 + lane, 1)


def test_128_rows_over_a_pair_fold_the_columns_into_the_upper_lanes() -> None:
    found = cells(128, 64, 2)
    assert len(found) == 64 * 64
    assert found[5, 31] == (5, 31)
    assert found[5, 32] == (69, 0)
    assert found[63, 63] == (127, 31)
    assert accumulator_columns(128, 64, 2) == 32


def test_other_accumulators_take_n_columns() -> None:
    assert accumulator_columns(256, 64, 2) == 64
    assert accumulator_columns(64, 64, 1) == 64


@pytest.mark.parametrize(
    ("shape", "repeat", "thread", "register", "lane", "column"),
    [
        ("32x32b", 4, 7, 3, 7, 3),
        ("16x64b", 1, 0, 0, 0, 0),
        ("16x64b", 1, 1, 0, 8, 0),
        ("16x64b", 1, 2, 0, 0, 1),
        ("16x64b", 2, 31, 1, 15, 3),
        ("16x128b", 1, 5, 0, 1, 1),
        ("16x128b", 1, 5, 1, 9, 1),
        ("16x128b", 2, 31, 3, 15, 7),
        ("16x256b", 1, 6, 0, 1, 4),
        ("16x256b", 1, 6, 1, 1, 5),
        ("16x256b", 1, 6, 2, 9, 4),
        ("16x256b", 2, 31, 7, 15, 15),
    ],
)
def test_a_register_names_the_cell_of_the_isa_figure(
    shape: str, repeat: int, thread: int, register: int, lane: int, column: int
) -> None:
    lanes, columns = register_cells(shape, repeat)
    assert (lanes[register, thread], columns[register, thread]) == (lane, column)


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [("32x32b", 32, 1), ("16x64b", 16, 2), ("16x128b", 16, 4), ("16x256b", 16, 8)],
)
@pytest.mark.parametrize("repeat", [1, 2, 8])
@pytest.mark.parametrize("packed", [False, True])
def test_every_cell_of_the_rectangle_is_named_once(
    shape: str, rows: int, columns: int, repeat: int, packed: bool
) -> None:
    lanes, places = register_cells(shape, repeat, packed)
    width = columns * repeat * (2 if packed else 1)
    assert lanes.shape[0] == register_count(shape, repeat)
    assert sorted((lanes * width + places).ravel()) == list(range(rows * width))


def test_packed_halves_are_neighbouring_columns() -> None:
    lanes, columns = register_cells("32x32b", 2, True)
    assert columns[1, :, 9].tolist() == [2, 3]
    assert lanes[1, :, 9].tolist() == [9, 9]


def test_16x32bx2_puts_the_upper_threads_a_split_away() -> None:
    lanes, columns = register_cells("16x32bx2", 4, False, 32)
    assert (lanes[2, 5], columns[2, 5]) == (5, 2)
    assert (lanes[2, 21], columns[2, 21]) == (5, 34)
    lanes, columns = register_cells("16x32bx2", 1, True, 2)
    assert columns[0, :, 16].tolist() == [2, 3]
