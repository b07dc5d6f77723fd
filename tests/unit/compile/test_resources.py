"""Reading ptxas logs and PTX, and what makes a kernel unfit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemmgen.compile import CompileError
from gemmgen.compile.resources import (
    ALLOWABLE,
    Resources,
    checked_allow,
    judge,
    read_resources,
    single_entry,
    tmem_columns,
)

LOG = """ptxas output: ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_100a'
ptxas info    : Function properties for other
ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 40 registers, used 9 barriers
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine it.
ptxas info    : Compiling entry function 'gemm_kernel_0' for 'sm_100a'
ptxas info    : Function properties for gemm_kernel_0
ptxas         .     1000 bytes stack frame, 1752 bytes spill stores, 1904 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 1000 bytes cumulative stack size, 48 bytes smem
ptxas info    : Compile time = 167.540 ms"""

PTX = """
.entry gemm_kernel_0()
.reqntid 32, 4, 1
{
    mov.b32     %r7, 256;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], %r7;
}
"""

CLEAN = Resources(
    registers=94,
    spill_store_bytes=0,
    spill_load_bytes=0,
    local_bytes=0,
    static_smem_bytes=0,
    dynamic_smem_bytes=197_632,
    named_barriers=1,
    tmem_columns=256,
    threads=128,
)


def codes(resources: Resources, entry: str = "gemm_kernel_0", *allow: str) -> list[str]:
    return [finding.code for finding in judge(resources, entry, "v.py", frozenset(allow))]


def test_figures_are_those_of_the_named_kernel() -> None:
    found = read_resources(PTX, LOG, "gemm_kernel_0", 1024)
    assert found == Resources(
        registers=64,
        spill_store_bytes=1752,
        spill_load_bytes=1904,
        local_bytes=1000,
        static_smem_bytes=48,
        dynamic_smem_bytes=1024,
        named_barriers=1,
        tmem_columns=256,
        threads=128,
        remarks=found.remarks,
    )
    assert "setmaxnreg" in found.remarks[0]


def test_a_log_that_is_silent_about_the_kernel_is_an_error_not_zeros() -> None:
    with pytest.raises(CompileError) as caught:
        read_resources(PTX, "", "gemm_kernel_0", 0)
    assert caught.value.code == "C305"


@pytest.mark.parametrize(
    ("ptx", "columns"),
    [
        ("", 0),
        (PTX, 256),
        (PTX + "tcgen05.alloc.cta_group::2.sync.aligned.b32 [%r1], 512;", 512),
        (PTX + "mov.b32 %r7, 128;", None),
        (PTX.replace("256", "%r9"), None),
    ],
)
def test_tmem_columns_are_read_only_from_constants(ptx: str, columns: int | None) -> None:
    assert tmem_columns(ptx) == columns


def test_a_clean_kernel_has_no_findings() -> None:
    assert codes(CLEAN) == []


FAULTS = [
    ("spill", replace(CLEAN, spill_store_bytes=4, local_bytes=8), "gemm_kernel_0", "C307"),
    ("spill", replace(CLEAN, spill_load_bytes=4, local_bytes=8), "gemm_kernel_0", "C307"),
    ("local", replace(CLEAN, local_bytes=256), "gemm_kernel_0", "C308"),
    (
        "setmaxnreg",
        replace(CLEAN, remarks=("(C7508) Potential Performance Loss: 'setmaxnreg' ignored; x",)),
        "gemm_kernel_0",
        "C309",
    ),
    ("symbol", CLEAN, "kernel_cutlass_gemm_0", "C310"),
    (
        "serialized",
        replace(CLEAN, remarks=("(C7510) Potential Performance Loss: wgmma … serialized",)),
        "gemm_kernel_0",
        "C316",
    ),
]


@pytest.mark.parametrize(("kind", "resources", "entry", "code"), FAULTS)
def test_each_fault_is_found_and_passes_only_by_its_own_name(
    kind: str, resources: Resources, entry: str, code: str
) -> None:
    assert codes(resources, entry) == [code]
    assert codes(resources, entry, kind) == []
    assert codes(resources, entry, *(ALLOWABLE - {kind})) == [code]


def test_several_faults_come_all_at_once() -> None:
    assert codes(replace(CLEAN, spill_load_bytes=4), "x_cutlass_y") == ["C307", "C310"]


def test_a_spill_error_gives_its_figures() -> None:
    (finding,) = judge(
        replace(CLEAN, spill_store_bytes=16, spill_load_bytes=24), "k", "v.py", frozenset()
    )
    assert "16 bytes of spill stores, 24 bytes of spill loads" in str(finding)
    assert "94 registers x 128 threads" in str(finding)


def test_an_unknown_name_to_allow_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot allow spills; allowed are local"):
        checked_allow(["spills"])


def test_two_kernels_in_one_file_are_refused() -> None:
    with pytest.raises(CompileError) as caught:
        single_entry(PTX + PTX.replace("kernel_0", "kernel_1"), "v.py")
    assert caught.value.code == "C306"
    assert "gemm_kernel_0, gemm_kernel_1" in str(caught.value)
