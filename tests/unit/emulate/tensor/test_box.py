"""Box windows and shared-memory chunks against addresses worked out by hand."""

import pytest
from maps import tensor_map

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.tensor.box import clip, row_pitch, smem_bytes, smem_chunks
from gemmgen.emulate.tensor.tensormap import TensorMap, decode_tensor_map


def matrix(swizzle: int = 0, box: tuple[int, int] = (64, 128)) -> TensorMap:
    """A (512, 256) fp16 matrix at 0x1000, rows of 1024 bytes."""
    return decode_tensor_map(tensor_map(0x1000, (256, 512), (1024,), box, swizzle=swizzle))


def test_a_box_inside_is_whole() -> None:
    window = clip(matrix(), (64, 128))
    assert window is not None
    assert window.address == 0x1000 + 128 * 1024 + 64 * 2
    assert window.shape == (128, 128)
    assert window.strides == (1024, 1)
    assert window.span == 127 * 1024 + 128
    assert window.whole


def test_a_box_over_the_edges_is_cut_on_both_sides() -> None:
    window = clip(matrix(), (-16, 500))
    assert window is not None
    assert window.address == 0x1000 + 500 * 1024
    assert window.shape == (12, 96)
    assert window.inside == (slice(0, 12), slice(32, 128))
    assert not window.whole


@pytest.mark.parametrize("at", [(256, 0), (0, 512), (-64, 0), (0, -128)])
def test_a_box_outside_has_no_window(at: tuple[int, int]) -> None:
    assert clip(matrix(), at) is None


def test_the_number_of_coordinates_is_the_rank() -> None:
    with pytest.raises(EmulationError, match="3 coordinates for a tensor map of rank 2") as caught:
        clip(matrix(), (0, 0, 0))
    assert caught.value.code == "E231"


def test_a_box_of_five_dimensions_steps_by_each_stride() -> None:
    strides = (64, 1024, 16384, 262144)
    decoded = decode_tensor_map(tensor_map(0, (32, 16, 16, 16, 4), strides, (8, 2, 2, 2, 2)))
    window = clip(decoded, (8, 1, 2, 3, 1))
    assert window is not None
    assert window.address == 16 + 64 + 2 * 1024 + 3 * 16384 + 262144
    assert window.shape == (2, 2, 2, 2, 16)
    assert window.strides == (262144, 16384, 1024, 64, 1)


def chunk(address: int) -> int:
    assert address % 16 == 0
    return address // 16


@pytest.mark.parametrize(
    ("code", "inner", "base", "row", "column", "address"),
    [
        # 128-byte swizzle, box rows of 128 bytes, base a multiple of 1024
        (3, 64, 0x400, 0, 0, 0x400),
        (3, 64, 0x400, 1, 0, 0x400 + 128 + 16),
        (3, 64, 0x400, 5, 3, 0x400 + 5 * 128 + 6 * 16),
        (3, 64, 0x400, 9, 7, 0x400 + 9 * 128 + 6 * 16),
        # base 128 past a multiple of 1024: the row counts from the address, not from the box
        (3, 64, 0x480, 0, 0, 0x480 + 16),
        (3, 64, 0x480, 7, 0, 0x800),
        # 64 bytes
        (2, 32, 0x400, 1, 2, 0x400 + 64 + 32),
        (2, 32, 0x400, 2, 2, 0x400 + 128 + 48),
        (2, 32, 0x400, 6, 0, 0x400 + 384 + 48),
        # 32 bytes
        (1, 16, 0x400, 4, 0, 0x400 + 128 + 16),
        (1, 16, 0x400, 8, 0, 0x400 + 256),
        # none: rows follow each other
        (0, 64, 0x400, 3, 5, 0x400 + 3 * 128 + 5 * 16),
        (0, 24, 0x400, 3, 2, 0x400 + 3 * 48 + 2 * 16),
    ],
)
def test_a_chunk_of_the_box_lies_where_hand_arithmetic_says(
    code: int, inner: int, base: int, row: int, column: int, address: int
) -> None:
    chunks = smem_chunks(matrix(code, (inner, 128)), base).reshape(128, -1)
    assert chunks[row, column] == chunk(address)


def test_rows_shorter_than_the_swizzle_keep_its_pitch() -> None:
    narrow = matrix(3, (32, 16))
    assert row_pitch(narrow) == 128
    assert smem_bytes(narrow) == 16 * 128
    assert narrow.box_bytes == 16 * 64


def test_a_misaligned_box_is_refused() -> None:
    with pytest.raises(EmulationError, match="0x440 is not 128-byte aligned") as caught:
        smem_chunks(matrix(3), 0x440)
    assert caught.value.code == "E231"
