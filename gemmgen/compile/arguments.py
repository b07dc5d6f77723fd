"""Arguments for a generated file's ``gemm``: fake ones to compile with, real ones to call with."""

from __future__ import annotations

from typing import Any

from gemmgen.compile.errors import failure
from gemmgen.compile.source import TENSORS, LoadedFile

ALIGNMENT = 16  # bytes: what TMA asks of a base address (PTX ISA, tensor-map base address)
PROBE = 16_384  # rows and columns of the matrices that the probe launch pretends to have


def element_type(file: LoadedFile, name: str) -> Any:
    """CuTe type of a matrix: the file's ``A_DTYPE``, ``B_DTYPE`` or ``D_DTYPE``, else Float16."""
    import cutlass

    return getattr(file.module, f"{name.upper()}_DTYPE", cutlass.Float16)


def fake_arguments(file: LoadedFile) -> list[Any]:
    """Arguments for one compile that serves every shape.

    Row-major matrices with run-time extents and row stride, both in the unit that keeps rows
    16-byte aligned.
    """
    import cuda.bindings.driver as cuda
    import cutlass

    def matrix(name: str) -> Any:
        dtype = element_type(file, name)
        return _fake_matrix(dtype, _extent(1), _extent(_unit(dtype)))

    extras = {"max_active_clusters": cutlass.Int32(1), "stream": cuda.CUstream(0)}
    return [matrix(name) if name in TENSORS else extras[name] for name in file.parameters]


def aot_arguments(file: LoadedFile) -> list[Any]:
    """Like :func:`fake_arguments`, for TVM-FFI.

    It checks that extents of the same name are equal, and takes the caller's current stream.
    """
    import cutlass
    from cutlass.cute.runtime import make_fake_stream

    a, b, d = (element_type(file, name) for name in TENSORS)
    m, n, k = _extent(1), _extent(_unit(d)), _extent(max(_unit(a), _unit(b)))
    given = {
        "a": _fake_matrix(a, m, k),
        "b": _fake_matrix(b, n, k),
        "d": _fake_matrix(d, m, n),
        "max_active_clusters": cutlass.Int32(1),
        "stream": make_fake_stream(use_tvm_ffi_env_stream=True),
    }
    return [given[name] for name in file.parameters]


def _unit(dtype: Any) -> int:
    """Elements of ``dtype`` in 16 bytes."""
    return int(ALIGNMENT * 8 // dtype.width)


def _extent(unit: int) -> Any:
    import cutlass.cute as cute

    return cute.sym_int(divisibility=unit)


def _fake_matrix(dtype: Any, rows: Any, columns: Any) -> Any:
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_fake_tensor

    stride = (cute.sym_int64(divisibility=_unit(dtype)), 1)
    return make_fake_tensor(dtype, (rows, columns), stride=stride, assumed_align=ALIGNMENT)


def call_arguments(
    file: LoadedFile, a: Any, b: Any, d: Any, *, clusters: int, stream: int
) -> list[Any]:
    """Arguments for one call; ``a``, ``b``, ``d`` are CPU tensors of torch or numpy."""
    import cuda.bindings.driver as cuda
    import cutlass

    given = {
        "a": _view(file, "a", a),
        "b": _view(file, "b", b),
        "d": _view(file, "d", d),
        "max_active_clusters": cutlass.Int32(clusters),
        "stream": cuda.CUstream(stream),
    }
    return [given[name] for name in file.parameters]


def probe_arguments(file: LoadedFile) -> list[Any]:
    """Arguments of a launch that only shows its geometry: large matrices over a few bytes."""
    import numpy as np

    widths = {4: np.int8, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
    matrices = []
    for name in TENSORS:
        cell = np.zeros(64, dtype=widths[element_type(file, name).width])
        row = PROBE * cell.itemsize
        matrices.append(np.lib.stride_tricks.as_strided(cell, (PROBE, PROBE), (row, cell.itemsize)))
    return call_arguments(file, *matrices, clusters=1, stream=0)


def _view(file: LoadedFile, name: str, array: Any) -> Any:
    """A CuTe tensor over ``array``'s memory; integers stand for types that DLPack lacks."""
    from cutlass.cute.runtime import from_dlpack

    _check_layout(file, name, array)
    dtype = element_type(file, name)
    bits = str(array.dtype)
    if "float8" in bits:
        import torch

        array = array.view(torch.uint8)
    tensor = from_dlpack(array, assumed_align=ALIGNMENT).mark_layout_dynamic(leading_dim=1)
    if tensor.element_type is not dtype:
        if tensor.element_type.width != dtype.width or ("float" in bits and dtype.width > 8):
            raise failure(
                "C314",
                f"matrix {name} is {bits}, and the kernel takes {dtype}",
                file=file.source.path,
            )
        tensor.element_type = dtype
    return tensor


def _check_layout(file: LoadedFile, name: str, array: Any) -> None:
    """Refuse what the compiled host code would misread.

    It takes every row stride as a run-time value, and the DSL passes none for a stride of 0, which
    it holds to be static: the kernel would see whatever lies there (measured with 4.8.1).
    """
    strides = _element_strides(array)
    shape = tuple(getattr(array, "shape", ()))
    reason = ""
    if strides is None or len(shape) != 2:
        reason = "is not a 2-D array of torch or numpy"
    elif shape[1] > 1 and strides[1] != 1:
        reason = f"has strides {strides}: its rows are not contiguous"
    elif shape[0] > 1 and strides[0] == 0:
        reason = f"has strides {strides}: its rows are one and the same"
    if reason:
        raise failure("C314", f"matrix {name} {reason}", file=file.source.path)


def _element_strides(array: Any) -> tuple[int, ...] | None:
    if hasattr(array, "stride"):
        return tuple(array.stride())
    if hasattr(array, "strides"):
        return tuple(stride // array.itemsize for stride in array.strides)
    return None
