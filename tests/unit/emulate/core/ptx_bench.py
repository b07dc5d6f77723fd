"""A PTX body, arrays in, arrays out.

The body finds the address of array i in ``%a{i}`` and the linear thread index of the grid in
``%me``; ``%p<20>``, ``%h<40>`` (16 bits), ``%r<60>`` (32), ``%d<40>`` (64), ``%q<4>`` (128) are
free registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemmgen.compile.launch import Launch
from gemmgen.emulate import BarrierInfo, Buffer, Listener, Result, Settings, emulate

Array = NDArray[Any]
BASE = 0x7000_0000_0000
STRIDE = 1 << 24

_TEXT = """.version 9.0
.target sm_100a
.address_size 64
.file 1 "kernel.py"
{variables}
.extern .shared .align 1024 .b8 smem[];
.visible .entry kernel({params})
{{
	.reg .pred %p<20>; .reg .b16 %h<40>; .reg .b32 %r<60>; .reg .b64 %d<40>; .reg .b128 %q<4>;
	.reg .b64 %a<8>; .reg .b32 %me, %tid, %cta, %n;
	{loads}
	mov.u32 %tid, %tid.x;
	mov.u32 %cta, %ctaid.x;
	mov.u32 %n, %ntid.x;
	mad.lo.s32 %me, %cta, %n, %tid;
{body}
	ret;
}}
"""


def text_of(body: str, arrays: int, variables: str = "") -> str:
    """The PTX module around a body."""
    params = ", ".join(f".param .u64 p{i}" for i in range(arrays))
    loads = " ".join(f"ld.param.u64 %a{i}, [p{i}];" for i in range(arrays))
    return _TEXT.format(params=params, loads=loads, body=body, variables=variables)


def launch_of(
    body: str,
    arrays: int,
    *,
    grid: int = 1,
    block: int = 32,
    cluster: int = 1,
    smem: int = 4096,
    variables: str = "",
) -> Launch:
    """The launch of a body."""
    addresses = tuple(np.uint64(BASE + i * STRIDE).tobytes() for i in range(arrays))
    ptx = text_of(body, arrays, variables)
    return Launch(ptx, "kernel", (grid, 1, 1), (block, 1, 1), (cluster, 1, 1), smem, addresses)


def run(
    body: str,
    *arrays: Array,
    settings: Settings | None = None,
    barriers: Mapping[str, BarrierInfo] | None = None,
    listeners: Sequence[Listener] = (),
    read_only: Sequence[int] = (),
    **shape: Any,
) -> Result:
    """Run a body; the arrays are changed in place."""
    buffers = [
        Buffer(f"array{i}", BASE + i * STRIDE, a.view(np.uint8).reshape(-1), i not in read_only)
        for i, a in enumerate(arrays)
    ]
    return emulate(
        launch_of(body, len(arrays), **shape),
        buffers,
        settings=settings,
        barriers=barriers,
        listeners=listeners,
    )


def element(array: int, register: str, size: int = 4) -> str:
    """PTX that puts the address of this thread's element of an array into a 64-bit register."""
    return f"mul.wide.u32 {register}, %me, {size}; add.s64 {register}, {register}, %a{array};"


_LETTER = {16: "h", 32: "r", 64: "d"}


def map_lanes(instruction: str, inputs: Sequence[Array], out_bits: int, uniform: bool) -> Array:
    """Apply one instruction to a warp: `{d}` is the destination, `{0}`, `{1}` … the inputs.

    ``uniform``: all lanes read element 0, by an address that is the same for them, so that the
    values are uniform.
    """
    lines = []
    names = []
    for i, array in enumerate(inputs):
        size = array.dtype.itemsize
        register = f"%{_LETTER[size * 8]}{i + 1}"
        names.append(register)
        address = f"%a{i}" if uniform else "%d30"
        lines.append("" if uniform else element(i, "%d30", size))
        lines.append(f"ld.global.b{size * 8} {register}, [{address}];")
    target = "%p1" if out_bits == 1 else f"%{_LETTER[out_bits]}39"
    out = np.zeros(32, dtype=f"u{max(out_bits, 32) // 8}")
    lines.append(instruction.format(*names, d=target))
    store_bits = max(out_bits, 32)
    if out_bits == 1:
        lines.append("selp.b32 %r39, 1, 0, %p1;")
    if out_bits == 16:
        lines.append("cvt.u32.u16 %r39, %h39;")
    lines.append(element(len(inputs), "%d31", store_bits // 8))
    lines.append(f"st.global.b{store_bits} [%d31], %{_LETTER[store_bits]}39;")
    run("\n".join(lines), *inputs, out)
    return out
