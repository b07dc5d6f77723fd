import struct

import pytest
from maps import tensor_map

from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.tensor.tensormap import decode_tensor_map


def test_a_matrix_map_is_decoded_field_by_field() -> None:
    image = tensor_map(0x10_0000, (256, 512), (1024,), (64, 128), swizzle=3)
    decoded = decode_tensor_map(image)
    assert decoded.address == 0x10_0000
    assert (decoded.element, decoded.element_bytes) == ("f16", 2)
    assert decoded.dims == (256, 512)
    assert decoded.strides == (2, 1024)
    assert decoded.box == (64, 128)
    assert decoded.swizzle == 128
    assert (decoded.inner_bytes, decoded.box_bytes) == (128, 16384)


def test_five_dimensions_and_strides_above_32_bits_are_decoded() -> None:
    strides = (1 << 10, 1 << 20, 1 << 37, 3 << 37)
    decoded = decode_tensor_map(tensor_map(16, (8, 7, 6, 5, 4), strides, (8, 5, 4, 3, 2)))
    assert decoded.dims == (8, 7, 6, 5, 4)
    assert decoded.strides == (2, *strides)
    assert decoded.box == (8, 5, 4, 3, 2)


# Bytes 0-63 of maps that the host code of nvidia-cutlass-dsl 4.8.1 built for CUTLASS's tutorial
# kernels fp16_gemm_0 and fp16_gemm_3 (base addresses aside): A is (256, 320) and D (512, 512).
REAL_A = (
    0x100000, 0x0000002800246312, 0, 0, 0x000000FF0000013F, 0, 0x3F00000000000000, 0x7F,
)  # fmt: skip
REAL_D = (
    0x200000, 0x0000004000244312, 0, 0, 0x000001FF000001FF, 0, 0x1F00000000000000, 0x7F,
)  # fmt: skip


def test_maps_of_a_real_host_launcher_are_decoded() -> None:
    a = decode_tensor_map(struct.pack("<8Q", *REAL_A) + bytes(64))
    assert (a.element, a.dims, a.strides) == ("f16", (320, 256), (2, 640))
    assert (a.box, a.swizzle) == ((64, 128), 128)
    d = decode_tensor_map(struct.pack("<8Q", *REAL_D) + bytes(64))
    assert (d.element, d.dims, d.strides) == ("f16", (512, 512), (2, 1024))
    assert (d.box, d.swizzle) == ((32, 128), 64)


@pytest.mark.parametrize(
    ("code", "name", "size"),
    [(0, "u8", 1), (2, "u32", 4), (7, "f32", 4), (9, "f64", 8), (10, "bf16", 2)],
)
def test_element_formats_have_their_size(code: int, name: str, size: int) -> None:
    decoded = decode_tensor_map(tensor_map(0, (64,), (), (16,), element=code))
    assert (decoded.element, decoded.element_bytes) == (name, size)


@pytest.mark.parametrize(
    ("image", "says"),
    [
        (bytes(128), "not a multiple of 16"),
        (tensor_map(8, (64,), (), (64,)), "not 16-byte aligned"),
        (tensor_map(0, (64,), (), (64,), swizzle=2), "longer than its 64-byte swizzle"),
        (tensor_map(0, (64,), (), (64,), element=15), "unknown element format 15"),
        (tensor_map(0, (64,), (), (64,), interleave=1), "interleaved"),
    ],
)
def test_bytes_that_are_no_map_are_refused(image: bytes, says: str) -> None:
    with pytest.raises(EmulationError, match=says) as caught:
        decode_tensor_map(image)
    assert caught.value.code == "E230"
