"""Rules of warps and roles."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.check.finding import fault
from gemmgen.plan import Plan
from gemmgen.plan.roles import in_registers, is_specialized
from gemmgen.plan.values import counted
from gemmgen.terms import Finding, LoadKind, MainloopKind, Role


def check_roles(plan: Plan) -> Iterator[Finding]:
    """P230 to P236: every role has warps of its own while it runs, and they can do its work."""
    yield from _empty(plan)
    yield from _shared(plan)
    yield from _one_warp(plan)
    yield from _epilogue(plan)
    yield from _cooperative(plan)
    yield from _consumers(plan)


def _empty(plan: Plan) -> Iterator[Finding]:
    for role in plan.roles:
        if not role.warps:
            yield fault(
                "P230",
                f"{role.role} has no warps",
                f"roles.{role.role}.warps",
                help="name at least one warp, from 0",
            )


def _shared(plan: Plan) -> Iterator[Finding]:
    seen: set[frozenset[Role]] = set()
    for role in plan.roles:
        for other in role.concurrent:
            both = sorted(set(role.warps) & set(plan.role(other).warps))
            pair = frozenset((role.role, other))
            if not both or pair in seen:
                continue
            seen.add(pair)
            free = next(w for w in range(64) if all(w not in r.warps for r in plan.roles))
            warps = ", ".join(str(warp) for warp in both)
            name = "warp" if len(both) == 1 else "warps"
            yield fault(
                "P231",
                f"{role.role} and {other} run at the same time on {name} {warps}",
                f"roles.{other}.warps",
                help=f"give each role warps of its own: warp {free} is free",
            )


def _one_warp(plan: Plan) -> Iterator[Finding]:
    """A serial or prefetch mainloop is one sequence of one warp."""
    kind = plan.spec.mainloop.kind
    if kind not in (MainloopKind.SERIAL, MainloopKind.PREFETCH):
        return
    producer, mma = plan.role(Role.PRODUCER), plan.role(Role.MMA)
    if in_registers(plan.spec):
        return
    if len(mma.warps) > 1:
        yield fault(
            "P232",
            f"a {kind} mainloop issues MMAs from one warp",
            "roles.mma.warps",
            f"mma {list(mma.warps)}, and loads and MMAs take turns in one sequence",
            help='name one warp, or write `mainloop.kind = "warp_specialized"`',
        )
        return
    if plan.spec.load.kind is LoadKind.COOPERATIVE:
        return
    if producer.warps and mma.warps and producer.warps != mma.warps:
        yield fault(
            "P232",
            f"a {kind} mainloop has one warp for loads and MMAs",
            "roles.mma.warps",
            f"producer {list(producer.warps)}, mma {list(mma.warps)}",
            help='give both the same warp, or write `mainloop.kind = "warp_specialized"`',
        )


def _epilogue(plan: Plan) -> Iterator[Finding]:
    """Warp w reads TMEM lanes from 32 x (w mod 4) only (PTX ISA, tcgen05 access restrictions)."""
    warps, group = plan.role(Role.EPILOGUE).warps, plan.arch.warps_per_group
    if plan.tmem is None or not warps:
        return
    first = warps[0]
    if warps != tuple(range(first, first + len(warps))):
        yield fault(
            "P233",
            "the epilogue's warps are not consecutive",
            "roles.epilogue.warps",
            help=f"write {list(range(first, first + group))}",
        )
    elif len(warps) % group or first % group:
        start = first - first % group
        quarters = ", ".join(
            f"{w}: {32 * (w % group)} .. {32 * (w % group) + 31}" for w in warps[:4]
        )
        yield fault(
            "P234",
            f"{counted(len(warps), 'warp')} from warp {first} cannot read all 128 TMEM lanes",
            "roles.epilogue.warps",
            f"lanes that each warp reads: {quarters}",
            help=f"take whole warpgroups, for instance {list(range(start, start + group))}",
        )


def _cooperative(plan: Plan) -> Iterator[Finding]:
    """Plain loads are the work of all threads, one warp of which issues the MMAs, or of a role."""
    if plan.spec.load.kind is not LoadKind.COOPERATIVE:
        return
    producer, everyone = plan.role(Role.PRODUCER).warps, tuple(range(plan.threads // 32))
    copy, threads = plan.a, 32 * len(producer)
    row_threads = max(1, copy.columns * copy.dtype.nbytes // 16)
    rows = max(1, threads // row_threads)
    beside = is_specialized(plan.spec)
    if beside and producer and producer != tuple(range(producer[0], producer[0] + len(producer))):
        yield fault(
            "P235",
            "the warps that copy are not consecutive",
            "roles.producer.warps",
            help=f"write {list(range(producer[0], producer[0] + len(producer)))}",
        )
    if producer != everyone and not beside:
        yield fault(
            "P235",
            "cooperative loads are the work of every warp",
            "roles.producer.warps",
            f"producer {list(producer)}, the CTA has warps {list(everyone)}",
            help=f'write `warps = {list(everyone)}`, or `load.kind = "tma"`',
        )
    if threads % row_threads:
        yield fault(
            "P235",
            "the threads do not copy whole rows",
            "tile.k",
            f"{copy.columns} values are {row_threads} threads a row, of {threads}",
            help="take a tile.k whose rows of 16 bytes a thread divide the threads",
        )
        return
    for operand, key in ((plan.a, "tile.m"), (plan.b, "tile.n")):
        if operand.rows % rows:
            yield fault(
                "P235",
                f"the threads do not copy {operand.name} in whole passes",
                key,
                f"{threads} threads copy {rows} rows at a time, {operand.rows} rows"
                f" are {operand.rows / rows:g} passes",
                help=f"take a multiple of {rows} rows, or another number of warps",
            )


def _consumers(plan: Plan) -> Iterator[Finding]:
    """Several mma warps: an instruction and a warpgroup of the epilogue for each."""
    g, mma = plan.geometry, plan.role(Role.MMA).warps
    if g.consumers == 1 or in_registers(plan.spec) or not is_specialized(plan.spec):
        return
    if mma != tuple(range(mma[0], mma[0] + len(mma))):
        yield fault(
            "P236",
            "the mma warps are not consecutive",
            "roles.mma.warps",
            help=f"write {list(range(mma[0], mma[0] + len(mma)))}",
        )
    if g.m_steps != g.consumers:
        rows = g.consumers * g.mma_m // g.cta_group
        yield fault(
            "P236",
            f"{g.consumers} mma warps have {counted(g.m_steps, 'instruction')} along M to issue",
            "roles.mma.warps",
            f"{g.pair_m} rows / mma.m {g.mma_m} = {g.pair_m / g.mma_m:g}",
            help=f"write `tile.m = {rows}`, or name {counted(max(g.m_steps, 1), 'warp')}",
        )
    epilogue, group = plan.role(Role.EPILOGUE).warps, plan.arch.warps_per_group
    if len(epilogue) != group * g.consumers:
        yield fault(
            "P236",
            "each consumer needs a warpgroup of the epilogue",
            "roles.epilogue.warps",
            f"{counted(len(epilogue), 'warp')} for {g.consumers} consumers",
            help=f"name {group * g.consumers} warps",
        )
