"""Matrix descriptors against addresses worked out by hand from the canonical layouts.

Layouts: CUTLASS include/cute/arch/mma_sm100_desc.hpp, include/cute/atom/mma_traits_sm90_gmma.hpp.
"""

import pytest

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.tensor.descriptor import (
    MatrixDescriptor,
    decode_tcgen05,
    decode_wgmma,
    operand_chunks,
)


def test_a_tcgen05_descriptor_is_decoded_field_by_field() -> None:
    # 128-byte swizzle (2), version 1, SBO 1024 (64), LBO 16 (1), start 0x8400
    bits = 2 << 61 | 1 << 46 | 64 << 32 | 1 << 16 | 0x840
    assert bits == 0x4000404000010840
    assert decode_tcgen05(bits) == MatrixDescriptor(0x8400, 16, 1024, 128)


@pytest.mark.parametrize(("code", "span"), [(0, 0), (2, 128), (4, 64), (6, 32)])
def test_tcgen05_layout_codes_name_their_span(code: int, span: int) -> None:
    assert decode_tcgen05(code << 61 | 1 << 46).span == span


@pytest.mark.parametrize(("code", "span"), [(0, 0), (1, 128), (2, 64), (3, 32)])
def test_wgmma_layout_codes_name_their_span(code: int, span: int) -> None:
    decoded = decode_wgmma(code << 62 | 64 << 32 | 1 << 16 | 0x3FFF)
    assert decoded == MatrixDescriptor(0x3FFF0, 16, 1024, span)


@pytest.mark.parametrize(
    ("bits", "says"),
    [
        (2 << 61, "bits 48:46 are 0, must be 1"),
        (3 << 61 | 1 << 46, "unknown layout 3"),
        (2 << 61 | 1 << 46 | 1 << 49, "base offset"),
        (2 << 61 | 1 << 46 | 1 << 52, "absolute leading offset"),
    ],
)
def test_a_descriptor_that_cannot_be_used_is_refused(bits: int, says: str) -> None:
    with pytest.raises(EmulationError, match=says) as caught:
        decode_tcgen05(bits)
    assert caught.value.code == "E234"


@pytest.mark.parametrize(
    ("layout", "row", "chunk", "address"),
    [
        # 128-byte swizzle, rows of 128 bytes, groups of 8 rows 1024 apart
        ((0x400, 16, 1024, 128), 0, 0, 0x400),
        ((0x400, 16, 1024, 128), 1, 0, 0x400 + 128 + 16),
        ((0x400, 16, 1024, 128), 1, 1, 0x400 + 128),
        ((0x400, 16, 1024, 128), 13, 1, 0x400 + 1024 + 5 * 128 + 4 * 16),
        # the second k block starts 32 bytes on: chunks 2 and 3 of the same rows
        ((0x420, 16, 1024, 128), 0, 0, 0x420),
        ((0x420, 16, 1024, 128), 3, 0, 0x400 + 3 * 128 + 1 * 16),
        ((0x420, 16, 1024, 128), 127, 1, 0x400 + 15 * 1024 + 7 * 128 + 4 * 16),
        # the fourth: chunks 6 and 7
        ((0x460, 16, 1024, 128), 6, 1, 0x400 + 6 * 128 + 1 * 16),
        # 64-byte swizzle, groups of 8 rows 512 apart
        ((0x400, 16, 512, 64), 1, 0, 0x400 + 64),
        ((0x400, 16, 512, 64), 2, 0, 0x400 + 128 + 16),
        ((0x420, 16, 512, 64), 7, 1, 0x400 + 448 + 0),
        # 32-byte swizzle, groups of 8 rows 256 apart
        ((0x400, 16, 256, 32), 3, 1, 0x400 + 96 + 16),
        ((0x400, 16, 256, 32), 4, 1, 0x400 + 128),
        ((0x400, 16, 256, 32), 8, 0, 0x400 + 256),
        # none: core matrices of 8 rows by 16 bytes, SBO 256 to the next rows, LBO 128 to the next k
        ((0x400, 128, 256, 0), 7, 0, 0x400 + 112),
        ((0x400, 128, 256, 0), 10, 1, 0x400 + 256 + 32 + 128),
    ],
)
def test_k_major_chunks_lie_where_hand_arithmetic_says(
    layout: tuple[int, int, int, int], row: int, chunk: int, address: int
) -> None:
    chunks = operand_chunks(MatrixDescriptor(*layout), 128, 32, False, 2)
    assert chunks.shape == (128, 2)
    assert chunks[row, chunk] * 16 == address


@pytest.mark.parametrize(
    ("layout", "k", "m", "address"),
    [
        # fp16, 128-byte swizzle: atoms of 64 m by 8 k; LBO 8192 to the next 64 m, SBO 1024 to the
        # next 8 k. Element m of column k is in chunk m // 8 of its atom row.
        ((0x400, 8192, 1024, 128), 0, 0, 0x400),
        ((0x400, 8192, 1024, 128), 1, 0, 0x400 + 128 + 16),
        ((0x400, 8192, 1024, 128), 1, 8, 0x400 + 128),
        ((0x400, 8192, 1024, 128), 9, 72, 0x400 + 8192 + 1024 + 128),
        ((0x400, 8192, 1024, 128), 15, 120, 0x400 + 8192 + 1024 + 7 * 128 + 0),
        # 64-byte swizzle: atoms of 32 m
        ((0x400, 4096, 512, 64), 2, 40, 0x400 + 4096 + 128 + 0),
        ((0x400, 4096, 512, 64), 12, 16, 0x400 + 512 + 256 + 0),
        # 32-byte swizzle: atoms of 16 m
        ((0x400, 2048, 256, 32), 5, 24, 0x400 + 2048 + 160 + 0),
        # none: LBO steps 8 k, SBO steps 8 m
        ((0x400, 2048, 128, 0), 11, 16, 0x400 + 2 * 128 + 3 * 16 + 2048),
    ],
)
def test_mn_major_chunks_lie_where_hand_arithmetic_says(
    layout: tuple[int, int, int, int], k: int, m: int, address: int
) -> None:
    chunks = operand_chunks(MatrixDescriptor(*layout), 128, 32, True, 2)
    assert chunks.shape == (16, 16)
    assert chunks[k, m // 8] * 16 == address


@pytest.mark.parametrize("span", [32, 64, 128])
def test_a_swizzle_follows_the_address_where_an_operand_begins_within_its_pattern(
    span: int,
) -> None:
    """CUTLASS's dense_gemm.py has such operands: a start some rows on shifts what is read."""
    for rows in range(8):
        whole = operand_chunks(MatrixDescriptor(0x8000, 16, 8 * span, span), 64, 16, False, 2)
        part = operand_chunks(
            MatrixDescriptor(0x8000 + rows * span, 16, 8 * span, span), 8, 16, False, 2
        )
        assert part.ravel().tolist() == whole[rows : rows + 8].ravel().tolist()
