"""Rules of wgmma: warpgroups of consumers, accumulators in their registers, registers that move."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.check.finding import fault
from gemmgen.plan import Plan
from gemmgen.plan.roles import in_registers, is_specialized
from gemmgen.plan.values import counted, grouped
from gemmgen.terms import EpilogueKind, Finding, MainloopKind, Role

# Registers a thread of a consumer needs beside its accumulator: descriptors, addresses, ring state.
# ptxas 13.1 fits all rungs of the Hopper ladder, but not 192 + 32, without a spill.
CONSUMER_OVERHEAD = 36


def check_wgmma(plan: Plan) -> Iterator[Finding]:
    """P210 to P216: what the four warps of a warpgroup do together (PTX ISA, wgmma)."""
    if not in_registers(plan.spec):
        return
    yield from _warpgroups(plan)
    yield from _producer(plan)
    yield from _rows(plan)
    yield from _accumulators(plan)
    yield from _pingpong(plan)
    yield from _deferred(plan)
    yield from _registers(plan)
    yield from _moved(plan)
    yield from _chunks(plan)


def _warpgroups(plan: Plan) -> Iterator[Finding]:
    warps, group = plan.role(Role.MMA).warps, plan.arch.warps_per_group
    if not warps:
        return
    first = warps[0] - warps[0] % group
    count = -(-len(warps) // group) * group
    whole = tuple(range(first, first + count))
    if warps != whole:
        yield fault(
            "P210",
            "wgmma is executed by whole warpgroups",
            "roles.mma.warps",
            f"{counted(len(warps), 'warp')} from warp {warps[0]}; a warpgroup begins at 0, 4, 8 …",
            help=f"write {list(whole)}",
        )
    if plan.role(Role.EPILOGUE).warps != warps:
        yield fault(
            "P210",
            "the accumulator is in registers of the mma warps, so they are the epilogue's too",
            "roles.epilogue.warps",
            help=f"write {list(warps)}",
        )


def _producer(plan: Plan) -> Iterator[Finding]:
    """A producer beside a warpgroup that multiplies would wait inside it."""
    producer, mma = plan.role(Role.PRODUCER).warps, plan.role(Role.MMA).warps
    if is_specialized(plan.spec):
        both = sorted({warp // 4 for warp in producer} & {warp // 4 for warp in mma})
        if both and not set(producer) & set(mma):
            yield fault(
                "P211",
                f"the producer is in warpgroup {both[0]}, which multiplies",
                "roles.producer.warps",
                help="give the producer a warpgroup of its own",
            )
    elif producer and not set(producer) <= set(mma):
        yield fault(
            "P211",
            f"in a {plan.spec.mainloop.kind} mainloop warps of the mma role load",
            "roles.producer.warps",
            f"producer {list(producer)}, mma {list(mma)}",
            help=f"write `warps = [{mma[0] if mma else 0}]`",
        )


def _rows(plan: Plan) -> Iterator[Finding]:
    g = plan.geometry
    sharing = 1 if plan.spec.mainloop.kind is MainloopKind.PINGPONG else g.consumers
    if g.tile_m % (sharing * g.mma_m):
        share = f" / {counted(sharing, 'consumer')}" if sharing > 1 else ""
        yield fault(
            "P212",
            "the rows of a consumer are not a multiple of the instruction's",
            "tile.m",
            f"{g.tile_m} rows{share} / mma.m {g.mma_m} = {g.tile_m / sharing / g.mma_m:g}",
            help=f"take a multiple of {sharing * g.mma_m} for tile.m",
        )


def _accumulators(plan: Plan) -> Iterator[Finding]:
    if plan.spec.pipeline.acc_stages > 1:
        yield fault(
            "P213",
            "a consumer has one accumulator, in its registers",
            "pipeline.acc_stages",
            help='write `acc_stages = 1`; `mainloop.kind = "pingpong"` hides the epilogue',
        )


def _pingpong(plan: Plan) -> Iterator[Finding]:
    if plan.spec.mainloop.kind is not MainloopKind.PINGPONG:
        return
    if plan.geometry.consumers != 2:
        yield fault(
            "P214",
            "a ping-pong mainloop has two consumers",
            "roles.mma.warps",
            f"{counted(plan.geometry.consumers, 'warpgroup')}",
            help="name eight warps, or another mainloop",
        )
    if not plan.persistent:
        yield fault(
            "P214",
            "consumers that take tiles in turn need several tiles a CTA",
            "scheduler.kind",
            help='write `kind = "persistent"`, or another mainloop',
        )


def _deferred(plan: Plan) -> Iterator[Finding]:
    epilogue = plan.spec.epilogue
    if not epilogue.deferred:
        return
    kind = plan.spec.mainloop.kind
    if not plan.persistent or kind is not MainloopKind.WARP_SPECIALIZED:
        yield fault(
            "P215",
            "a tile can be stored under the next one of the same consumer only",
            "epilogue.deferred",
            f"{kind} mainloop, {plan.spec.scheduler.kind} scheduler",
            help="remove `deferred`, or take a persistent, warp_specialized kernel",
        )
    if epilogue.kind is not EpilogueKind.TMA_STORE:
        yield fault(
            "P215",
            "a deferred tile leaves in chunks, by TMA stores",
            "epilogue.kind",
            help='write `kind = "tma_store"`, or remove `deferred`',
        )
    stages = epilogue.d_stages or 1
    if stages < 2 or epilogue.chunks % stages:
        yield fault(
            "P215",
            "a deferred tile fills at least two staged chunks, each equally often",
            "epilogue.d_stages",
            f"{epilogue.chunks} chunks, {stages} staged",
            help="take a divisor of `chunks` above 1",
        )


def _registers(plan: Plan) -> Iterator[Finding]:
    share = _launched(plan)
    limit = plan.role(Role.MMA).registers or share
    registers = plan.epilogue.registers
    need = registers.value + CONSUMER_OVERHEAD
    if need > min(limit, plan.arch.registers_per_thread):
        yield fault(
            "P216",
            "the accumulator needs more registers than a thread of a consumer has",
            "tile.n",
            f"{registers.text} + {CONSUMER_OVERHEAD} others = {need} > {limit}",
            help="take a smaller tile, more consumers, or `roles.mma.registers`",
        )


def _launched(plan: Plan) -> int:
    """Registers a thread that one CTA an SM starts with."""
    step = plan.arch.register_step
    share = plan.arch.registers_per_sm // max(plan.threads, 1) // step * step
    return min(share, plan.arch.registers_per_thread)


def _moved(plan: Plan) -> Iterator[Finding]:
    """PTX ISA, setmaxnreg: all warps of a warpgroup; what is taken was given up before."""
    producer, mma = plan.role(Role.PRODUCER), plan.role(Role.MMA)
    asking = [role for role in plan.roles if role.registers is not None]
    if not asking:
        return
    if not is_specialized(plan.spec) or {role.role for role in asking} != {Role.PRODUCER, Role.MMA}:
        yield fault(
            "P217",
            "registers move from the producer's warpgroup to the consumers",
            f"roles.{asking[0].role}.registers",
            help="give `registers` to producer and mma of a warp-specialized kernel, or to none",
        )
        return
    share, given, taken = _launched(plan), producer.registers or 0, mma.registers or 0
    if given > min(share, taken):
        yield fault(
            "P217",
            "the producer gives registers up, and the consumers take them",
            "roles.producer.registers",
            f"a thread starts with at most {grouped(plan.arch.registers_per_sm)} / {plan.threads}"
            f" threads = {share}: producer {given}, mma {taken}",
            help=f"take at most {min(share, taken)} for the producer",
        )


def _chunks(plan: Plan) -> Iterator[Finding]:
    epilogue = plan.epilogue
    if plan.output is None and epilogue.chunks > 1:
        yield fault(
            "P218",
            "registers go to global memory in one piece",
            "epilogue.chunks",
            help='write `chunks = 1`, or `kind = "tma_store"`',
        )
    if plan.output is not None and epilogue.columns % 16:
        yield fault(
            "P218",
            "stmatrix packs 16 columns at a time",
            "epilogue.chunks",
            f"{plan.geometry.tile_n} / {epilogue.chunks} chunks = {epilogue.columns} columns",
            help="take another number of chunks",
        )
