"""What is out of bounds is refused as such, with the race detector on."""

from __future__ import annotations

import numpy as np
import pytest
from ptx import Kernel

from gemmgen.emulate import EmulationError

TARGET = 0x2000_0000


def _stored(stride: int, offset: int) -> None:
    """Each of 32 threads stores 16 bytes, `stride` apart, to a buffer of 1024."""
    k = Kernel()
    k.buffer(np.zeros(256, dtype=np.uint32), TARGET)
    k(f"ld.param.u64 %d0, [p{k.param(TARGET)}];")
    k(f"mul.wide.u32 %d1, %r0, {stride}; add.u64 %d0, %d0, %d1;")
    k(f"st.global.v4.u32 [%d0+{offset}], {{%r0, %r0, %r0, %r0}};")
    k.run(races=True)


@pytest.mark.parametrize(
    ("stride", "offset", "words"),
    [
        (32, 64, "16 bytes past the end of `b0`"),  # the last two lanes
        (16, 8192, "7184 bytes past the end"),  # all lanes
        (16, 528, "16 bytes past the end"),
    ],
)
def test_a_store_past_a_buffer_names_it(stride: int, offset: int, words: str) -> None:
    with pytest.raises(EmulationError, match=r"E204.*out of bounds") as caught:
        _stored(stride, offset)
    assert words in str(caught.value)
    _stored(stride, 0)  # within it, nothing is said
