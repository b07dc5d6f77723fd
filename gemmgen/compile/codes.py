"""What each C code means, at length (`gemmgen explain`)."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "C301": "The Python file is not there, cannot be read, or is not UTF-8 text.",
    "C302": "The file is not Python: the line that the parser stops at is shown.",
    "C303": "Importing the file fails, or has not ended after 30 s. An assert of a"
    " generated file that no longer holds after an edit ends here too, with its message.",
    "C304": "The file has no `@cute.jit def gemm(a, b, d, …)` that gemmgen could call. After a, b"
    " and d it may take `max_active_clusters` and `stream`.",
    "C305": "CuTe DSL, NVVM or ptxas refuses the kernel. The compiler's own words are shown, and"
    " the line of the file where they say which.",
    "C306": "The file's PTX has no kernel, or several. A generated file has one.",
    "C307": "ptxas spills registers to local memory, which costs more than it saves in a kernel"
    " like these: use fewer live values (smaller epilogue chunks) or more threads. `--allow spill`"
    " lets it pass.",
    "C308": "The kernel uses local memory without a spill: an array indexed by a run-time value, or"
    " a variable whose address is taken. `--allow local` lets it pass.",
    "C309": "ptxas ignores `setmaxnreg`: it does so unless the kernel says that one CTA an SM is"
    " enough (min blocks per SM 1). The roles then run with the registers of the launch."
    " `--allow setmaxnreg` lets it pass.",
    "C310": "The symbol of the kernel contains `cutlass`, which changes how ptxas treats it"
    " (CUTLASS issue 3389). Generated files set a prefix of their own. `--allow symbol` lets it"
    " pass.",
    "C311": "The package nvidia-cutlass-dsl is missing, or is another version than the one that the"
    " templates were written for. Install gemmgen with its `run` extra, under constraints.txt.",
    "C312": "The process that compiled this file died or overran its time. The last words it said"
    " are shown; `gemmgen compile FILE --jobs 0` compiles in the foreground.",
    "C313": "`gemm` makes no kernel launch, or several, for this problem. gemmgen runs files that"
    " make one.",
    "C314": "The host code of the file fails when it is called, before the launch.",
    "C315": "A shared library cannot be built: there is no C compiler to link with, the package"
    " apache-tvm-ffi is missing, the linker fails, or the folder cannot be written.",
    "C316": "ptxas serializes wgmma instructions: each then waits for the one before. Usually an"
    " accumulator register is touched between two of them. `--allow serialized` lets it pass.",
    "C317": "A built library is refused: a file of its set is missing or not the one that the"
    " manifest was written for, the source has changed since, or the device is of another"
    " architecture. Copy STEM.so, .json, .cubin and .py together, or build again with"
    " `gemmgen build`.",
}
