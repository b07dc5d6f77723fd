import pytest

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.tensor.instruction import decode_instruction


def bits(m: int, n: int, d: int = 1, a: int = 0, b: int = 0, more: int = 0) -> int:
    return d << 4 | a << 7 | b << 10 | (n >> 3) << 17 | (m >> 4) << 24 | more


def test_the_word_of_a_128x256_f16_instruction_is_decoded() -> None:
    # f32 accumulator, fp16 operands, K-major: what CUTLASS's tutorial passes for 128 x 256 x 16
    word = 0x08400010
    shape = decode_instruction(word, "f16", 1)
    assert (shape.m, shape.n) == (128, 256)
    assert (shape.a, shape.b, shape.d) == ("f16", "f16", "f32")
    assert (shape.a_mn_major, shape.b_mn_major, shape.negate_a, shape.negate_b) == (False,) * 4


def test_flags_stand_at_bits_13_to_16() -> None:
    shape = decode_instruction(bits(128, 64, more=1 << 13 | 1 << 16), "f16", 1)
    assert (shape.negate_a, shape.negate_b) == (True, False)
    assert (shape.a_mn_major, shape.b_mn_major) == (False, True)


@pytest.mark.parametrize(
    ("kind", "word", "types"),
    [
        ("f16", bits(128, 64, 1, 1, 1), ("bf16", "bf16", "f32")),
        ("f16", bits(128, 64, 0, 0, 0), ("f16", "f16", "f16")),
        ("tf32", bits(128, 64, 1, 2, 2), ("tf32", "tf32", "f32")),
        ("f8f6f4", bits(128, 64, 1, 0, 1), ("e4m3", "e5m2", "f32")),
        ("i8", bits(128, 64, 2, 1, 0), ("s8", "u8", "s32")),
    ],
)
def test_format_codes_mean_what_the_kind_says(
    kind: str, word: int, types: tuple[str, str, str]
) -> None:
    shape = decode_instruction(word, kind, 1)
    assert (shape.a, shape.b, shape.d) == types


@pytest.mark.parametrize(
    ("m", "n", "cta_group"), [(64, 8, 1), (128, 16, 1), (128, 240, 1), (128, 16, 2), (256, 256, 2)]
)
def test_legal_shapes_are_accepted(m: int, n: int, cta_group: int) -> None:
    shape = decode_instruction(bits(m, n), "f16", cta_group)
    assert (shape.m, shape.n) == (m, n)


@pytest.mark.parametrize(
    ("kind", "word", "cta_group"),
    [
        ("f16", bits(128, 24), 1),
        ("f16", bits(256, 64), 1),
        ("f16", bits(64, 64), 2),
        ("f16", bits(256, 24), 2),
        ("f16", bits(128, 264), 1),
        ("f16", bits(128, 0), 1),
        ("f16", bits(128, 64, 2), 1),
        ("f16", bits(128, 64, more=1 << 2), 1),
        ("tf32", bits(128, 64, 1, 0, 0), 1),
        ("mxf4", bits(128, 64), 1),
    ],
)
def test_what_the_kind_cannot_do_is_refused(kind: str, word: int, cta_group: int) -> None:
    with pytest.raises(EmulationError) as caught:
        decode_instruction(word, kind, cta_group)
    assert caught.value.code == "E235"
