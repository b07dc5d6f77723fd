import numpy as np
import pytest

from gemmgen.emulate.tensor.numeric import round_bf16, widen


def test_every_half_is_widened_exactly() -> None:
    codes = np.arange(65536, dtype=np.uint16)
    halves = codes.view(np.float16)
    expected = halves.astype(np.float32)
    finite = np.isfinite(halves)
    found = widen(codes[finite].view(np.uint8), "f16")
    assert np.array_equal(found.view(np.uint32), expected[finite].view(np.uint32))
    special = widen(codes[~finite].view(np.uint8), "f16")
    assert np.array_equal(special, expected[~finite], equal_nan=True)


def test_bf16_is_the_upper_half_of_a_float() -> None:
    codes = np.array([0x3F80, 0xC000, 0x7F80, 0x0001], dtype=np.uint16)
    assert widen(codes.view(np.uint8), "bf16").tolist() == [1.0, -2.0, np.inf, 2.0**-133]


def test_tf32_drops_thirteen_bits() -> None:
    value = np.array([1 + 2.0**-10 + 2.0**-11], dtype=np.float32)
    assert widen(value.view(np.uint8), "tf32").tolist() == [1 + 2.0**-10]


@pytest.mark.parametrize(
    ("element", "code", "value"),
    [
        ("e4m3", 0x38, 1.0),
        ("e4m3", 0x7E, 448.0),
        ("e4m3", 0x01, 2.0**-9),
        ("e4m3", 0xB8, -1.0),
        ("e5m2", 0x3C, 1.0),
        ("e5m2", 0x7B, 57344.0),
        ("e5m2", 0x7C, np.inf),
        ("e5m2", 0x01, 2.0**-16),
        ("s8", 0x80, -128.0),
        ("u8", 0x80, 128.0),
    ],
)
def test_bytes_have_the_value_of_their_format(element: str, code: int, value: float) -> None:
    assert widen(np.array([code], dtype=np.uint8), element).tolist() == [value]


def test_e4m3_has_one_nan_and_no_infinity() -> None:
    values = widen(np.arange(256, dtype=np.uint8), "e4m3")
    assert np.flatnonzero(np.isnan(values)).tolist() == [0x7F, 0xFF]
    assert not np.isinf(values).any()


def test_rounding_to_bf16_goes_to_even() -> None:
    values = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20], dtype=np.float32)
    assert round_bf16(values).tolist() == [0x3F80, 0x3F82, 0x3F81]
