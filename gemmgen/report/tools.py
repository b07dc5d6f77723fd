"""What each T code means, at length (`gemmgen explain`)."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T401": "No folder here or above has a `specs` folder. A project is any folder with one; its"
    " kernels go to `generated` beside it. A spec can also be named by its path, anywhere.",
    "T402": "The Python file has no `# spec: …` line among its first lines, so nothing says which"
    " plan to hold it to. Files that `gemmgen render` writes have one; keep it in edited copies.",
    "T403": "The header of the file names a spec that is not there, neither in the project around"
    " the file nor in the one around the current folder.",
    "T404": "The path has no generated kernel: it is not there, or a folder without Python files.",
    "T405": "A file or folder cannot be read or written; the system's reason is shown.",
    "T406": "No spec belongs to the ladder of that name (`lineage.ladder`).",
    "T407": "The file has no pair of `<!-- ladder NAME -->` and `<!-- end ladder -->` lines for a"
    " table to stand between.",
    "T408": "No such code. Codes start with S (spec), P (plan and protocol), R (render), C"
    " (compile), E (emulation) or T (tool).",
    "T410": "A GPU was asked for, and this machine has none of the kernel's architecture: sm_90a"
    " kernels run on compute capability 9.0, sm_100a kernels on 10.0, and on nothing else.",
    "T411": "The file is not what `gemmgen test --json` writes, or of another version of it.",
    "T412": "The CUDA driver refuses something; its error number is shown.",
    "T413": "Not one cluster of this kernel fits the device at a time.",
    "T414": "A built library cannot be loaded: it needs apache-tvm-ffi and libcute_dsl_runtime.so.",
    "T420": "`--target` names work, a CTA or a warp that the kernel does not have."
    " `--timing starve` takes kinds of asynchronous work, comma separated (`tma_load`, `mma`, …);"
    " `--timing delay` takes the rank of a CTA in its cluster (`1`) or one of its warps (`1.4`).",
    "T499": "gemmgen itself failed where it should have given an error of its own: a bug. Set"
    " GEMMGEN_TRACEBACK=1 to see the traceback, and report it.",
    "T415": "Testing a file ended without a verdict. Either its process died: the file itself ended"
    " it, or the GPU's driver did for a fault of the kernel. Or an error came that nobody expected:"
    " GEMMGEN_TRACEBACK=1 shows where from. Other files are tested all the same.",
    "T416": "A kernel is silent on the GPU for too long: it hangs. Its process was ended;"
    " run the file in the emulator, which says who waits for what.",
    "T417": "Running kernels needs packages that gemmgen's other commands do without: torch and"
    " CuTe DSL. They come with the `run` extra: `pip install 'gemmgen[run]'`.",
    "T430": "`gemmgen profile` needs Nsight Compute's `ncu` on PATH, and does not find it.",
    "T431": "ncu may not read performance counters here: run as root, or let users read them.",
    "T432": "ncu failed, or saw no launch of the kernel. The text is what it printed last.",
    "T440": "The folder has no `sweep.json`, or one of another version. A sweep's folder is copied"
    " whole: specs, generated, libraries and the state.",
    "T441": "The folder holds a sweep of another spec, other values or other settings. The same"
    " command goes on with a sweep; another question needs another folder.",
    "T443": "Pictures of sweeps are drawn by Matplotlib: install the `plot` extra. Everything else"
    " of a sweep is there without it.",
    "T444": "The file is not what `gemmgen bench --json` writes, or of another version of it.",
    "T445": "Two records of `gemmgen bench` say nothing about each other: another device, or no"
    " kernel at a shape that both have.",
    "T450": "`--executor dask` needs the package distributed: install the `dask` extra.",
    "T451": "The Dask scheduler does not answer at that address.",
    "T452": "A measurement asks for a worker with the resource GPU, so that a GPU has one at a"
    " time. Start one worker a GPU, with its own CUDA_VISIBLE_DEVICES, `--nthreads 1` and"
    ' `--resources "GPU=1"`.',
    "T460": "No ablation of that name. The ablations are listed by `gemmgen ablate SPEC`.",
    "T461": "The ablation does not apply to this kernel: what it would take away or double is not"
    " there, or the rest cannot be without it. The text says which.",
    "T462": "The kernel does not take the size at which its ablations were to be timed; the text is"
    " the kernel's own rule.",
    "T470": "A file that `gemmgen report` is to show is not there, or is no JSON record, or lacks"
    " what records of its kind have.",
    "T471": "No figure of that name comes from these records; `gemmgen report --figures DIR` writes"
    " all that do.",
    "T472": "PNG files are made by a headless Chromium, and there is none here, or it failed. SVG"
    " files do not need it: `--no-png`.",
}
