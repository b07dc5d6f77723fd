"""What a compiled kernel uses, read from the ptxas log and the PTX.

ptxas itself is the source: it is the only place that tells spills from local arrays and that says
when ``setmaxnreg`` is ignored. cuobjdump's ``-res-usage`` has no spills; register counts in the
cubin agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gemmgen.compile.errors import failure
from gemmgen.compile.launch import entry_names
from gemmgen.terms import Finding

SPILL, LOCAL, SETMAXNREG, SERIALIZED, SYMBOL = (
    "spill",
    "local",
    "setmaxnreg",
    "serialized",
    "symbol",
)
ALLOWABLE = frozenset({SPILL, LOCAL, SETMAXNREG, SERIALIZED, SYMBOL})


@dataclass(frozen=True)
class Resources:
    """Resource usage of one kernel.

    Attributes:
        registers: per thread, as ptxas assigned them.
        spill_store_bytes, spill_load_bytes: per thread.
        local_bytes: local memory per thread, spills and arrays.
        static_smem_bytes, dynamic_smem_bytes: shared memory per CTA.
        named_barriers: barriers of ``bar.sync``, of 16.
        tmem_columns: the largest TMEM allocation, of 512 columns; None when it is not a constant.
        threads: per CTA, from ``.reqntid`` or ``.maxntid``; 0 when the PTX says neither.
        remarks: what else ptxas says about performance.
    """

    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    local_bytes: int
    static_smem_bytes: int
    dynamic_smem_bytes: int
    named_barriers: int
    tmem_columns: int | None
    threads: int
    remarks: tuple[str, ...] = ()


_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?([^\n]*)")
_SMEM = re.compile(r"(\d+) bytes smem")
_REMARK = re.compile(r"ptxas\s+(?:info|warning)\s*:\s*(\(C\d+\)[^\n]*)")
_THREADS = re.compile(r"\.(?:reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_ALLOC = re.compile(r"tcgen05\.alloc[\w.:]*\s+\[[^\]]*\],\s*([%\w]+)\s*;")


def read_resources(ptx: str, log: str, entry: str, dynamic_smem_bytes: int) -> Resources:
    """Resources of kernel ``entry`` from its PTX and the log that ``ptxas -v`` wrote for it.

    Raises:
        CompileError: C305, the log does not speak of the kernel.
    """
    start = log.find(f"Compiling entry function '{entry}'")
    frame, used = _FRAME.search(log, max(start, 0)), _USED.search(log, max(start, 0))
    if start < 0 or frame is None or used is None:
        raise failure("C305", f"ptxas said nothing about {entry}", source=log.strip())
    stack, stores, loads = map(int, frame.groups())
    smem = _SMEM.search(used[3])
    return Resources(
        registers=int(used[1]),
        spill_store_bytes=stores,
        spill_load_bytes=loads,
        local_bytes=stack,
        static_smem_bytes=int(smem[1]) if smem else 0,
        dynamic_smem_bytes=dynamic_smem_bytes,
        named_barriers=int(used[2] or 0),
        tmem_columns=tmem_columns(ptx),
        threads=_threads(ptx),
        remarks=tuple(dict.fromkeys(_REMARK.findall(log))),
    )


def tmem_columns(ptx: str) -> int | None:
    """Columns of the largest ``tcgen05.alloc`` (PTX ISA, tcgen05.alloc: nCols), 0 without one."""
    largest = 0
    for operand in _ALLOC.findall(ptx):
        if operand.startswith("%"):
            moves = re.findall(rf"mov\.[bu]32\s+{re.escape(operand)}\s*,\s*(\S+)\s*;", ptx)
            if len(moves) != 1:
                return None
            operand = moves[0]
        if not operand.isdecimal():
            return None
        largest = max(largest, int(operand))
    return largest


def _threads(ptx: str) -> int:
    match = _THREADS.search(ptx)
    if match is None:
        return 0
    x, y, z = (int(part or 1) for part in match.groups())
    return x * y * z


def single_entry(ptx: str, path: str) -> str:
    """Name of the only kernel in the PTX.

    Raises:
        CompileError: C306.
    """
    names = entry_names(ptx)
    if len(names) != 1:
        raise failure(
            "C306",
            f"{len(names)} kernels are compiled, and a generated file has one: {', '.join(names)}",
            file=path,
            help="launch one @cute.kernel in `gemm`",
        )
    return names[0]


def judge(
    resources: Resources,
    entry: str,
    path: str,
    allow: frozenset[str],
    lost: tuple[int, ...] = (),
) -> list[Finding]:
    """What makes a compiled kernel unfit, all at once; kinds named in ``allow`` pass.

    Args:
        lost: register counts that the PTX asks for and the machine code never sets.
    """
    faults = (
        *_memory_faults(resources),
        *_ptxas_faults(resources, lost),
        *_symbol_faults(entry),
    )
    return [replace(finding, file=path) for kind, finding in faults if kind not in allow]


def _memory_faults(resources: Resources) -> Iterator[tuple[str, Finding]]:
    stores, loads = resources.spill_store_bytes, resources.spill_load_bytes
    if stores or loads:
        yield (
            SPILL,
            Finding(
                code="C307",
                title=f"{stores} bytes of spill stores, {loads} bytes of spill loads per thread",
                source=f"{resources.registers} registers x {resources.threads} threads; "
                "a CTA has 65_536 registers, a thread at most 255",
                help="make the epilogue's chunk or the accumulator fragment smaller",
            ),
        )
    elif resources.local_bytes:
        yield (
            LOCAL,
            Finding(
                code="C308",
                title=f"{resources.local_bytes} bytes of local memory per thread",
                help="index register fragments with constants: unroll the loop over them",
            ),
        )


def _ptxas_faults(resources: Resources, lost: tuple[int, ...]) -> Iterator[tuple[str, Finding]]:
    ignored = [text for text in resources.remarks if "setmaxnreg" in text and "ignored" in text]
    if lost and not ignored:
        counts = ", ".join(map(str, lost))
        ignored = [f"setmaxnreg {counts} in the PTX, no such USETMAXREG in the cubin"]
    if ignored:
        yield (
            SETMAXNREG,
            Finding(
                code="C309",
                title="setmaxnreg has no effect",
                source="\n".join(ignored),
                help="launch with `min_blocks_per_mp=1`: ptxas then knows the registers at entry",
            ),
        )
    serialized = [text for text in resources.remarks if text.startswith("(C7510)")]
    if serialized:
        yield (
            SERIALIZED,
            Finding(
                code="C316",
                title="ptxas serializes the wgmma instructions",
                source="\n".join(serialized),
                help="touch the accumulator only between wgmma.wait_group and wgmma.fence",
            ),
        )


def _symbol_faults(entry: str) -> Iterator[tuple[str, Finding]]:
    if "cutlass" in entry.lower():
        yield (
            SYMBOL,
            Finding(
                code="C310",
                title='the symbol contains "cutlass", which changes how ptxas treats the kernel',
                source=entry,
                help='gemm_kernel.set_name_prefix("gemm_kernel", remove_cutlass_symbol=True, '
                "keep_mangled_name=False)",
            ),
        )


def checked_allow(allow: Iterable[str]) -> frozenset[str]:
    """Names of faults to let pass.

    Raises:
        ValueError: a name that is not in ``ALLOWABLE``.
    """
    names = frozenset(allow)
    unknown = sorted(names - ALLOWABLE)
    if unknown:
        known = ", ".join(sorted(ALLOWABLE))
        raise ValueError(f"cannot allow {', '.join(unknown)}; allowed are {known}")
    return names
