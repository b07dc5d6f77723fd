"""The ablations that `gemmgen ablate` knows."""

from __future__ import annotations

from gemmgen.render.ablate import EMPTY, Ablation, combine
from gemmgen.render.facts import Facts, Rule
from gemmgen.spec import Spec
from gemmgen.terms import Arch


def _always(_: Facts) -> bool:
    return True


_NO_MAIN: Rule = ("main", EMPTY, _always)
_NO_ISSUE: Rule = ("issue", "ablate/issue_none.j2", _always)
_TMEM_UNREAD: tuple[Rule, ...] = (
    ("chunks", "ablate/chunks_none.j2", _always),
    ("store_tile", EMPTY, _always),
    ("drain_tile", EMPTY, _always),
    ("drain_stores", EMPTY, _always),
)
_NO_EPILOGUE: tuple[Rule, ...] = (
    ("output", EMPTY, _always),
    ("under_k_tiles", EMPTY, _always),
    ("tile_epilogue", EMPTY, _always),
    ("last_tile", EMPTY, _always),
    ("drain_stores", EMPTY, _always),
    ("epilogue", EMPTY, _always),
)
_ONE_LAP: tuple[Rule, ...] = (
    ("arm", "ablate/arm_first_lap.j2", lambda f: f.specialized),
    ("copy", "ablate/copy_first_lap.j2", lambda f: f.specialized and f.cooperative),
    ("copy", EMPTY, lambda f: f.specialized),
)
_UNSTORED: tuple[Rule, ...] = (
    ("epilogue", "ablate/never.j2", _always),
    ("tile_epilogue", "ablate/never.j2", lambda f: not f.stores),
)


def _needs_ring(facts: Facts, _: Spec) -> str:
    if facts.serial:
        return "it loads and multiplies in turn, without a ring of stages"
    if facts.copies_ahead:
        return "all its threads both copy and wait for the MMAs"
    return "one warp both loads and multiplies, over many tiles" if facts.one_walk else ""


def _needs_producer(facts: Facts, _: Spec) -> str:
    return "" if facts.specialized else "no warp of it does nothing but load"


def _needs_loop(facts: Facts, _: Spec) -> str:
    return "it has no loop over K" if facts.one_step else ""


def _needs_mmas(facts: Facts, _: Spec) -> str:
    return "it issues one MMA in all" if facts.one_step and not facts.blocks else ""


def _needs_tiles(facts: Facts, _: Spec) -> str:
    if facts.cooperative:
        return "its loads are not TMA's"
    return "it has one tile in all" if facts.single else ""


def _needs_swizzle(facts: Facts, _: Spec) -> str:
    return "" if facts.swizzled else "its operands are not swizzled"


def _needs_free_tile_k(facts: Facts, spec: Spec) -> str:
    if facts.swizzled and not facts.wide_rows:
        return "its swizzle spans tile_k, so neither changes alone: `no_swizzle` keeps tile_k"
    return _needs_loop(facts, spec)


def _other_tile_k(spec: Spec) -> dict[str, object]:
    """Four times tile_k where it is one MMA deep, else half of it in a ring of as many bytes."""
    k, stages = spec.tile.k, spec.pipeline.ab_stages
    if k == spec.mma.k:
        return {"tile.k": 4 * k}
    ring: dict[str, object] = {"pipeline.ab_stages": 2 * stages} if stages > 1 else {}
    return {"tile.k": k // 2, **ring}


LOADS_ONLY = Ablation(
    name="loads_only",
    title="loads only",
    shows="how long the loads take alone, with nothing multiplied and nothing stored",
    says="the loads alone take {share} of the time, at {rate}",
    rules={
        Arch.SM90A: (_NO_MAIN, _NO_ISSUE, *_NO_EPILOGUE),
        Arch.SM100A: (_NO_MAIN, _NO_ISSUE, *_TMEM_UNREAD),
    },
    lacks=_needs_loop,
)
MMA_ONLY = Ablation(
    name="mma_only",
    title="MMA only",
    shows="how long the MMAs take alone: the ring is loaded once, and nothing is stored",
    says="the MMAs alone take {share} of the time",
    rules={
        Arch.SM90A: (
            _NO_MAIN,
            *_ONE_LAP,
            ("mainloop", "ablate/mainloop_once_sm90.j2", lambda f: f.prefetch),
            ("epilogue", "ablate/never.j2", _always),
            ("tile_epilogue", "ablate/never.j2", _always),
        ),
        Arch.SM100A: (
            _NO_MAIN,
            *_ONE_LAP,
            ("mainloop", "ablate/mainloop_once_sm100.j2", lambda f: f.prefetch),
            *_TMEM_UNREAD,
        ),
    },
    lacks=_needs_ring,
)
NO_STORE = Ablation(
    name="no_store",
    title="no epilogue store",
    shows="what storing D costs: the tile is converted and never leaves the CTA",
    says="without the store it takes {share} of the time",
    rules={
        Arch.SM90A: (
            _NO_MAIN,
            *_UNSTORED,
            ("store_chunk", "ablate/store_deferred_unsent.j2", lambda f: f.deferred),
            ("store_chunk", "ablate/store_unsent_sm90.j2", _always),
        ),
        Arch.SM100A: (
            _NO_MAIN,
            ("store_chunk", "ablate/store_unsent_sm100.j2", lambda f: f.stores),
            ("store_chunk", "ablate/never.j2", _always),
            ("store_tile", "ablate/never.j2", _always),
        ),
    },
    lacks=_needs_loop,
)
SAME_TILE = Ablation(
    name="same_tile",
    title="every CTA loads the same tile",
    shows="what misses of L2 cost: all loads but the first hit it",
    says="with loads that hit L2 it takes {share} of the time",
    rules={Arch.SM90A: (_NO_MAIN,), Arch.SM100A: (_NO_MAIN,)},
    load={"a": "0", "b": "0"},
    lacks=_needs_tiles,
)
_TWICE: tuple[Rule, ...] = (_NO_MAIN, ("issue", "ablate/issue_twice.j2", _always))
MMA_TWICE = Ablation(
    name="mma_twice",
    title="every MMA twice",
    shows="whether the tensor core is what the kernel waits for: then it takes twice as long",
    says="twice the MMAs take {times} the time",
    rules={Arch.SM90A: _TWICE, Arch.SM100A: _TWICE},
    lacks=_needs_mmas,
)
_LOAD_TWICE: tuple[Rule, ...] = (
    _NO_MAIN,
    ("copy", "ablate/copy_twice.j2", _always),
)
LOADS_TWICE = Ablation(
    name="loads_twice",
    title="every load twice",
    shows="whether the loads are what the kernel waits for: then it takes twice as long",
    says="twice the loads take {times} the time",
    rules={Arch.SM90A: _LOAD_TWICE, Arch.SM100A: _LOAD_TWICE},
    load={"bytes": "2 * AB_BYTES"},
    lacks=_needs_producer,
)
NO_SWIZZLE = Ablation(
    name="no_swizzle",
    title="no swizzle",
    shows="what the swizzle is worth, at the same tile_k",
    says="without the swizzle it takes {times} the time",
    settings=lambda _: {"smem.swizzle": "none"},
    lacks=_needs_swizzle,
)
TILE_K_ALONE = Ablation(
    name="tile_k_alone",
    title="tile_k alone",
    shows="what the step along K is worth without a swizzle",
    says="with the other tile_k it takes {times} the time",
    settings=_other_tile_k,
    lacks=_needs_free_tile_k,
)
ABLATIONS = {
    ablation.name: ablation
    for ablation in (
        LOADS_ONLY,
        combine(
            LOADS_ONLY,
            SAME_TILE,
            "how fast L2 alone serves the loads",
            "the loads alone, all from L2, take {share} of the time, at {rate}",
        ),
        combine(
            LOADS_ONLY,
            NO_SWIZZLE,
            "what the swizzle is worth to the loads alone",
            "the loads alone, unswizzled, take {share} of the time, at {rate}",
        ),
        MMA_ONLY,
        combine(
            MMA_ONLY,
            NO_SWIZZLE,
            "what the swizzle is worth to the MMAs alone",
            "the MMAs alone, unswizzled, take {share} of the time",
        ),
        NO_STORE,
        SAME_TILE,
        NO_SWIZZLE,
        TILE_K_ALONE,
        MMA_TWICE,
        LOADS_TWICE,
    )
}
