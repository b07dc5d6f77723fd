"""The words of scheduler, accumulators and output: variables and expressions to print."""

from __future__ import annotations

from typing import Any

from gemmgen.plan import Plan
from gemmgen.plan.roles import is_specialized
from gemmgen.terms import LoadKind, Role, SchedulerKind, Swizzle


def swizzle_bits(swizzle: Swizzle) -> int:
    """Bits of the 16-byte chunk index that `swizzle` permutes."""
    return {Swizzle.NONE: 0, Swizzle.B32: 1, Swizzle.B64: 2, Swizzle.B128: 3}[swizzle]


def _layout_type(swizzle: Swizzle) -> str:
    return "cute.Layout" if swizzle is Swizzle.NONE else "cute.ComposedLayout"


def kernel_words(plan: Plan) -> dict[str, Any]:
    """Parameters of the kernel, the host's arguments for them, and the tensor maps among them."""
    tma, stores = plan.spec.load.kind is LoadKind.TMA, plan.output is not None
    where = {True: "in TMA coordinates", False: "in global memory"}
    parameters: list[str] = []
    names: list[str] = []
    for name, shape in (("a", "(M, K)"), ("b", "(N, K)")):
        if tma:
            parameters.append(f"tma_{name}: cute.CopyAtom,")
            names.append(f"tma_{name}")
        parameters.append(f"m{name.upper()}: cute.Tensor,  # {shape} {where[tma]}")
        parameters.append(f"{name}_smem: {_layout_type(plan.spec.smem.swizzle)},")
        names += [f"m{name.upper()}", f"{name}_smem"]
    if plan.output is not None:
        parameters.append("tma_d: cute.CopyAtom,")
        names.append("tma_d")
    parameters.append(f"mD: cute.Tensor,  # (M, N) {where[stores]}")
    names.append("mD")
    if plan.output is not None:
        parameters.append("d_smem: cute.ComposedLayout,")
        names.append("d_smem")
    maps = [name for name in names if name.startswith("tma_")]
    return {
        "parameters": parameters,
        "arguments": ", ".join(names),
        "tensor_maps": maps,
        "nvgpu": "cpasync, tcgen05" if maps else "tcgen05",
    }


def acc_words(plan: Plan) -> dict[str, str]:
    """How accumulators are indexed: by slot of a ring, or not at all."""
    words = {
        "rows": "TILE_M",
        "a_buffers": "sA",
        "a_rows": "TILE_M",
        "offset": " + slot",
        "phase": "slot_phase",
        "reads_from": "slot, slot_phase = 0, 0",
        "writes_from": "slot, slot_phase = 0, 1  # pre-armed: every slot starts empty",
        "leader": "leader_rank" if plan.geometry.cluster_size > 2 else "0",
        "base": "tmem",
    }
    single, consumer = plan.spec.pipeline.acc_stages == 1, plan.consumer
    if single:
        words |= {"offset": "", "phase": "acc_phase" if plan.persistent else "0"}
        words["reads_from"] = "acc_phase = 0"
        words["writes_from"] = "acc_phase = 1  # pre-armed: the accumulator starts empty"
    if plan.geometry.consumers > 1:
        words |= {"a_buffers": "own_A", "a_rows": "WARPGROUP"}
    if consumer is not None and not consumer.at_setup:
        own = "consumer" if single else "first"
        words |= {"offset": f" + {own}{words['offset']}", "base": f"tmem + {own} * TILE_N"}
    if plan.epilogue.by_warpgroup:
        words["rows"] = "WARPGROUP"
    return words


def _is_alone(plan: Plan) -> bool:
    """Whether one CTA computes all of D, at row and column 0."""
    return plan.spec.scheduler.kind is SchedulerKind.SINGLE and plan.geometry.cluster_size == 1


def epilogue_words(plan: Plan) -> dict[str, str]:
    """Which thread has which row of D, and how the warps of an accumulator meet."""
    single = _is_alone(plan)
    consumers, named = plan.geometry.consumers, plan.epilogue.named_barrier
    first = min(plan.role(Role.EPILOGUE).warps, default=0)
    words = {
        "route": "tensor memory -> registers -> global memory",
        "thread": "thread_idx",
        "rows": "TILE_M",
        "d_row": "thread_idx",
        "lanes": "Warp w reads lanes 32 w to 32 w + 31, and a lane is a row of the tile:"
        " thread t has row t.",
        "first_warp": "warp_idx == EPILOGUE_WARP" if first else "warp_idx == 0",
        "release": "any store" if plan.epilogue.held else "the last store",
        "sync": "cute.arch.sync_threads()",
    }
    if plan.output is not None:
        words["route"] = "tensor memory -> registers -> shared memory -> global memory"
    apart = bool(plan.role(Role.EPILOGUE).code) and not is_specialized(plan.spec)
    if apart and plan.persistent:  # deep inside the kernel: fewer words
        words["lanes"] = "Warp w reads 32 lanes from 32 w on; a lane is a row: thread t has row t."
    threads = "32 * EPILOGUE_WARPS"
    if plan.epilogue.by_warpgroup:
        words["lanes"] = (
            "Warp w reads 32 lanes from 32 (w % 4) on; a lane is a row: thread t has row t % 128."
        )
        words |= {"thread": "thread_idx % WARPGROUP", "rows": "WARPGROUP"}
        words["d_row"] = words["thread"] if first else "thread_idx"
        if plan.consumer is not None:
            words["d_row"] = plan.consumer.d_row
        if consumers > 1 or (plan.persistent and is_specialized(plan.spec)):
            words["first_warp"] = "warp_idx % 4 == 0"
        threads = "WARPGROUP"
    if named is not None:
        number = named.name + " + consumer" * (consumers > 1)
        words["sync"] = f"cute.arch.barrier(barrier_id={number}, number_of_threads={threads})"
    words["row"] = words["d_row"] if single else f"m_tile * TILE_M + {words['d_row']}"
    words["chunk"] = "chunk" if single else "n_tile * EPI_CHUNKS + chunk"
    return words


def output_words(plan: Plan) -> dict[str, str]:
    """Layout of the staged chunks of D, and which buffer and row of chunks a CTA uses."""
    output, consumers = plan.output, plan.geometry.consumers
    if output is None:
        return {}
    rows = output.rows_code
    shape, stride = f"{rows}, EPI_N", "EPI_N, 1"
    together = plan.tmem is not None
    if together or output.boxes > 1:
        shape = f"{rows}, (D_SPAN, EPI_N // D_SPAN)"
        stride = f"D_SPAN, (1, {rows} * D_SPAN)"
    buffer = "chunk % D_STAGES" if output.stages > 1 else "0"
    if output.stages == plan.epilogue.chunks:
        buffer = "chunk"
    if consumers > 1 and not together:
        buffer = f"consumer * D_STAGES + {buffer}" if output.stages > 1 else "consumer"
    plain = output.swizzle is Swizzle.NONE
    same = output.swizzle is plan.spec.smem.swizzle and not plain
    why = (
        "rows of 16 bytes"
        if plain
        else "swizzled so that a warp writes them without bank conflicts"
    )
    m_tile = "0" if _is_alone(plan) else "m_tile"
    if plan.consumer is not None and not plan.persistent:
        m_tile = "consumer" if m_tile == "0" else "CONSUMERS * m_tile + consumer"
    return {
        "note": f"chunks of (row, column), {why}",
        "shape": f"({shape}, {output.buffers_code})",
        "stride": f"({stride}, {rows} * EPI_N)",
        "swizzle": "swizzle"
        if same
        else f"cute.make_swizzle({swizzle_bits(output.swizzle)}, 4, 3)",
        "buffer": buffer,
        "m_tile": m_tile,
        "buffers": "own_D" if consumers > 1 else "sD",
        "part": "d_part" if consumers > 1 else "d_smem",
    }


def tile_words(plan: Plan) -> dict[str, str]:
    """Place of the CTA's tile."""
    single = _is_alone(plan)
    half = "cta_rank" if plan.geometry.cluster_size == 2 else "cta_m % 2"
    b_tile = f"2 * n_tile + {half}"
    return {"m": "0", "n": "0"} if single else {"m": "m_tile", "n": "n_tile", "b": b_tile}


def load_words(plan: Plan) -> dict[str, str]:
    """Which tiles of A and B the bulk loads bring, in units of theirs, and how many bytes."""
    tile = tile_words(plan)
    b = "b_tile" if plan.geometry.is_pair else tile["n"]
    return {"a": tile["m"], "b": b, "bytes": "AB_BYTES"}


def plain_words(plan: Plan) -> dict[str, str]:
    """Plain copies: which threads share them, and how they name the tile of this CTA.

    A kernel that walks over tiles partitions all of A and B, any other those of its tile.
    """
    producer, tile = plan.role(Role.PRODUCER), tile_words(plan)
    b_tile = "b_tile" if plan.geometry.is_pair else tile["n"]
    words = {
        "who": "CTA",
        "threads": "THREADS",
        "thread": "thread_idx",
        "modes": "(row, k, k_tile)",
        "m_tile": tile["m"],
        "b_tile": b_tile,
        "a_at": "",
        "b_at": "",
    }
    if plan.persistent:
        words |= {"m_tile": "None", "b_tile": "None", "modes": "(row, k, m_tile, k_tile)"}
        words |= {"a_at": "m_tile, ", "b_at": f"{b_tile}, "}
    if producer.code:
        one = len(producer.warps) == 1
        words |= {"who": "warp" if one else "producer"}
        words["threads"] = "32" if one else "32 * PRODUCER_WARPS"
        if min(producer.warps) > 0:
            words["thread"] = "thread_idx - 32 * PRODUCER_WARP"
    return words


def _tiles(extent: str, tile: str, cluster: str, ragged: bool) -> str:
    """How many cluster tiles cover `extent`."""
    step = f"{tile} * {cluster}" if cluster else tile
    if ragged:
        return f"cute.ceil_div({extent}, {step})"
    return f"{extent} // ({step})" if cluster else f"{extent} // {step}"


def _place(plan: Plan) -> list[str]:
    """The tile of a CTA of a grid in groups, from its cluster's."""
    walk, g = plan.walk, plan.geometry
    lines = ["m_tile, n_tile = tile_at(tile, m_tiles, n_tiles)"]
    if g.cluster_size > 1:
        lines[0] += "  # of the cluster"
    own = (("m_tile", walk.m_tile, g.cluster_m), ("n_tile", walk.n_tile, g.cluster_n))
    return lines + [f"{name} = {code}  # of this CTA" for name, code, size in own if size > 1]


def walk_words(plan: Plan) -> dict[str, Any]:
    """The walk over tiles: its variables, and the place of a tile, which a grid gives to a CTA."""
    walk, g, ragged = plan.walk, plan.geometry, plan.problem.ragged
    place: list[str] = []
    if walk.grouped and g.cluster_size > 1:
        place = ["row, column = tile_at(tile, m_tiles, n_tiles)"]
    both = [f"m_tile, n_tile = {walk.m_tile}, {walk.n_tile}"]
    if walk.grouped and g.cluster_size == 1:
        both = ["m_tile, n_tile = tile_at(tile, m_tiles, n_tiles)"]
    producer = list(both)
    if g.is_pair:
        half = f"b_tile = {walk.b_tile}  # the half of B that this CTA stages"
        producer = [f"m_tile = {walk.m_tile}", half]
    if g.consumers > 1 and plan.output is not None:
        both.append("m_tile = CONSUMERS * m_tile + consumer  # in rows of one consumer")
    return {
        "index": walk.index,
        "taker": "cluster" if g.cluster_size > 1 else "CTA",
        "count": walk.count,
        "m_tiles": _tiles("mD.shape[0]", "TILE_M", "CLUSTER_M" * (g.cluster_m > 1), ragged),
        "n_tiles": _tiles("mD.shape[1]", "TILE_N", "CLUSTER_N" * (g.cluster_n > 1), ragged),
        "producer": place + producer,
        "epilogue": place + both,
        "place": _place(plan),
        "launched": walk.launched,
    }
