"""Register moves are read from machine code, and a lost one is a fault."""

from __future__ import annotations

import struct

import pytest

from gemmgen.compile.resources import Resources, judge
from gemmgen.compile.sass import registers_lost, registers_set

# Two USETMAXREG of the tuned 4096^3 kernel, as they stand in its cubin, around an UIADD3.
GIVE = struct.pack("<QQ", 0x28000079C8, 0xE4000080E0500)
OTHER = struct.pack("<QQ", 0x0000000B05057291, 0x000FE2000F8F403F)
TAKE = struct.pack("<QQ", 0xE8000079C8, 0xE640008000600)
PTX = """
    setmaxnreg.dec.sync.aligned.u32 40;
    setmaxnreg.inc.sync.aligned.u32 232;
"""


def _cubin(code: bytes) -> bytes:
    """An ELF file with a section of names and one of code."""
    names = b"\0.shstrtab\0.text.gemm_kernel\0"
    body = names + code
    table = 64 + len(body)
    head = b"\x7fELF\x02\x01\x01".ljust(40, b"\0") + struct.pack("<Q", table)
    head += struct.pack("<IHHHHHH", 0, 64, 0, 0, 64, 2, 0)
    sections = struct.pack("<I20xQQ24x", 1, 64, len(names))
    sections += struct.pack("<I20xQQ24x", 11, 64 + len(names), len(code))
    return head + body + sections


def test_register_moves_are_read_in_the_order_of_the_code() -> None:
    assert registers_set(_cubin(GIVE + OTHER + TAKE)) == (40, 232)


def test_code_without_them_moves_nothing() -> None:
    assert registers_set(_cubin(OTHER * 3)) == ()


@pytest.mark.parametrize(
    ("code", "lost"), [(GIVE + TAKE, ()), (GIVE + OTHER, (232,)), (OTHER, (40, 232))]
)
def test_what_the_ptx_asks_for_and_the_cubin_lacks_is_lost(
    code: bytes, lost: tuple[int, ...]
) -> None:
    assert registers_lost(PTX, _cubin(code)) == lost


def test_a_lost_register_move_makes_a_kernel_unfit() -> None:
    fine = Resources(168, 0, 0, 0, 0, 0, 0, 0, 384)
    assert judge(fine, "gemm_kernel", "h9.py", frozenset()) == []
    (finding,) = judge(fine, "gemm_kernel", "h9.py", frozenset(), (232,))
    assert (finding.code, "232" in finding.source) == ("C309", True)
    assert judge(fine, "gemm_kernel", "h9.py", frozenset({"setmaxnreg"}), (232,)) == []
