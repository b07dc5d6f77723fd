"""Error codes of TMA, tensor cores and Tensor Memory."""

from __future__ import annotations

from gemmgen.emulate.errors import EmulationError

TITLES = {
    "E230": "tensor map is not valid",
    "E231": "tensor copy is not valid",
    "E232": "tensor copy outside its buffer",
    "E233": "bulk copy is not valid",
    "E234": "matrix descriptor is not valid",
    "E235": "instruction descriptor is not valid",
    "E236": "matrix operand outside shared memory",
    "E237": "matrix operand read before it is written",
    "E240": "tensor memory allocation is not valid",
    "E241": "tensor memory deallocation is not valid",
    "E242": "tensor memory is not allocated",
    "E243": "tensor memory used while an operation on it is unfinished",
    "E244": "tensor memory read before it is written",
    "E245": "tensor memory leaked",
    "E246": "tensor memory lanes are out of the warp's reach",
    "E247": "tensor memory load used before its wait",
    "E248": "wgmma is misused",
    "E249": "tensor core instruction is misused",
    "E250": "cluster launch control is misused",
}


def fault(code: str, detail: str) -> EmulationError:
    """Return the error of a code in `TITLES`; the engine adds the PTX line and who did it."""
    return EmulationError(code, detail, title=TITLES[code])
