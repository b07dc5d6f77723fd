"""Shared-memory and tensor-memory maps."""

from __future__ import annotations

from enum import StrEnum

from gemmgen.arch import ArchFacts
from gemmgen.frozen import frozen
from gemmgen.plan.copies import Copy, stage_bytes
from gemmgen.plan.geometry import Geometry, consumer_count
from gemmgen.plan.output import OutputPlan
from gemmgen.plan.values import Sum, align_up, counted, grouped, power_of_two
from gemmgen.spec.model import Spec
from gemmgen.terms import MainloopKind, Ring

TMEM_SLOT_BYTES = 4


class FieldKind(StrEnum):
    """What a field of SharedStorage holds."""

    BARRIERS = "barriers"
    TMEM_SLOT = "tmem_slot"
    OPERAND = "operand"
    OUTPUT = "output"


@frozen
class SmemField:
    """One field of SharedStorage, in order.

    Attributes:
        name: field name; of a barrier ring, the barrier's name in the spec.
        kind: what it holds.
        offset: bytes from the start of dynamic shared memory.
        bytes: size.
        align: alignment in bytes.
        count: elements: slots of a ring, values of an operand ring.
        count_code: the expression that gives `count`.
        text: the arithmetic of `bytes`.
    """

    name: str
    kind: FieldKind
    offset: int
    bytes: int
    align: int
    count: int
    count_code: str
    text: str


@frozen
class SmemMap:
    """SharedStorage of one CTA, from the start of dynamic shared memory; sizes in bytes.

    Attributes:
        fields: in order.
        head_bytes: barriers, TMEM slot and padding before the first operand ring.
        stage: one stage of A and B.
        output: staged chunks of D; 0 where registers go straight to global memory.
        total: everything, with its sum.
        limit: what the architecture gives a CTA.
        stages_max: ab stages that fit.
    """

    fields: tuple[SmemField, ...]
    head_bytes: int
    stage: Sum
    output: int
    total: Sum
    limit: int
    stages_max: int

    @property
    def free(self) -> int:
        """Bytes left; negative when over the limit."""
        return self.limit - self.total.value

    def field(self, name: str) -> SmemField:
        """The field called `name`.

        Raises:
            KeyError: when there is none.
        """
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)


@frozen
class TmemMap:
    """Tensor memory of one CTA, in 32-bit columns of 128 lanes.

    Attributes:
        acc_columns: columns of one accumulator slot.
        slots: first column of each slot; the slots of a consumer stand together.
        used: columns of all slots, with the sum.
        allocated: the power of two that is asked for.
        limit: columns of an SM.
    """

    acc_columns: int
    slots: tuple[int, ...]
    used: Sum
    allocated: int
    limit: int


def ring_depth(spec: Spec, ring: Ring) -> int:
    """Slots of `ring`."""
    pipeline, consumers = spec.pipeline, consumer_count(spec)
    depths = {
        Ring.AB: pipeline.ab_stages,
        Ring.ACC: pipeline.acc_stages * consumers,
        Ring.CONSUMER: consumers,
        Ring.SINGLE: 1,
    }
    return depths[ring]


def ring_code(spec: Spec, ring: Ring) -> str:
    """The constants that hold the depth of `ring`."""
    consumers, stages = consumer_count(spec), spec.pipeline.acc_stages
    accumulators = "CONSUMERS" if consumers > 1 else "ACC_STAGES"
    if consumers > 1 and stages > 1:
        accumulators = "CONSUMERS * ACC_STAGES"
    each = "CONSUMERS" if consumers > 1 else "1"
    codes = {Ring.AB: "AB_STAGES", Ring.ACC: accumulators, Ring.CONSUMER: each, Ring.SINGLE: "1"}
    return codes[ring]


def _head_fields(spec: Spec, arch: ArchFacts) -> list[SmemField]:
    size = arch.barrier.bytes
    fields: list[SmemField] = []
    offset = 0
    for barrier in spec.barriers:
        depth = ring_depth(spec, barrier.ring)
        text = f"{depth} x {size} B"
        field = SmemField(
            barrier.name,
            FieldKind.BARRIERS,
            offset,
            depth * size,
            size,
            depth,
            ring_code(spec, barrier.ring),
            text,
        )
        fields.append(field)
        offset += field.bytes
    if arch.tmem is not None:
        fields.append(
            SmemField(
                "tmem_slot",
                FieldKind.TMEM_SLOT,
                offset,
                TMEM_SLOT_BYTES,
                TMEM_SLOT_BYTES,
                1,
                "1",
                "1 x 4 B",
            )
        )
    return fields


def _output_field(output: OutputPlan, arch: ArchFacts, offset: int) -> SmemField:
    align = arch.alignment(output.swizzle)
    size = output.bytes.value * output.buffers
    count = output.rows * output.columns * output.buffers
    code = f"{output.buffers_code} * {output.rows_code} * EPI_N"
    text = f"{output.buffers} x {grouped(output.bytes.value)} B"
    start = align_up(offset, align)
    return SmemField("d", FieldKind.OUTPUT, start, size, align, count, code, text)


def plan_smem(
    spec: Spec, arch: ArchFacts, copies: tuple[Copy, ...], output: OutputPlan | None
) -> SmemMap:
    """SharedStorage: barrier rings, TMEM slot, A ring, B ring, staged chunks of D."""
    fields = _head_fields(spec, arch)
    stages = spec.pipeline.ab_stages
    align = arch.alignment(spec.smem.swizzle)
    used = fields[-1].offset + fields[-1].bytes if fields else 0
    head = offset = align_up(used, align)
    for copy in copies:
        count = copy.stage_elements * stages
        size = copy.stage_bytes.value * stages
        offset = align_up(offset, align)
        text = f"{stages} x {grouped(copy.stage_bytes.value)} B"
        ring = "" if spec.mainloop.kind is MainloopKind.SERIAL else "AB_STAGES * "
        code = f"{ring}{copy.rows_code} * TILE_K"
        name = copy.operand.value
        fields.append(SmemField(name, FieldKind.OPERAND, offset, size, align, count, code, text))
        offset += size
    stage = stage_bytes(copies)
    total = f"({stage.text}) x {counted(stages, 'stage')}"
    staged = 0
    if output is not None:
        fields.append(_output_field(output, arch, offset))
        staged, offset = fields[-1].bytes, fields[-1].offset + fields[-1].bytes
        total += f" + D {grouped(output.bytes.value)} x {output.buffers}"
    total += f" + {grouped(head)} barriers and padding"
    return SmemMap(
        fields=tuple(fields),
        head_bytes=head,
        stage=stage,
        output=staged,
        total=Sum(offset, total),
        limit=arch.smem_per_cta,
        stages_max=max(0, (arch.smem_per_cta - head - staged) // max(stage.value, 1)),
    )


def plan_tmem(spec: Spec, arch: ArchFacts, g: Geometry) -> TmemMap | None:
    """Accumulator slots in tensor memory; None where the architecture has none.

    An instruction puts column j of D into column j of TMEM, except for a CTA pair with 128 rows,
    which
    splits the columns between the lane halves (PTX ISA, tcgen05 data path layouts A to F).
    """
    if arch.tmem is None:
        return None
    per_mma = g.mma_n // 2 if g.is_pair and g.mma_m == 128 else g.mma_n
    columns = per_mma * -(-g.m_steps // g.consumers) * g.n_steps
    stages = spec.pipeline.acc_stages * g.consumers
    used = columns * stages
    return TmemMap(
        acc_columns=columns,
        slots=tuple(columns * slot for slot in range(stages)),
        used=Sum(used, f"{columns} columns x {stages} accumulator" + "s" * (stages > 1)),
        allocated=max(arch.tmem.alloc_min, power_of_two(used)),
        limit=arch.tmem.columns,
    )
