"""Addresses worked out by hand from the swizzle tables of the PTX ISA, not from the code."""

import numpy as np
import pytest

from gemmgen.emulate.tensor.swizzle import repeat_bytes, swizzle


@pytest.mark.parametrize(
    ("span", "address", "stored"),
    [
        # 128 bytes: row r of 128 bytes keeps chunk c at c ^ (r % 8).
        (128, 0, 0),
        (128, 128, 128 + 16),
        (128, 3 * 128 + 5 * 16, 3 * 128 + 6 * 16),
        (128, 7 * 128, 7 * 128 + 7 * 16),
        (128, 8 * 128 + 16, 8 * 128 + 16),
        # 64 bytes: two rows of 64 share 128 bytes; chunk c of a row is at c ^ (r // 2 % 4).
        (64, 64, 64),
        (64, 2 * 64, 2 * 64 + 16),
        (64, 4 * 64 + 16, 4 * 64 + 48),
        (64, 6 * 64 + 48, 6 * 64),
        (64, 8 * 64, 8 * 64),
        # 32 bytes: four rows of 32 share 128 bytes; chunk c is at c ^ (r // 4 % 2).
        (32, 3 * 32, 3 * 32),
        (32, 4 * 32, 4 * 32 + 16),
        (32, 7 * 32 + 16, 7 * 32),
        (32, 8 * 32 + 16, 8 * 32 + 16),
        (0, 0x1234, 0x1234),
    ],
)
def test_a_chunk_is_kept_where_the_tables_say(span: int, address: int, stored: int) -> None:
    assert swizzle(address, span) == stored
    assert swizzle(stored, span) == address


@pytest.mark.parametrize(("span", "repeat"), [(128, 1024), (64, 512), (32, 256), (0, 16)])
def test_the_pattern_repeats_and_permutes_the_repeat(span: int, repeat: int) -> None:
    addresses = np.arange(0, repeat, 16)
    assert repeat_bytes(span) == repeat
    assert sorted(swizzle(addresses, span)) == addresses.tolist()
    assert (swizzle(addresses + 5 * repeat, span) == swizzle(addresses, span) + 5 * repeat).all()
