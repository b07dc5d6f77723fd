"""CUTLASS's CuTe DSL tutorial and dense GEMMs, where ``CUTLASS_DIR`` names a checkout."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from conformance.matrices import SM_COUNT, TYPES, Matrix
from conformance.model import Case, Prepared
from gemmgen.compile import capture, compile_host

VARIABLE = "CUTLASS_DIR"
_EXAMPLES = Path("examples", "python", "CuTeDSL")
TUTORIAL = "cute/blackwell/tutorial/tutorial_gemm/fp16_gemm_{}.py"
DENSE = "cute/{}/kernel/dense_gemm/{}.py"
CLUSTERS = 4  # that fit the device: persistent kernels walk several tiles


def folder() -> Path | None:
    """The examples' folder, or None."""
    checkout = os.environ.get(VARIABLE)
    found = Path(checkout) / _EXAMPLES if checkout else None
    return found if found is not None and found.is_dir() else None


def missing() -> str:
    """Why there are none; empty when there are."""
    if folder() is not None:
        return ""
    checkout = os.environ.get(VARIABLE)
    if not checkout:
        return f"{VARIABLE} is not set: name a checkout of CUTLASS"
    return f"{VARIABLE} = {checkout} has no {_EXAMPLES.as_posix()}"


def _load(path: str) -> Any:
    """An example as a module; they import siblings by their bare names."""
    root = folder()
    assert root is not None, missing()
    file = root / path
    name = f"cutlass_example_{file.stem}_{file.parts[-4]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.insert(0, str(file.parent))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(file.parent))
    return sys.modules[name]


def prepare_tutorial(
    version: str, mnk: tuple[int, int, int], constants: tuple[int, ...]
) -> Prepared:
    """Compile a step of the tutorial; `constants` are clusters that fit the device."""
    m, n, k = mnk
    matrices = {
        "a": Matrix.drawn((m, k), "f16", seed=1),
        "b": Matrix.drawn((n, k), "f16", seed=2),
        "d": Matrix.blanked((m, n), "f16"),
    }
    views = [matrix.view(32) for matrix in matrices.values()]
    if version in "01":
        views = [view.mark_compact_shape_dynamic(mode=1, divisibility=64) for view in views]
    host = compile_host(_load(TUTORIAL.format(version)).host_function, *views, *constants)
    (launch,) = capture(host, *views, sm_count=SM_COUNT)
    product = matrices["a"].values().double() @ matrices["b"].values().double().T
    return Prepared(launch, matrices, product)


@dataclass(frozen=True)
class Dense:
    """A dense GEMM of the examples and its problem.

    Attributes:
        family: ``hopper`` or ``blackwell``.
        file: stem of the example.
        ab, d, acc: element types, keys of `TYPES`.
        majors: the fastest modes of A, B and D.
        two: whether CTA pairs issue MMAs together.
        clusters: whether the call takes the number of clusters that fit the device.
        extra: more arguments of the kernel's class.
    """

    family: str
    file: str
    tile: tuple[int, int]
    cluster: tuple[int, int]
    mnk: tuple[int, int, int]
    ab: str = "f16"
    d: str = "f16"
    acc: str = "f32"
    majors: str = "kkn"
    two: bool = False
    clusters: bool = False
    tma_store: bool = True
    extra: tuple[Any, ...] = ()

    def __str__(self) -> str:
        words = [f"{self.tile[0]}x{self.tile[1]}", f"cluster {self.cluster[0]}x{self.cluster[1]}"]
        words += [f"{self.ab} to {self.d}", "x".join(map(str, self.mnk))]
        words += ["CTA pairs"] if self.two else []
        words += [f"sums in {self.acc}"] if self.acc == "f16" else []
        words += [f"{self.majors} major"] if self.majors != "kkn" else []
        words += [] if self.tma_store else ["no TMA store"]
        return ", ".join(words)

    @property
    def arch(self) -> str:
        return "sm_90a" if self.family == "hopper" else "sm_100a"


def prepare_dense(config: Dense) -> Prepared:
    """Compile a dense GEMM."""
    import cuda.bindings.driver as cuda

    m, n, k = config.mnk
    rows, columns = (2, 1, 0), (1, 2, 0)  # batch slowest, the first or the second mode fastest

    def shape(first: int, second: int, first_fastest: bool) -> tuple[int, int, int]:
        return (1, second, first) if first_fastest else (1, first, second)

    def order(first_fastest: bool) -> tuple[int, int, int]:
        return rows if first_fastest else columns

    flags = [first == fastest for first, fastest in zip("mnm", config.majors, strict=True)]
    matrices = {
        "a": Matrix.drawn(shape(m, k, flags[0]), config.ab, order=order(flags[0]), seed=1),
        "b": Matrix.drawn(shape(n, k, flags[1]), config.ab, order=order(flags[1]), seed=2),
        "d": Matrix.blanked(shape(m, n, flags[2]), config.d, order=order(flags[2])),
    }
    kernel = _kernel(config)
    views = [matrix.view() for matrix in matrices.values()]
    stream = cuda.CUstream(0)
    constants = (CLUSTERS,) if config.clusters else ()
    host = compile_host(kernel, *views, *constants, stream, arch=config.arch)
    (launch,) = capture(host, *views, stream, sm_count=SM_COUNT)
    a, b = (matrices[name].values()[..., 0].double() for name in "ab")
    return Prepared(launch, matrices, (a @ b.T)[..., None])


def _kernel(config: Dense) -> Any:
    module = _load(DENSE.format(config.family, config.file))
    names = [name for name in vars(module) if name.endswith("Kernel")]
    (kernel,) = [
        vars(module)[name] for name in names if vars(module)[name].__module__ == module.__name__
    ]
    acc = TYPES[config.acc][1]
    if config.family == "hopper":
        return kernel(acc, config.tile, config.cluster, *config.extra)
    return kernel(acc, config.two, config.tile, config.cluster, config.tma_store, *config.extra)


def _dense() -> Iterator[tuple[str, Dense]]:
    tile, one, small = (128, 128), (1, 1), (256, 256, 192)
    h = partial(Dense, "hopper", "dense_gemm")
    yield "h", h((128, 256), one, (256, 256, 256))
    yield "h_64", h((64, 64), (2, 1), (128, 256, 192))
    yield "h_2x2", h((128, 256), (2, 2), (256, 512, 192))
    yield "h_fp8", h(tile, one, (256, 256, 256), ab="e4m3")
    yield "h_mn_major", h(tile, one, small, majors="mnn")
    yield "h_f16_sums", h(tile, one, small, acc="f16")
    yield "h_s8", h(tile, one, small, ab="s8", d="s32", acc="s32")
    h = partial(Dense, "hopper", "dense_gemm_persistent", clusters=True, extra=(1, True))
    yield "h_persistent", h((128, 256), one, (512, 512, 256))
    yield "h_persistent_ragged", h(tile, (2, 1), (520, 504, 200))
    b = partial(Dense, "blackwell", "dense_gemm")
    yield "b", b(tile, one, (256, 256, 256))
    yield "b_64", b((64, 128), one, (256, 256, 256))
    yield "b_pairs_of_64", b(tile, (2, 1), (256, 256, 256), two=True)
    yield "b_stores", b(tile, one, (256, 256, 256), tma_store=False)
    yield "b_mn_major", b(tile, one, small, majors="mnm")
    yield "b_bf16", b(tile, one, small, ab="bf16", d="bf16")
    yield "b_tf32", b(tile, one, small, ab="tf32", d="f32")
    yield "b_fp8", b(tile, one, (256, 256, 256), ab="e4m3")
    yield "b_fp8_mn_major", b(tile, one, (256, 256, 256), ab="e5m2", d="f32", majors="mnn")
    yield "b_s8", b(tile, one, (256, 256, 256), ab="s8", d="s32", acc="s32")
    yield "b_f16_sums", b(tile, one, small, acc="f16")
    yield (
        "b_pipelined",
        Dense("blackwell", "dense_gemm_software_pipeline", tile, one, (256, 256, 320)),
    )
    b = partial(Dense, "blackwell", "dense_gemm_persistent", clusters=True)
    pairs = partial(b, two=True)
    yield "b_persistent", pairs((256, 128), (2, 1), (512, 512, 256))
    yield "b_persistent_2x2", pairs(tile, (2, 2), (512, 512, 256))
    yield "b_persistent_ragged", b((128, 64), (1, 2), (264, 520, 200))
    b = partial(Dense, "blackwell", "dense_gemm_persistent_prefetch", clusters=True)
    yield "b_prefetch", b((256, 128), (2, 1), (512, 512, 256), two=True)
    b = partial(Dense, "blackwell", "dense_gemm_persistent_dynamic")
    yield "b_dynamic", b((256, 128), (2, 1), (512, 512, 256), two=True)


_TUTORIAL = {
    "0": ((256, 512, 320), ()),
    "1": ((256, 512, 320), ()),
    "2": ((256, 512, 320), ()),
    "3": ((512, 512, 320), (CLUSTERS,)),
    "3_1": ((512, 512, 320), (CLUSTERS,)),
    "4": ((512, 512, 320), (2, CLUSTERS)),
    "5": ((512, 512, 320), (CLUSTERS,)),
}


def cases() -> tuple[Case, ...]:
    """Every case of the examples; they need `folder` when they are prepared."""
    tutorial = [
        Case(
            f"tutorial_{version}",
            "CUTLASS tutorial",
            "sm_100a",
            "f16 to f16, " + "x".join(map(str, mnk)),
            partial(prepare_tutorial, version, mnk, constants),
        )
        for version, (mnk, constants) in _TUTORIAL.items()
    ]
    dense = [
        Case(
            f"dense_{name}",
            f"CUTLASS {config.file}",
            config.arch,
            str(config),
            partial(prepare_dense, config),
        )
        for name, config in _dense()
    ]
    return (*tutorial, *dense)
