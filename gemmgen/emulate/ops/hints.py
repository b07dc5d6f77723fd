"""Instructions without an effect here: prefetches, proxy fences, programmatic launch.

`griddepcontrol.wait` waits for earlier grids and `launch_dependents` lets later ones begin (PTX ISA
"griddepcontrol"); one launch is emulated, so neither holds anyone up, but listeners see the wait.
Proxy fences order generic and asynchronous accesses; shared memory is emulated in program order, so
they have no effect on values.
"""

from __future__ import annotations

from gemmgen.emulate.decode import Decoder, Run, op
from gemmgen.emulate.lanes import lane_of
from gemmgen.emulate.machine import Group
from gemmgen.emulate.tensor.tensormap import MAP_BYTES, decode_tensor_map


def _nothing(g: Group) -> None:
    pass


@op("griddepcontrol.wait")
def grid_wait(d: Decoder) -> Run:
    """The grids ahead of this one have ended; listeners see it."""
    d.allow()

    def run(g: Group) -> None:
        if g.machine.hub.sync:
            g.machine.hub.on_sync(g, d.instr, "grid_wait", None)

    return run


@op("griddepcontrol.launch_dependents")
def launch_dependents(d: Decoder) -> Run:
    """The grid after this one may begin: there is none."""
    d.allow()
    return _nothing


@op("fence.proxy")
def fence_proxy(d: Decoder) -> Run:
    """A fence between proxies; listeners see it."""

    def run(g: Group) -> None:
        if g.machine.hub.sync:
            g.machine.hub.on_sync(g, d.instr, "fence", d.instr.opcode)

    return run


@op("prefetch")
def prefetch(d: Decoder) -> Run:
    """A cache hint."""
    d.allow("global", "local", "L1", "L2", "L2::evict_last", "L2::evict_normal")
    return _nothing


@op("prefetch.tensormap")
def prefetch_tensormap(d: Decoder) -> Run:
    """A hint to fetch a tensor map, which must be one (E230)."""
    address = d.address(d.ops[0])

    def run(g: Group) -> None:
        for lane in g.lanes.tolist():
            image = g.machine.read_generic(g.cta, lane_of(address(g), lane), MAP_BYTES)
            decode_tensor_map(image)

    return run
