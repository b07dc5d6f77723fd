"""Small hand-written PTX kernels for the tests of the opcode files, and a way to run them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from gemmgen.compile.launch import Launch
from gemmgen.emulate import Buffer, Result, Settings, emulate

SMEM = 0x400
"""Where dynamic shared memory begins."""

HEADER = """
.version 8.7
.target {target}
.address_size 64
.file 1 "kernel.py"
.extern .shared .align 1024 .b8 smem[];
.visible .entry kernel({params})
{{
.reg .pred %p<16>;
.reg .b16 %h<16>;
.reg .b32 %r<400>;
.reg .b64 %d<64>;
.reg .b128 %q<4>;
mov.u32 %r0, %tid.x;
mov.u32 %r1, smem;
mov.u32 %r2, %cluster_ctarank;
setp.eq.u32 %p0, %r0, 0;
"""


@dataclass
class Kernel:
    """A kernel under construction: `%r0` thread, `%r1` shared memory, `%r2` rank, `%p0` thread 0.

    Parameters are tensor maps (128 bytes) or pointers to numpy arrays, in order of adding.
    """

    target: str = "sm_100a"
    lines: list[str] = field(default_factory=list)
    params: list[bytes] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)
    labels: int = 0

    def buffer(self, array: np.ndarray, address: int) -> int:
        """Put an array at a global address."""
        data = array.reshape(-1).view(np.uint8)
        self.buffers.append(Buffer(f"b{len(self.buffers)}", address, data))
        self.arrays.append(array)
        return address

    def param(self, value: bytes | int) -> int:
        """Add a parameter and return its number; it is `p<number>` in the text."""
        self.params.append(value if isinstance(value, bytes) else struct.pack("<Q", value))
        return len(self.params) - 1

    def map_address(self, register: str, number: int) -> None:
        """Load the generic address of a tensor map parameter."""
        self(f"mov.b64 {register}, p{number}; cvta.param.u64 {register}, {register};")

    def __call__(self, text: str) -> None:
        """Add instructions."""
        self.lines.append(text)

    def wait(self, barrier: str, parity: int = 0) -> None:
        """Wait for a phase of the mbarrier at an address expression."""
        self.labels += 1
        label = f"W{self.labels}"
        self(f"{label}: mbarrier.try_wait.parity.shared.b64 %p9, [{barrier}], {parity};")
        self(f"@!%p9 bra {label};")

    def text(self) -> str:
        """The whole PTX module."""
        declared = [
            f".param .align 64 .b8 p{i}[128]" if len(p) == 128 else f".param .u64 p{i}"
            for i, p in enumerate(self.params)
        ]
        head = HEADER.format(target=self.target, params=", ".join(declared))
        return head + "\n".join(self.lines) + "\nret;\n}\n"

    def run(
        self,
        *,
        block: int = 32,
        grid: int = 1,
        cluster: int = 1,
        smem: int = 8192,
        **settings: object,
    ) -> Result:
        """Emulate the kernel."""
        launch = Launch(
            ptx=self.text(),
            entry="kernel",
            grid=(grid, 1, 1),
            block=(block, 1, 1),
            cluster=(cluster, 1, 1),
            smem_bytes=smem,
            params=tuple(self.params),
        )
        return emulate(launch, self.buffers, settings=Settings(**settings))  # type: ignore[arg-type]

    def copy_out(self, offset: int, size: int, pointer: str) -> None:
        """Copy shared memory at an offset from `smem` to global memory, by thread 0, and wait."""
        self(f"add.u32 %r390, %r1, {offset};")
        self(f"@%p0 cp.async.bulk.global.shared::cta.bulk_group [{pointer}], [%r390], {size};")
        self("@%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0;")


def registers(first: int, count: int) -> str:
    """`{%r10, %r11, …}`."""
    return "{" + ", ".join(f"%r{first + i}" for i in range(count)) + "}"


def swizzled(matrix: np.ndarray, span: int) -> np.ndarray:
    """Rows of 16-byte chunks as a box of rows `span` bytes long keeps them, spelled out."""
    rows, width = matrix.shape
    per_line = 128 // width if width < 128 else 1
    out = np.zeros_like(matrix)
    for row in range(rows):
        for chunk in range(width // 16):
            mask = span // 16 - 1 if span else 0
            to = chunk ^ ((row // per_line) & mask & 7)
            out[row, to * 16 : to * 16 + 16] = matrix[row, chunk * 16 : chunk * 16 + 16]
    return out
