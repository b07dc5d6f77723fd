from __future__ import annotations

import pytest

from gemmgen.arch import facts
from gemmgen.terms import Arch, Dtype, MmaKind, Swizzle


def legal(arch: Arch, kind: MmaKind, group: int, m: int, n: int, k: int, dtype: Dtype) -> bool:
    return any(rule.allows(m, n, k, dtype) for rule in facts(arch).rules(kind, group, dtype))


@pytest.mark.parametrize("arch", list(Arch))
def test_every_architecture_has_227_kib_of_shared_memory_a_cta(arch: Arch) -> None:
    assert facts(arch).smem_per_cta == 232_448


def test_only_sm_100a_has_tensor_memory() -> None:
    tmem = facts(Arch.SM100A).tmem
    assert tmem is not None
    assert (tmem.lanes, tmem.columns, tmem.alloc_min) == (128, 512, 32)
    assert facts(Arch.SM90A).tmem is None


@pytest.mark.parametrize(
    ("group", "m", "n"),
    [(1, 128, 256), (1, 128, 16), (1, 64, 8), (2, 256, 256), (2, 128, 16), (2, 256, 16)],
)
def test_tcgen05_shapes_of_the_isa_are_legal(group: int, m: int, n: int) -> None:
    assert legal(Arch.SM100A, MmaKind.TCGEN05, group, m, n, 16, Dtype.F16)


@pytest.mark.parametrize(
    ("group", "m", "n", "k"),
    [
        (1, 128, 264, 16),
        (1, 128, 8, 16),
        (1, 128, 250, 16),
        (1, 256, 256, 16),
        (1, 96, 64, 16),
        (2, 64, 64, 16),
        (2, 256, 24, 16),
        (1, 128, 256, 8),
        (1, 128, 256, 32),
        (1, 128, 0, 16),
    ],
)
def test_tcgen05_shapes_outside_the_isa_are_not(group: int, m: int, n: int, k: int) -> None:
    assert not legal(Arch.SM100A, MmaKind.TCGEN05, group, m, n, k, Dtype.F16)


@pytest.mark.parametrize(("dtype", "k"), [(Dtype.BF16, 16), (Dtype.TF32, 8), (Dtype.E4M3, 32)])
@pytest.mark.parametrize(
    ("arch", "kind", "m"), [(Arch.SM90A, MmaKind.WGMMA, 64), (Arch.SM100A, MmaKind.TCGEN05, 128)]
)
def test_k_is_32_bytes_for_every_type(
    arch: Arch, kind: MmaKind, m: int, dtype: Dtype, k: int
) -> None:
    assert legal(arch, kind, 1, m, 128, k, dtype)
    assert not legal(arch, kind, 1, m, 128, 2 * k, dtype)


def test_each_architecture_has_its_own_instruction_only() -> None:
    assert not facts(Arch.SM90A).rules(MmaKind.TCGEN05, 1, Dtype.F16)
    assert not facts(Arch.SM100A).rules(MmaKind.WGMMA, 1, Dtype.F16)
    assert not facts(Arch.SM90A).rules(MmaKind.WGMMA, 2, Dtype.F16)


def test_a_swizzled_buffer_starts_where_the_pattern_does() -> None:
    rows = 8
    for swizzle in (Swizzle.B32, Swizzle.B64, Swizzle.B128):
        assert facts(Arch.SM100A).alignment(swizzle) == rows * swizzle.span_bytes


def test_every_rule_names_its_document() -> None:
    for arch in Arch:
        assert all("PTX ISA" in rule.source for rule in facts(arch).mma)
