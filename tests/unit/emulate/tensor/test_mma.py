"""Matrix products through real descriptors, against matrices laid out element by element."""

import numpy as np
import pytest

from gemmgen.emulate.tensor.descriptor import MatrixDescriptor, operand_chunks
from gemmgen.emulate.tensor.instruction import MmaShape
from gemmgen.emulate.tensor.memory import TensorMemory
from gemmgen.emulate.tensor.mma import add, multiply, read_operand, update_accumulator

START = 0x400


def shape(m: int, n: int, d: str = "f32", negate_a: bool = False) -> MmaShape:
    return MmaShape(m, n, "f16", "f16", d, False, False, negate_a, False)


def k_major_sw128(matrix: np.ndarray) -> np.ndarray:
    """Shared memory holding a (rows, 64) fp16 matrix with 128-byte swizzle, byte by byte."""
    memory = np.zeros(START + matrix.size * 2, dtype=np.uint8)
    for row in range(matrix.shape[0]):
        for k in range(64):
            at = START + row * 128 + ((k // 8) ^ (row % 8)) * 16 + k % 8 * 2
            memory[at : at + 2] = np.array([matrix[row, k]], dtype=np.float16).view(np.uint8)
    return memory


@pytest.mark.parametrize("k_block", [0, 1, 3])
def test_a_k_block_of_a_swizzled_tile_is_read_back(k_block: int) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.integers(-9, 9, (128, 64)).astype(np.float16)
    memory = k_major_sw128(matrix)
    descriptor = MatrixDescriptor(START + 32 * k_block, 16, 1024, 128)
    chunks = operand_chunks(descriptor, 128, 32, False, 2)
    found = read_operand(memory.view("V16"), chunks, "f16", False)
    assert np.array_equal(found, matrix[:, 16 * k_block : 16 * k_block + 16])


def test_an_mn_major_tile_is_read_back() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.integers(-9, 9, (128, 16)).astype(np.float16)
    memory = np.zeros(START + matrix.size * 2, dtype=np.uint8)
    for m in range(128):
        for k in range(16):
            atom = START + m // 64 * 2048 + k // 8 * 1024
            at = atom + k % 8 * 128 + ((m % 64 // 8) ^ (k % 8)) * 16 + m % 8 * 2
            memory[at : at + 2] = matrix[m, k : k + 1].view(np.uint8)
    chunks = operand_chunks(MatrixDescriptor(START, 2048, 1024, 128), 128, 32, True, 2)
    assert np.array_equal(read_operand(memory.view("V16"), chunks, "f16", True), matrix)


def test_the_product_and_its_accumulation_are_exact_on_small_integers() -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(-4, 4, (128, 16)).astype(np.float32)
    b = rng.integers(-4, 4, (32, 16)).astype(np.float32)
    memory = TensorMemory()
    memory.allocate(32, 32)
    (product,) = multiply(shape(128, 32), [a], [b])
    update_accumulator(memory, 32, shape(128, 32), 1, product, accumulate=False)
    update_accumulator(memory, 32, shape(128, 32), 1, product, accumulate=True)
    assert np.array_equal(memory.data[:, 32:64].view(np.float32), 2 * (a @ b.T))
    assert memory.written[:, 32:64].all()
    assert not memory.written[:, 64:].any()


def test_a_pair_shares_b_and_splits_m() -> None:
    rng = np.random.default_rng(3)
    a = [rng.integers(-4, 4, (128, 16)).astype(np.float32) for _ in range(2)]
    b = [rng.integers(-4, 4, (16, 16)).astype(np.float32) for _ in range(2)]
    products = multiply(shape(256, 32), a, b)
    for mine, product in zip(a, products, strict=True):
        assert np.array_equal(product, mine @ np.concatenate(b).T)


def test_a_pair_with_m_128_folds_columns_into_lanes() -> None:
    product = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    memory = TensorMemory()
    update_accumulator(memory, 0, shape(128, 32), 2, product, accumulate=False)
    found = memory.data[:, :16].view(np.float32)
    assert np.array_equal(found[:64], product[:, :16])
    assert np.array_equal(found[64:], product[:, 16:])


@pytest.mark.parametrize("lane", [0, 16])
def test_m_64_leaves_the_other_half_of_each_quarter_alone(lane: int) -> None:
    product = np.arange(64 * 8, dtype=np.float32).reshape(64, 8)
    memory = TensorMemory()
    before = memory.data.copy()
    update_accumulator(memory, lane << 16 | 8, shape(64, 8), 1, product, accumulate=False)
    quarters = memory.data[:, 8:16].view(np.float32).reshape(4, 2, 16, 8)
    assert np.array_equal(quarters[:, lane // 16].reshape(64, 8), product)
    untouched = memory.data.reshape(4, 2, 16, 512)[:, 1 - lane // 16]
    assert np.array_equal(untouched, before.reshape(4, 2, 16, 512)[:, 1 - lane // 16])
    assert memory.written.reshape(4, 2, 512)[:, lane // 16, 8:16].all()
    assert memory.written.sum() == 4 * 8


def test_disabled_lanes_keep_their_contents() -> None:
    memory = TensorMemory()
    memory.data[:] = 7
    product = np.ones((128, 16), dtype=np.float32)
    update_accumulator(memory, 0, shape(128, 16), 1, product, False, disabled=1 << 5 | 1 << 127)
    lanes = np.flatnonzero((memory.data[:, :16] == 7).all(axis=1))
    assert lanes.tolist() == [5, 127]


def test_scale_and_negation_apply_to_d_and_to_the_product() -> None:
    memory = TensorMemory()
    memory.data[:, :16] = np.float32(8.0).view(np.uint32)
    ones = np.ones((128, 16), dtype=np.float32)
    (product,) = multiply(shape(128, 16, negate_a=True), [ones], [ones[:16]])
    update_accumulator(memory, 0, shape(128, 16), 1, product, True, scale=2)
    assert (memory.data[:, :16].view(np.float32) == 8 / 4 - 16).all()


def test_an_f16_accumulator_takes_a_column_an_element() -> None:
    memory = TensorMemory()
    product = np.full((128, 16), 2049.0, dtype=np.float32)
    f16 = shape(128, 16, "f16")
    update_accumulator(memory, 0, f16, 1, product, False)
    assert (memory.data[:, :16] == np.float16(2048).view(np.uint16)).all()
    update_accumulator(memory, 0, f16, 1, product, True)
    assert (memory.data[:, :16] == np.float16(4096).view(np.uint16)).all()


def test_int32_sums_wrap_or_saturate_as_told() -> None:
    top = np.array([[2**31 - 1, -(2**31)]], dtype=np.int32)
    step = np.array([[5, -5]], dtype=np.int32)
    assert add(top, step, True).tolist() == top.tolist()
    assert add(top, step, False).tolist() == [[-(2**31) + 4, 2**31 - 5]]
