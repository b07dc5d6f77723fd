"""Launch one kernel a few times and leave: what `gemmgen profile` runs under ncu.

python -m gemmgen.gpu.launch_once FILE M N K [LIBRARIES]
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from gemmgen.gpu.kernel import compile_source, load_library

LAUNCHES = 3


def main(argv: list[str]) -> None:
    """Launch the kernel of `argv` `LAUNCHES` times on 0.1 x N(0, 1) inputs."""
    path, (m, n, k) = Path(argv[0]), (int(extent) for extent in argv[1:4])
    libraries = Path(argv[4]) if len(argv) > 4 else None
    kernel = (
        compile_source(path, "")
        if libraries is None
        else load_library(libraries / f"{path.stem}.so", source=path)
    )
    generator = torch.Generator("cuda").manual_seed(0)
    a = torch.randn((m, k), device="cuda", generator=generator).mul_(0.1).half()
    b = torch.randn((n, k), device="cuda", generator=generator).mul_(0.1).half()
    d = torch.empty((m, n), device="cuda", dtype=torch.float16)
    for _ in range(LAUNCHES):
        kernel(a, b, d)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(sys.argv[1:])
