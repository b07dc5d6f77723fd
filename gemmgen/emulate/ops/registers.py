"""setmaxnreg: how the warpgroups of a CTA share its registers.

PTX ISA "setmaxnreg": from 24 to 256 in steps of 8; all warps of a warpgroup execute the same one;
``.dec`` gives registers to the CTA's pool; ``.inc`` waits until the pool has enough. ptxas lets the
kernel begin with as many registers a thread as fit the register file for its promised CTAs, and no
more than its largest setmaxnreg (as ptxas reports of generated/hopper: 168 with 384 threads, 240
with 256 and an increase to 240). It ignores setmaxnreg where none is promised (CUTLASS issues 2904
and 3406). What an exited warp held does not come back: a warp of the group that skips the decrease
leaves the increase waiting (quack, register_spilling).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gemmgen.emulate.asyncops import Channel, Wait
from gemmgen.emulate.decode import Decoder, Handler, op
from gemmgen.emulate.errors import EmulationError
from gemmgen.emulate.lanes import WARP
from gemmgen.emulate.machine import Cta, Group, Warp
from gemmgen.emulate.ops import at_exit
from gemmgen.emulate.ptx import Imm, Instr, Kernel

REGISTER_FILE = 65536  # CUDA Programming Guide, "Technical Specifications": 32-bit registers an SM
LOWEST, HIGHEST, STEP = 24, 256, 8
WARPGROUP = 4
_KEY = "registers"


@dataclass(eq=False, slots=True)
class Pool:
    """Registers of a CTA that no warp holds, a thread of a warp each; ``start`` is what each warp
    begins with, 0 where setmaxnreg is ignored.
    """

    start: int
    free: int = 0
    channel: Channel = field(default_factory=Channel)


@dataclass(eq=False, slots=True)
class Held:
    """What a warp holds, and the instructions that brought it there."""

    count: int
    done: list[Instr] = field(default_factory=list)


def _pool(g: Group, kernel: Kernel) -> Pool:
    found: Pool | None = g.cta.ext.get(_KEY)
    if found is None:
        start = 0
        if kernel.min_ctas:
            named = [i.operands[0] for i in kernel.instrs if i.opcode.startswith("setmaxnreg")]
            largest = max(x.value for x in named if isinstance(x, Imm))
            fit = REGISTER_FILE // (len(g.cta.warps) * WARP * kernel.min_ctas)
            start = min(fit // STEP * STEP, largest)
        found = g.cta.ext[_KEY] = Pool(start)
    return found


def _held(warp: Warp, start: int) -> Held:
    found: Held | None = warp.ext.get(_KEY)
    if found is None:
        found = warp.ext[_KEY] = Held(start)
    return found


@op("setmaxnreg")
def set_max_registers(d: Decoder) -> Handler:
    """Move registers between a warp and the pool of its CTA. Raises E224."""
    d.allow("inc", "dec", "sync", "aligned", "u32")
    amount = d.uniform(d.ops[0])
    more, kernel, instr = d.has("inc"), d.kernel, d.instr

    def run(g: Group) -> Wait | None:
        wanted, pool = amount(g), _pool(g, kernel)
        held = _held(g.warp, pool.start)
        if g.token is None:
            _check(g, instr, wanted)
        if pool.start:
            lacking = wanted - held.count
            if lacking < 0 if more else lacking > 0:
                word = "inc" if more else "dec"
                raise _fault(f"setmaxnreg.{word} to {wanted}: the warp holds {held.count}")
            if lacking > pool.free:
                g.token = True
                return Wait(
                    pool.channel,
                    f"setmaxnreg.inc: {lacking} more registers a thread, {pool.free} are free",
                )
            pool.free -= lacking
            held.count = wanted
        g.token = None
        held.done.append(instr)
        if not more:
            g.machine.notify(pool.channel)
        return None

    return d.collective(run, blocking=True)


def _check(g: Group, instr: Instr, wanted: int) -> None:
    if not LOWEST <= wanted <= HIGHEST or wanted % STEP:
        raise _fault(f"{wanted} registers: {LOWEST} to {HIGHEST} in steps of {STEP} are possible")
    mine: Held = g.warp.ext[_KEY]
    for warp in _group(g.cta, g.warp.index):
        other: Held | None = warp.ext.get(_KEY)
        if other is None or len(other.done) <= len(mine.done):
            continue
        theirs = other.done[len(mine.done)]
        if theirs is not instr:
            raise _fault(
                f"warps of one warpgroup execute different ones: warp {warp.index} did\n"
                f"    {theirs.place}"
            )


def _group(cta: Cta, index: int) -> list[Warp]:
    first = index // WARPGROUP * WARPGROUP
    return cta.warps[first : first + WARPGROUP]


@at_exit
def _skipped(cta: Cta) -> None:
    """Raise E224 when some warps of a warpgroup executed a setmaxnreg and others did not."""
    for warp, instr in behind(cta):
        raise _fault(skip_text(warp, instr))


def behind(cta: Cta) -> Iterator[tuple[Warp, Instr]]:
    """Warps that have not executed a setmaxnreg that another warp of their warpgroup has, each with
    the first such instruction.
    """
    if _KEY not in cta.ext:
        return
    for first in range(0, len(cta.warps), WARPGROUP):
        warps = _group(cta, first)
        done = [warp.ext[_KEY].done if _KEY in warp.ext else [] for warp in warps]
        most = max(done, key=len)
        for warp, mine in zip(warps, done, strict=True):
            if len(mine) < len(most):
                yield warp, most[len(mine)]


def skip_text(warp: Warp, instr: Instr) -> str:
    """Tell of a setmaxnreg that a warp has skipped."""
    return (
        f"warp {warp.index} of {warp.cta.where()} has skipped what others of its warpgroup did:\n"
        f"    {instr.place}"
    )


def _fault(detail: str) -> EmulationError:
    return EmulationError("E224", detail)
