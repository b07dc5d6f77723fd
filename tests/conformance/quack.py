"""The GEMM kernels of quack-kernels, compiled by plain ``cute.compile``."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import torch

from conformance.matrices import SM_COUNT, TYPES, Matrix
from conformance.model import Case, Prepared
from gemmgen.compile import capture, compile_host

PACKAGE = "quack"
DISTRIBUTION = "quack-kernels"
INSTALL = "python -m pip install '.[conformance]'"


@dataclass(frozen=True)
class Config:
    """One kernel and its problem.

    Attributes:
        tile, cluster: (M, N); of the CTA pair's tile, where there are pairs.
        mnk: the problem.
        ab, d: element types, keys of `TYPES`.
        batch: matrices a launch; 0 gives it matrices without a batch mode.
        c: whether D = alpha * A @ B.T + beta * C; without, D = A @ B.T.
        clusters: clusters that fit the device: 1 lets one walk all tiles.
        options: keyword arguments of the kernel's class.
    """

    arch: str
    tile: tuple[int, int]
    cluster: tuple[int, int]
    mnk: tuple[int, int, int]
    ab: str = "f16"
    d: str = "f16"
    batch: int = 0
    c: bool = False
    clusters: int = 66
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        words = [f"{self.tile[0]}x{self.tile[1]}", f"cluster {self.cluster[0]}x{self.cluster[1]}"]
        words += [f"{self.ab} to {self.d}", "x".join(map(str, self.mnk))]
        words += [f"batch {self.batch}"] if self.batch else []
        words += ["alpha, beta, C"] if self.c else []
        words += ["1 cluster resident"] if self.clusters == 1 else []
        words += [f"{k}={v}" if type(v) is int else k for k, v in self.options if v is not False]
        return ", ".join(words)


def missing() -> str:
    """Why the package cannot be used; empty when it can."""
    if importlib.machinery.PathFinder.find_spec(PACKAGE) is None:
        return f"{DISTRIBUTION} is not installed: {INSTALL}"
    return ""


@lru_cache(maxsize=1)
def _package() -> dict[str, Any]:
    """The kernels' classes by architecture, and that of their scheduler's options.

    The package's own ``__init__`` imports its autotuner, and that needs triton: a bare module with
    the package's path takes its place.
    """
    spec = importlib.machinery.PathFinder.find_spec(PACKAGE)
    assert spec is not None, missing()
    if PACKAGE not in sys.modules:
        module = types.ModuleType(PACKAGE)
        module.__path__ = list(spec.submodule_search_locations or ())
        sys.modules[PACKAGE] = module
    import quack.dsl  # noqa: F401 (its import teaches CuTe DSL what these kernels use)
    from quack.gemm_default_epi import GemmDefaultSm90, GemmDefaultSm100
    from quack.tile_scheduler import TileSchedulerOptions

    return {
        "sm_90a": GemmDefaultSm90,
        "sm_100a": GemmDefaultSm100,
        "options": TileSchedulerOptions,
    }


def prepare(config: Config) -> Prepared:
    """Compile one kernel and make its problem."""
    import cuda.bindings.driver as cuda
    from cutlass import Float32, Int32

    package = _package()
    kernel = package[config.arch](
        Float32, TYPES[config.ab][1], config.tile, (*config.cluster, 1), **dict(config.options)
    )
    matrices = _matrices(config)
    scale: dict[str, Any] = {}
    if config.c:
        scale = {"alpha": Float32(0.5), "beta": Float32(2.0)}
    scale |= {name: matrices[name].static_view() for name in matrices if name.startswith("split_k")}
    c = matrices["c"].view() if config.c else None
    arguments = (
        *(matrices[name].view() for name in "abd"),
        c,
        type(kernel).EpilogueArguments(**scale),
        package["options"](max_active_clusters=Int32(config.clusters)),
        None,
        cuda.CUstream(0),
    )
    host = compile_host(kernel, *arguments, arch=config.arch)
    (launch,) = capture(host, *arguments, sm_count=SM_COUNT)
    return Prepared(launch, matrices, _reference(config, matrices))


def _matrices(config: Config) -> dict[str, Matrix]:
    m, n, k = config.mnk
    batch = (config.batch,) if config.batch else ()
    out = {
        "a": Matrix.drawn((*batch, m, k), config.ab, seed=1),
        "b": Matrix.drawn((*batch, n, k), config.ab, seed=2),
        "d": Matrix.blanked((*batch, m, n), config.d),
    }
    if config.c:
        out["c"] = Matrix.drawn((*batch, m, n), config.d, seed=3)
    if dict(config.options).get("split_k", 1) > 1:
        out |= _split_buffers(config)
    return out


def _split_buffers(config: Config) -> dict[str, Matrix]:
    """A flag for each CTA's tile and room for its partial sums, in whole clusters."""
    pair = config.arch == "sm_100a" and config.cluster[0] % 2 == 0 and config.tile[0] in (128, 256)
    tile_m, tile_n = config.tile[0] // (2 if pair else 1), config.tile[1]
    units = (tile_m * config.cluster[0], tile_n * config.cluster[1])
    tiles_m, tiles_n = (
        -(-extent // unit) * count
        for extent, unit, count in zip(config.mnk, units, config.cluster, strict=False)
    )
    batch = max(1, config.batch)
    flags = Matrix.blanked((batch, tiles_m, tiles_n), "s32", order=(1, 2, 0), fill=0)
    sums = (batch, tiles_m, tiles_n, tile_m * tile_n)
    return {
        "split_k_semaphore": flags,
        "split_k_workspace": Matrix.blanked(sums, "f32", order=(3, 1, 2, 0)),
    }


def _reference(config: Config, matrices: dict[str, Matrix]) -> torch.Tensor:
    a, b = (matrices[name].values().double() for name in "ab")
    product = a @ b.transpose(-1, -2)
    return 0.5 * product + 2 * matrices["c"].values().double() if config.c else product


def _cases() -> Iterator[tuple[str, str, Config]]:
    """Name, kernel and configuration."""
    hopper, pair = partial(Config, "sm_90a"), partial(Config, "sm_100a", (256, 256), (2, 1))
    pingpong = (("pingpong", True),)
    serial = (("split_k", 2), ("split_k_mode", 0))
    static = (("use_clc_persistence", False),)
    name = "quack ping-pong"
    both = partial(hopper, (128, 192), options=pingpong)
    yield "pingpong", name, both((2, 1), (384, 576, 320))
    yield "pingpong_one_cluster", name, both((2, 1), (328, 584, 200), clusters=1)
    yield "pingpong_bf16", name, both((1, 1), (256, 384, 192), ab="bf16", d="bf16")
    yield "pingpong_c", name, both((1, 2), (256, 384, 192), c=True, d="f32", clusters=1)
    yield "pingpong_batch", name, both((2, 1), (264, 200, 136), batch=3, clusters=1)
    name = "quack cooperative"
    one = partial(hopper, (128, 256), (2, 1))
    yield "cooperative", name, one((512, 512, 192))
    yield "cooperative_bf16", name, one((264, 520, 200), ab="bf16", d="bf16", clusters=1)
    yield "cooperative_c", name, one((256, 512, 128), c=True)
    yield "cooperative_batch", name, one((136, 264, 72), batch=2)
    yield "cooperative_256", name, hopper((256, 128), (1, 1), (256, 256, 128))
    yield "cooperative_grid", name, one((256, 512, 192), options=(("is_persistent", False),))
    yield "cooperative_fp8", name, hopper((128, 128), (1, 1), (256, 256, 256), ab="e4m3")
    yield "cooperative_split_k", name, one((256, 256, 512), options=serial)
    yield (
        "pingpong_split_k",
        "quack ping-pong",
        both((2, 1), (256, 192, 512), options=pingpong + serial),
    )
    name = "quack CTA pairs"
    yield "pairs_clc", name, pair((512, 512, 256))
    yield "pairs_clc_ragged", name, pair((520, 520, 200))
    yield "pairs_static", name, pair((768, 520, 200), clusters=1, options=static)
    yield "pairs_bf16", name, pair((512, 256, 192), ab="bf16", d="bf16")
    yield "pairs_c", name, pair((512, 256, 128), c=True, d="f32")
    yield "pairs_batch", name, pair((264, 264, 136), batch=2)
    yield "pairs_multicast", name, Config("sm_100a", (256, 128), (4, 2), (512, 256, 192))
    yield "pairs_fp8", name, pair((512, 256, 256), ab="e4m3")
    yield "pairs_split_k", name, pair((512, 256, 512), options=serial)
    yield "pairs_of_64", name, Config("sm_100a", (128, 128), (2, 1), (512, 256, 256))
    name = "quack single CTAs"
    yield "singles", name, Config("sm_100a", (128, 128), (1, 1), (256, 256, 192), options=static)
    yield "singles_clc", name, Config("sm_100a", (128, 192), (1, 1), (384, 392, 136))


def cases() -> tuple[Case, ...]:
    """Every case of this package."""
    return tuple(
        Case(f"quack_{name}", kernel, config.arch, str(config), partial(prepare, config))
        for name, kernel, config in _cases()
    )
