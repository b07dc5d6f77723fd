"""The words of kernels whose accumulators are registers of consumer warpgroups (wgmma)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gemmgen.plan import Copy, Plan
from gemmgen.terms import MainloopKind


def wgmma_words(plan: Plan, words: dict[str, Any], slots: Mapping[str, str]) -> dict[str, Any]:
    """What replaces or joins `words`, which hold what all architectures share."""
    deferred = "under_k_tiles" in slots
    return {
        "kernel": words["kernel"] | {"nvgpu": _imports(plan)},
        "acc": _accumulator(plan),
        "epilogue": _epilogue(plan),
        "output": words["output"] | _output(plan),
        "walk": words["walk"] | {"epilogue": words["walk"]["producer"]},
        "mma": {"route": _route(plan), "k_range": "chunk, k_end" if deferred else "k_tiles"},
        "copies": [_load(copy) for copy in plan.copies],
        "descriptor_shape": _descriptors(plan),
        "sharers": "CLUSTER_N" if plan.geometry.cluster_m == 1 else "CLUSTER_M",
        "init_note": "TMA sees the counts too",
    }


def _imports(plan: Plan) -> str:
    names = ["OperandMajorMode"]
    names += ["cpasync"] if plan.barriers or plan.output else []
    names += ["warp"] if plan.output else []
    return ", ".join([*names, "warpgroup"])


def _accumulator(plan: Plan) -> dict[str, str]:
    g = plan.geometry
    shares = g.acc_rows != g.tile_m
    alone = len(plan.roles[1].warps) * 32 == plan.threads
    return {
        "rows": "ACC_ROWS" if g.consumers > 1 else "TILE_M",
        "a_buffers": "own_A" if shares else "sA",
        "m_tile": _m_tile(plan),
        "thread": "thread_idx" if alone else "thread_idx % 128",
    }


def _m_tile(plan: Plan) -> str:
    """Row of tiles of D, in accumulators of one consumer."""
    g = plan.geometry
    return "m_tile" if g.acc_rows == g.tile_m else "CONSUMERS * m_tile + consumer"


def _epilogue(plan: Plan) -> dict[str, str]:
    named = plan.epilogue.named_barrier
    many = plan.geometry.consumers > 1
    sync = "cute.arch.sync_threads()"
    if named is not None:
        number = f"{named.name} + consumer" if many else named.name
        sync = f"cute.arch.barrier(barrier_id={number}, number_of_threads={named.threads})"
    first = "warp_idx == 0" if named is None else "warp_idx % 4 == 0"
    return {
        "rows": _accumulator(plan)["rows"],
        "first_warp": first,
        "sync": sync,
        "chunk": "n_tile * EPI_CHUNKS + chunk",
    }


def _output(plan: Plan) -> dict[str, str]:
    """Staged chunks of a consumer, and the row of them that a lane has the address of."""
    output, many = plan.output, plan.geometry.consumers > 1
    if output is None:
        return {}
    slot = "chunk % D_STAGES" if output.stages > 1 else "0"
    row = "warp_idx % 4 * 16 + lane % 16"
    return {
        "m_tile": _m_tile(plan),
        "slot": "chunk" if output.stages == plan.epilogue.chunks else slot,
        "buffer": "consumer * D_STAGES + slot" if many else "slot",
        "first_row": f"consumer * D_STAGES * {output.rows_code} + {row}" if many else row,
    }


def _route(plan: Plan) -> str:
    if plan.spec.mainloop.kind is MainloopKind.PINGPONG:
        return "the consumers take tiles in turn, from the A/B ring into registers"
    if plan.geometry.consumers > 1:
        return "each consumer multiplies its rows of A, from the A/B ring into registers"
    return "from the A/B ring into registers"


def _load(copy: Copy) -> dict[str, str]:
    shared = copy.slices > 1
    return {
        "name": copy.operand.value,
        "tensor": copy.name,
        "rows": copy.rows_code,
        "operation": "share_op" if shared else "load_op",
        "share": f", {copy.slices_code}" if shared else "",
        "part": f"{copy.slice_index}, shared" if shared else "0, alone",
        "mask": copy.mask.name if copy.mask else "",
    }


def _descriptors(plan: Plan) -> str:
    stages = "" if plan.spec.mainloop.kind is MainloopKind.SERIAL else ", AB_STAGES"
    return f"((MMA_M, MMA_K), {plan.geometry.m_blocks}, K_BLOCKS{stages})"
