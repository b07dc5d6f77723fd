"""Opcodes that are floating-point only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.lanes import Lanes, Value
from gemmgen.emulate.ops.floating import float_binary, float_fma, float_unary
from gemmgen.emulate.ops.types import last_type, to_float


@op("fma")
def fma(d: Decoder) -> Handler:
    return float_fma(d)


@op("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh")
def unary(d: Decoder) -> Handler:
    return float_unary(d, d.base)


@op("copysign")
def copysign(d: Decoder) -> Handler:
    return float_binary(d, "copysign")


@op("testp")
def test_property(d: Decoder) -> Handler:
    _, bits = last_type(d)
    name = d.mods[0]
    tests: dict[str, Callable[[Lanes], Lanes]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "notanumber": np.isnan,
        "number": lambda a: ~np.isnan(a),
    }
    if name not in tests:
        raise d.unknown(f"property {name}")
    test = tests[name]

    def run(a: Value) -> Value:
        out = test(to_float(a, bits))
        return out if out.size > 1 else bool(out[0])

    return d.inline(f"R[{d.slot(d.ops[0])}] = {d.use(run)}({d.text(d.ops[1], bits)})")
