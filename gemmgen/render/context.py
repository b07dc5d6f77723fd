"""Plan -> the words that templates print: names, expressions, aligned lines; no choice of code."""

from __future__ import annotations

import textwrap
from typing import Any

from gemmgen.frozen import frozen
from gemmgen.plan import Copy, FieldKind, GridKind, Plan, RolePlan
from gemmgen.plan.asserts import plan_asserts
from gemmgen.render.words import (
    acc_words,
    epilogue_words,
    kernel_words,
    load_words,
    output_words,
    plain_words,
    swizzle_bits,
    tile_words,
    walk_words,
)
from gemmgen.render.words_barriers import barrier_words
from gemmgen.render.words_wgmma import wgmma_words
from gemmgen.terms import (
    Arch,
    Dtype,
    KExtent,
    LoadKind,
    MainloopKind,
    Swizzle,
)

DSL_TYPE = {
    Dtype.F16: "cutlass.Float16",
    Dtype.BF16: "cutlass.BFloat16",
    Dtype.F32: "cutlass.Float32",
}
WIDTH = 96


@frozen
class CopyWords:
    """A load as templates speak of it."""

    rows: str
    slices_code: str
    slice_index: str
    mask_argument: str
    op: str
    share: str


def build(plan: Plan, slots: dict[str, str]) -> dict[str, Any]:
    """Every name that the partials may use, besides ``plan``."""
    spec, g = plan.spec, plan.geometry
    context: dict[str, Any] = {
        "slots_text": _slots_lines(slots, spec.arch),
        "doc": _doc(plan),
        "constants": _constant_lines(plan),
        "asserts": plan_asserts(plan),
        "storage": _storage(plan),
        "roles": {role.role.value: _condition(role) for role in plan.roles},
        "copy_a": _copy_words(plan, plan.a),
        "copy_b": _copy_words(plan, plan.b),
        "ab_type": DSL_TYPE[spec.problem.a.dtype],
        "acc_type": DSL_TYPE[spec.problem.acc_dtype],
        "d_type": DSL_TYPE[spec.problem.d.dtype],
        "cta_group": "tcgen05.CtaGroup.TWO" if g.is_pair else "tcgen05.CtaGroup.ONE",
        "tma_group": "tcgen05.CtaGroup.TWO" if g.is_pair else "",
        "swizzle": _swizzle(plan),
        "smem_layout_type": _layout_type(plan),
        "kernel": kernel_words(plan),
        "acc": acc_words(plan),
        "epilogue": epilogue_words(plan),
        "output": output_words(plan),
        "tile": tile_words(plan),
        "load": load_words(plan),
        "plain": plain_words(plan),
        "walk": walk_words(plan),
        "launch": _launch(plan),
        "problem_rules": _problem_rules(plan),
        "capability": _CAPABILITY[spec.arch],
        "m_step": plan.problem.m_multiple.text,
        "n_step": plan.problem.n_multiple.text,
        "cluster_size_code": "CLUSTER_M * CLUSTER_N" if g.cluster_size > 1 else "1",
        **_names(plan),
        **barrier_words(plan),
    }
    if spec.arch is Arch.SM90A:
        context |= wgmma_words(plan, context, slots)
    if done := context.get("mma_done", context.get("acc_full")):
        context["done"] = done
    return context


_CAPABILITY = {Arch.SM90A: "(9, 0)", Arch.SM100A: "(10, 0)"}


def _condition(role: RolePlan) -> str:
    """When a warp has `role`; of a pair, the leader CTA alone may have it."""
    return f"{role.code} and is_leader" if role.leader_only else role.code


def _slots_lines(slots: dict[str, str], arch: Arch) -> list[str]:
    """Which partial stands in which slot, several a line.

    Neither the folder of `arch` nor ``common`` is named, which have no name in common, nor a slot
    that is called like its partial.
    """
    words = []
    own = f"{arch.value.removesuffix('a').replace('_', '')}/"
    for slot, partial in slots.items():
        path = partial.removesuffix(".j2").removesuffix(".wrap")
        path = path.removeprefix(own).removeprefix("common/")
        words.append(path if path.rpartition("/")[2] == slot else f"{slot}={path}")
    return textwrap.wrap(" ".join(words), WIDTH, break_long_words=False, break_on_hyphens=False)


def _names(plan: Plan) -> dict[str, str]:
    """Expressions that differ with the number of stages, k_tiles and chunks that are kept."""
    one_step = plan.spec.problem.k_extent is KExtent.ONE_STEP
    serial = plan.spec.mainloop.kind is MainloopKind.SERIAL
    mainloop = "TMA loads and MMAs into tensor memory, by one warp"
    if plan.spec.load.kind is LoadKind.COOPERATIVE:
        ahead = "" if serial else " ahead"
        mainloop = f"all threads copy A and B{ahead}, one warp issues the MMAs"
    shape = "(MMA, 1, K_BLOCKS" if plan.geometry.k_blocks > 1 else "(MMA, 1, 1"
    return {
        "mainloop_rule": mainloop,
        "k_index": "0" if one_step else "k_tile",
        "adds": "k_block != 0" if one_step else "k_tile + k_block != 0",
        "stage_index": "" if serial else ", stage",
        "d_chunk": "[None, chunk]" if plan.epilogue.held else "",
        "descriptor_shape": shape + (")" if serial else ", AB_STAGES)"),
    }


def _doc(plan: Plan) -> dict[str, str]:
    """Words of the docstring; an ablation has its own."""
    lineage = plan.spec.lineage
    what = _paragraph(lineage.what)
    if lineage.predecessor:
        what = _paragraph(f"Against {lineage.predecessor}: {lineage.what}")
    head = f"D = A @ B.T: {plan.spec.title}."
    return {"head": head, "what": what, "why": _paragraph(lineage.why)}


def _paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False)


def _constant_lines(plan: Plan) -> list[str]:
    return [
        f"{line.statement}  # {line.note}" if line.note else line.statement
        for line in plan.constants
    ]


def _storage(plan: Plan) -> dict[str, Any]:
    fields = plan.smem.fields
    operands = [field for field in fields if field.kind is FieldKind.OPERAND]
    align = max(field.align for field in operands)
    swizzled = plan.spec.smem.swizzle is not Swizzle.NONE
    span = plan.spec.smem.swizzle.span_bytes
    note = f"{align}-byte alignment: the swizzle repeats every 8 rows of {span} bytes."
    output = [field for field in fields if field.kind is FieldKind.OUTPUT]
    output_note = ""
    if plan.output and plan.output.swizzle not in (plan.spec.smem.swizzle, Swizzle.NONE):
        rows = f"8 rows of {plan.output.swizzle.span_bytes} bytes"
        output_note = f"{output[0].align}-byte alignment: D's swizzle repeats every {rows}."
    barriers = [
        {"name": field.name, "count_code": field.count_code if field.count > 1 else "1"}
        for field in fields
        if field.kind is FieldKind.BARRIERS
    ]
    return {
        "barriers": barriers,
        "operands": operands,
        "output": output,
        "align": max(field.align for field in fields),
        "note": note if swizzled else "",
        "output_note": output_note,
    }


def _copy_words(plan: Plan, copy: Copy) -> CopyWords:
    is_a = copy.name == "A"
    sharers = "CLUSTER_N" if is_a else "CLUSTER_M // 2" if plan.geometry.is_pair else "CLUSTER_M"
    return CopyWords(
        rows=copy.rows_code,
        slices_code=sharers if copy.slices > 1 else "1",
        slice_index=copy.slice_index or "0",
        mask_argument=f", mcast_mask={copy.mask.name}" if copy.mask else "",
        op="multicast_op" if copy.mask else "load_op",
        share=f", {sharers}" if copy.mask else "",
    )


def _swizzle(plan: Plan) -> dict[str, Any]:
    swizzle = plan.spec.smem.swizzle
    rule = {Swizzle.B128: "c ^ r % 8", Swizzle.B64: "c ^ r // 2 % 4", Swizzle.B32: "c ^ r // 4 % 2"}
    return {
        "span": swizzle.span_bytes,
        "bits": swizzle_bits(swizzle),
        "rule": rule.get(swizzle, "c"),
    }


def _layout_type(plan: Plan) -> str:
    plain = plan.spec.smem.swizzle is Swizzle.NONE
    return "cute.Layout" if plain else "cute.ComposedLayout"


def _launch(plan: Plan) -> dict[str, Any]:
    kinds = {"max_active_clusters": "cutlass.Int32", "stream": "cuda.CUstream"}
    extents, resident = plan.launch.grid_code, ""
    if plan.launch.grid is GridKind.PERSISTENT:
        resident = f"{plan.walk.count} = {extents[2]}"
        extents = (*extents[:2], plan.walk.count)
    grid = f"({', '.join(extents)})"
    cluster = "(CLUSTER_M, CLUSTER_N, 1)" if plan.geometry.cluster_size > 1 else ""
    parameters = [f"{name}: {kinds[name]}" for name in plan.launch.parameters]
    return {"grid": grid, "resident": resident, "cluster": cluster, "parameters": parameters}


def _problem_rules(plan: Plan) -> list[dict[str, str]]:
    rules = plan.problem
    out: list[dict[str, str]] = []
    if plan.launch.grid is GridKind.TILES and rules.ragged:
        message = 'f"N = {n}: at most 65_534 tiles along N fit in a grid"'
        out.append({"code": "n > 65_534 * TILE_N", "message": message})
    elif plan.launch.grid is GridKind.TILES:
        message = 'f"N = {n}: at most 65_535 tiles along N fit in a grid"'
        out.append({"code": "n // TILE_N > 65_535", "message": message})
    if rules.k_exact is not None:
        message = 'f"K = {k}: this kernel has no loop, K must be {TILE_K}"'
        out.append({"code": "k != TILE_K", "message": message})
    else:
        step = rules.k_multiple
        if plan.spec.load.kind is LoadKind.COOPERATIVE:
            message = 'f"K = {k}: plain loads take whole k_tiles, K % {TILE_K} == 0"'
            return [*out, {"code": "k % TILE_K", "message": message}]
        message = f'f"K = {{k}}: TMA needs rows of a multiple of 16 bytes, K % {step} == 0"'
        out.append({"code": f"k % {step}", "message": message})
    return out
