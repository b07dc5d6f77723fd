"""A plan for people: sections of tables, and the same as plain text for golden tests."""

from __future__ import annotations

from collections.abc import Iterator

from gemmgen.frozen import frozen
from gemmgen.plan.barriers import BarrierPlan
from gemmgen.plan.make import Plan
from gemmgen.plan.values import counted, grouped
from gemmgen.terms import LoadKind


@frozen
class Section:
    """One table of a described plan.

    Attributes:
        title: of the table.
        columns: headings; empty for a list of facts.
        rows: cells, as many as headings.
        notes: lines below the table.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def _geometry(plan: Plan) -> Section:
    g, spec = plan.geometry, plan.spec
    steps = g.m_steps * g.n_steps * g.k_blocks
    mma = f"{spec.mma.kind} {g.mma_m} x {g.mma_n} x {g.mma_k}, cta_group {g.cta_group}"
    rows = [
        ("CTA tile", f"{g.tile_m} x {g.tile_n}, K step {g.tile_k}"),
        ("MMA", f"{mma}, {steps} a stage"),
        ("cluster", f"{g.cluster_m} x {g.cluster_n} = {counted(g.cluster_size, 'CTA')}"),
        ("cluster tile", f"{g.cluster_tile_m} x {g.cluster_tile_n}"),
        ("mainloop", spec.mainloop.kind.value),
        ("scheduler", spec.scheduler.kind.value + _grouped_by(plan)),
    ]
    if g.consumers > 1:
        rows.insert(2, ("consumers", f"{g.consumers}, {g.acc_rows} rows of each CTA's tile each"))
    return Section("Geometry", (), tuple(rows))


def _grouped_by(plan: Plan) -> str:
    group = plan.walk.group_m
    if plan.walk.group_n:
        return f", {counted(plan.walk.group_n, 'column')} of tiles before the next row"
    return f", {counted(group, 'row')} of tiles before the next column" if group else ""


def _loads(plan: Plan) -> Section:
    rows = []
    tma = plan.spec.load.kind is LoadKind.TMA
    for copy in plan.copies:
        box = " x ".join(str(extent) for extent in copy.box)
        shared = f"1 of {copy.slices}, to {copy.mask.text}" if copy.mask else "all, to its own CTA"
        rows.append(
            (
                copy.name,
                f"{copy.rows} x {copy.columns} {copy.dtype}",
                grouped(copy.stage_bytes.value),
                f"{copy.boxes} x ({box})" if tma else "16 B a thread",
                shared,
            )
        )
    return Section("Loads a k_tile and CTA", ("", "stage", "bytes", "boxes", "slice"), tuple(rows))


def _roles(plan: Plan) -> Section:
    rows = []
    for role in plan.roles:
        warps = ", ".join(str(warp) for warp in role.warps)
        beside = ", ".join(other.value for other in role.concurrent) or "nothing"
        where = "leader CTA" if role.leader_only else "every CTA"
        registers = str(role.registers) if role.registers else "-"
        rows.append((role.role.value, warps, str(role.threads), where, registers, beside))
    columns = ("role", "warps", "threads", "where", "registers", "runs beside")
    idle = plan.threads // 32 - len({warp for role in plan.roles for warp in role.warps})
    notes = (f"{plan.threads} threads, {counted(idle, 'warp')} without a role",)
    return Section("Roles", columns, tuple(rows), notes)


def _barrier_row(barrier: BarrierPlan) -> tuple[str, ...]:
    waits = "; ".join(f"{wait.role.value}: {wait.text}" for wait in barrier.waits)
    return (
        f"{barrier.name}[{barrier.depth}]",
        barrier.purpose.value if barrier.purpose else "?",
        str(barrier.arrivals),
        str(barrier.tx_bytes) if barrier.tx_bytes else "-",
        barrier.who,
        waits,
    )


def _masks(plan: Plan) -> Iterator[str]:
    rules = [("load of " + copy.name, copy.mask) for copy in plan.copies]
    rules += [
        (f"commit to {barrier.name}", arrive.mask)
        for barrier in plan.barriers
        for arrive in barrier.arrives
    ]
    for what, rule in rules:
        if rule is None:
            continue
        width = plan.geometry.cluster_size
        masks = " ".join(f"{mask:0{width}b}" for mask in rule.by_rank)
        yield f"{what}: mask {rule.code}, by rank {masks}: {rule.text}"


def _barriers(plan: Plan) -> Section:
    columns = ("barrier", "purpose", "arrivals", "tx bytes", "who arrives", "who waits")
    rows = tuple(_barrier_row(barrier) for barrier in plan.barriers)
    return Section("Barriers", columns, rows, tuple(_masks(plan)))


def _smem(plan: Plan) -> Section:
    smem = plan.smem
    rows = tuple(
        (field.name, str(field.offset), grouped(field.bytes), str(field.align), field.text)
        for field in smem.fields
    )
    notes = (
        str(smem.total),
        f"{grouped(smem.limit)} available, {grouped(smem.free)} left; "
        f"{counted(smem.stages_max, 'stage')} would fit",
    )
    return Section("Shared memory", ("field", "offset", "bytes", "align", "is"), rows, notes)


def _tmem(plan: Plan) -> Section:
    tmem = plan.tmem
    if tmem is None:
        return Section("Tensor memory", (), (), ("none on this architecture",))
    rows = tuple(
        (f"slot {slot}", f"{first} .. {first + tmem.acc_columns - 1}")
        for slot, first in enumerate(tmem.slots)
    )
    notes = (str(tmem.used), f"{tmem.allocated} of {tmem.limit} columns allocated")
    return Section("Tensor memory", ("accumulator", "columns"), rows, notes)


def _epilogue(plan: Plan) -> Section:
    epilogue = plan.epilogue
    rows = [
        ("chunks", f"{epilogue.chunks} of {epilogue.columns} columns"),
        ("registers", f"{epilogue.registers} at least"),
    ]
    output = plan.output
    if output is not None:
        staged = f"{output.buffers} x {output.bytes}, swizzle {output.swizzle}"
        rows.append(("staged chunks of D", f"{staged}, {counted(output.boxes, 'TMA store')} each"))
    named = epilogue.named_barrier
    if named is not None:
        last = named.number + named.count - 1
        numbers = f"{named.number}" if named.count == 1 else f"{named.number} .. {last}"
        rows.append(("named barrier", f"{numbers}, {named.threads} threads: {named.what}"))
    return Section("Epilogue", (), tuple(rows))


def _launch(plan: Plan) -> Section:
    launch, rules = plan.launch, plan.problem
    k = f"K = {rules.k_exact}" if rules.k_exact else f"K a multiple of {rules.k_multiple}"
    mn = f"M a multiple of {rules.m_multiple}, N of {rules.n_multiple}"
    if rules.m_exact:
        mn = f"M = {rules.m_exact}, N = {rules.n_exact}"
    dependent = "dependent: waits for the grid before it after its setup"
    rows = (
        ("grid", f"{launch.grid}: ({', '.join(launch.grid_code)})"),
        ("CTA", f"{launch.threads} threads, {grouped(launch.smem_bytes)} bytes of shared memory"),
        ("cluster", " x ".join(str(extent) for extent in launch.cluster)),
        *([("order", dependent)] if launch.dependent else []),
        ("problem", f"{mn}, {k}"),
        ("row strides", f"multiples of {rules.stride_multiple} elements"),
    )
    return Section("Launch", (), rows)


def _constants(plan: Plan) -> Section:
    rows = tuple((line.statement, line.note) for line in plan.constants)
    return Section("Constants", ("assignment", "note"), rows)


def sections(plan: Plan) -> tuple[Section, ...]:
    """Tables of `plan`: what `gemmgen show` prints."""
    makers = (_geometry, _loads, _roles, _barriers, _smem, _tmem, _epilogue, _launch, _constants)
    return tuple(make(plan) for make in makers)


def _table(section: Section) -> Iterator[str]:
    rows = ([section.columns] if section.columns else []) + list(section.rows)
    if rows:
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  " + cells.rstrip()
    for note in section.notes:
        yield "  " + note


def describe(plan: Plan) -> str:
    """Plain text of `plan`; the same for the same spec."""
    blocks = [f"{plan.name}: {plan.spec.title} ({plan.spec.arch})"]
    blocks += ["\n".join((section.title, *_table(section))) for section in sections(plan)]
    return "\n\n".join(blocks) + "\n"
