"""Decoding of launch configurations and of PTX signatures."""

from __future__ import annotations

import struct

import pytest

from gemmgen.compile.launch import attribute_array, decode_config, entry_names, param_sizes

PTX = """
.visible .entry first(
    .param .align 64 .b8 first_param_0[128],
    .param .align 4 .b8 first_param_1[12],
    .param .u64 .ptr .global .align 16 first_param_2,
    .param .u32 first_param_3,
    .param .f16 first_param_4
)
.reqntid 128, 1, 1
{ ret; }
.visible .entry second()
{ ret; }
"""


def config(count: int, address: int = 0x7000) -> bytes:
    return struct.pack("<6IQQQI4x", 8, 4, 2, 192, 1, 1, 213_248, 0x1234, address, count)


def attribute(identifier: int, *values: int) -> bytes:
    return struct.pack("<I4x", identifier) + struct.pack(f"<{len(values)}I", *values).ljust(
        64, b"\0"
    )


def test_a_config_gives_geometry_dynamic_smem_and_stream() -> None:
    decoded = decode_config(config(0), b"")
    assert (decoded.grid, decoded.block) == ((8, 4, 2), (192, 1, 1))
    assert (decoded.smem_bytes, decoded.stream) == (213_248, 0x1234)


def test_a_launch_without_a_cluster_attribute_has_clusters_of_one() -> None:
    assert decode_config(config(1), attribute(6, 1)).cluster == (1, 1, 1)


def test_the_cluster_attribute_is_found_among_others() -> None:
    attributes = attribute(6, 1) + attribute(4, 2, 3, 1) + attribute(2, 0)
    assert decode_config(config(3), attributes).cluster == (2, 3, 1)


@pytest.mark.parametrize(("value", "dependent"), [(1, True), (0, False)])
def test_programmatic_stream_serialization_makes_a_launch_dependent(value, dependent) -> None:
    attributes = attribute(4, 2, 1, 1) + attribute(6, value)
    assert decode_config(config(2), attributes).dependent is dependent
    assert decode_config(config(1), attribute(4, 2, 1, 1)).dependent is False


def test_the_attribute_array_is_72_bytes_an_attribute() -> None:
    assert attribute_array(config(3, address=0xABC0)) == (0xABC0, 216)


def test_parameter_sizes_follow_the_entry_signature() -> None:
    assert param_sizes(PTX, "first") == (128, 12, 8, 4, 2)
    assert param_sizes(PTX, "second") == ()


def test_an_unknown_entry_is_not_guessed() -> None:
    with pytest.raises(KeyError):
        param_sizes(PTX, "firs")


def test_all_entries_are_named_in_order() -> None:
    assert entry_names(PTX) == ("first", "second")
