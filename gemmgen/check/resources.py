"""Rules of shared memory, tensor memory, threads and registers."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.check.finding import fault
from gemmgen.plan import Plan
from gemmgen.plan.values import align_up, counted, grouped
from gemmgen.terms import Finding

# Registers a thread of the epilogue needs beside the values it holds: addresses, loop state,
# predicates. ptxas 13.1 reports 22 to 54 on 28 variants of the nine kernels of the CuTe ladder.
EPILOGUE_OVERHEAD = 20
# And more where a held tile waits for all warps and one of them releases: with two consumers of 256
# columns and 24 registers to spare ptxas 13.1 spills, with 26 it does not.
RELEASE_OVERHEAD = 6


def check_resources(plan: Plan) -> Iterator[Finding]:
    """P220 to P225: what one CTA asks of its SM."""
    yield from _smem(plan)
    yield from _tmem(plan)
    yield from _transaction(plan)
    yield from _chunks(plan)
    yield from _epilogue_registers(plan)
    yield from _setmaxnreg(plan)


def _smem(plan: Plan) -> Iterator[Finding]:
    smem = plan.smem
    if smem.total.value <= smem.limit:
        return
    source = f"{smem.total} > {grouped(smem.limit)}"
    if smem.stages_max:
        way_out = f"{counted(smem.stages_max, 'stage')} fit{'s' * (smem.stages_max == 1)}"
        way_out = f"at most {way_out}: write `ab_stages = {smem.stages_max}`"
    else:
        way_out = "not even one stage fits: take a smaller tile"
    yield fault("P220", "over shared memory", "pipeline.ab_stages", source, help=way_out)


def _tmem(plan: Plan) -> Iterator[Finding]:
    tmem = plan.tmem
    if tmem is None or tmem.used.value <= tmem.limit:
        return
    most = tmem.limit // tmem.acc_columns
    way_out = (
        f"at most {most} accumulators of {tmem.acc_columns} columns fit"
        if most
        else f"take tile.n <= {tmem.limit}"
    )
    yield fault(
        "P221",
        f"the accumulator is over the {tmem.limit} columns of tensor memory",
        "pipeline.acc_stages" if most else "tile.n",
        f"{tmem.used} > {tmem.limit}",
        help=way_out,
    )


def _transaction(plan: Plan) -> Iterator[Finding]:
    limit = plan.arch.barrier.tx_bytes_max
    for index, barrier in enumerate(plan.barriers):
        if barrier.tx_bytes is not None and barrier.tx_bytes.value > limit:
            yield fault(
                "P222",
                f"`{barrier.name}` counts more bytes than an mbarrier holds",
                f"barriers[{index}]",
                f"{barrier.tx_bytes} > {grouped(limit)}",
                help="take a smaller tile or tile.k (PTX ISA, mbarrier tx-count range)",
            )


def _chunks(plan: Plan) -> Iterator[Finding]:
    epilogue, n = plan.epilogue, plan.geometry.tile_n
    legal = [n // c for c in (1, 2, 4, 8, 16, 32, 64, 128) if n % c == 0]
    chunks = ", ".join(str(count) for count in sorted(legal) if count <= 64)
    if n % epilogue.chunks:
        yield fault(
            "P223",
            "the epilogue's chunks do not divide the tile",
            "epilogue.chunks",
            f"{n} columns / {epilogue.chunks} chunks = {n / epilogue.chunks:g}",
            help=f"take one of {chunks}",
        )
    elif plan.tmem is not None and epilogue.columns not in (1, 2, 4, 8, 16, 32, 64, 128):
        yield fault(
            "P223",
            f"tcgen05.ld does not read {epilogue.columns} columns at a time",
            "epilogue.chunks",
            f"{n} columns / {epilogue.chunks} chunks = {epilogue.columns}",
            help=f"take one of {chunks}: it reads a power of two up to 128 (PTX ISA)",
        )
    elif plan.output is not None and plan.output.columns * plan.spec.problem.d.dtype.nbytes % 16:
        row = plan.output.columns * plan.spec.problem.d.dtype.nbytes
        yield fault(
            "P223",
            "a TMA store takes rows of whole 16 bytes",
            "epilogue.chunks",
            f"{plan.output.columns} columns of D are {row} bytes",
            help="take fewer chunks",
        )


def _epilogue_registers(plan: Plan) -> Iterator[Finding]:
    if plan.tmem is None:
        return
    registers = plan.epilogue.registers
    meets = plan.epilogue.held and plan.epilogue.named_barrier is not None
    others = EPILOGUE_OVERHEAD + RELEASE_OVERHEAD * meets
    need = registers.value + others
    # Each quarter of an SM has a quarter of its registers and of the warps of a CTA: it is the
    # quarter with most warps that limits. ptxas gives 352 threads 168 registers, as it does 384.
    step = plan.arch.register_step
    threads = align_up(max(plan.threads, 1), 4 * plan.arch.threads_per_warp)
    share = plan.arch.registers_per_sm // threads // step * step
    limit = min(share, plan.arch.registers_per_thread)
    if need <= limit:
        return
    source = f"{registers.text} + {others} others = {need} > {limit}"
    if limit == share:
        source += f" = {grouped(plan.arch.registers_per_sm)} / {grouped(threads)} threads"
        source += f" in steps of {step}" if share * threads != plan.arch.registers_per_sm else ""
    yield fault(
        "P224",
        "the epilogue needs more registers than a thread can have",
        "epilogue.chunks",
        source,
        help="take more chunks, one register buffer or fewer warps",
    )


def _setmaxnreg(plan: Plan) -> Iterator[Finding]:
    asking = [role for role in plan.roles if role.registers is not None]
    group = plan.arch.warps_per_group * plan.arch.threads_per_warp
    threads = [align_up(role.threads, group) for role in asking]  # whole warpgroups
    each = list(zip(asking, threads, strict=True))
    total = sum(count * (role.registers or 0) for role, count in each)
    if total > plan.arch.registers_per_sm:
        parts = " + ".join(f"{r.role} {count} x {r.registers}" for r, count in each)
        yield fault(
            "P225",
            "the roles ask for more registers than an SM has",
            f"roles.{asking[-1].role}.registers",
            f"{parts} = {grouped(total)} > {grouped(plan.arch.registers_per_sm)}",
            help="ask for fewer in one role",
        )
