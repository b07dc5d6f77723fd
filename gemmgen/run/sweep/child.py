"""The process that runs a batch on a GPU: ``python -m gemmgen.run.sweep.child JOB``.

Events are lines of JSON on stdout; whatever else is printed goes to stderr. Each kernel is named
before it runs, so that who watches knows which one hangs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from gemmgen.gpu.device import describe_device
from gemmgen.gpu.kernel import GpuKernel, load_library
from gemmgen.gpu.timing import Plan
from gemmgen.run.bench import bench
from gemmgen.run.options import Options
from gemmgen.run.subject import read_subject
from gemmgen.run.sweep.state import SETTLE
from gemmgen.run.sweep.tasks import few_shapes
from gemmgen.run.verify import verify_file
from gemmgen.terms import GemmgenError

Tell = Callable[..., None]
MACHINE = ("T410", "T412", "T414")  # codes of a machine that runs no kernel, whichever it is
UNUSED = (1.0, 1.0)  # ceilings of a roofline that a sweep does not report


def run(job: dict[str, Any], tell: Tell) -> None:
    """Verify and time the kernels of `job`, and tell of everything as it happens."""
    tell("device", device=asdict(describe_device()))
    shapes = [tuple(shape) for shape in job["shapes"]]
    kernels = []
    for name in job["names"]:
        tell("kernel", name=name)
        kernel = _ready(name, job, shapes, tell)
        if kernel is not None:
            kernels.append(kernel)
    if kernels:
        tell("timing")
        plan = Plan(job["rounds"], job["slice_ms"], settle_ms=SETTLE * job["slice_ms"])
        bench(kernels, shapes, plan, lambda record: tell("timed", record=asdict(record)), UNUSED)
    tell("done")


def _ready(name: str, job: dict[str, Any], shapes: list[Any], tell: Tell) -> GpuKernel | None:
    """The kernel, when it may be timed; its results are compared with torch here."""
    source = Path(job["kernels"]) / f"{name}.py"
    libraries = Path(job["libraries"])
    try:
        kernel = load_library(libraries / f"{name}.so", source=source)
        verdict = {"status": "passed", "cases": 0, "message": ""}
        if job["verify"] != "none" and name not in job["checked"]:
            verdict = _verify(source, libraries, quick=job["verify"] == "quick")
        if verdict["status"] == "passed":
            verdict["message"] = _wrong_at(kernel, shapes)
    except GemmgenError as error:
        if error.findings[0].code in MACHINE:
            tell("unfit", reason=str(error))
            sys.exit(1)
        verdict = {"status": "failed", "cases": 0, "message": str(error)}
    except (RuntimeError, OSError) as error:
        verdict = {"status": "failed", "cases": 0, "message": str(error)}
    if verdict["message"]:
        verdict["status"] = "failed"
    if name not in job["checked"] or verdict["status"] == "failed":
        tell("verified", name=name, verified=verdict)
    return kernel if verdict["status"] == "passed" else None


def _verify(source: Path, libraries: Path, *, quick: bool) -> dict[str, Any]:
    shapes = few_shapes(read_subject(source).plan) if quick else ()
    record = verify_file(source, Options(runner="gpu", shapes=shapes, libraries=libraries))
    passed = record.status == "passed"
    messages = (record.message, *(case.message for case in record.cases if not passed))
    return {
        "status": "passed" if passed else "failed",
        "cases": len(record.cases),
        "message": "" if passed else next(filter(None, messages), record.status),
    }


def _wrong_at(kernel: GpuKernel, shapes: list[Any]) -> str:
    """What is wrong with the kernel at the timed shapes; it may refuse some, not all."""
    refusals = []
    for m, n, k in shapes:
        a, b = (torch.randn((rows, k), device="cuda").mul_(0.1).half() for rows in (m, n))
        d = torch.full((m, n), torch.nan, device="cuda", dtype=torch.float16)
        try:
            kernel.check(a, b, d)
        except ValueError as error:
            refusals.append(str(error))
            continue
        kernel(a, b, d)
        want = torch.mm(a, b.T).float()
        error_ = float((d.float() - want).abs().max() / want.abs().max())
        if not error_ <= 2e-3:
            return f"wrong at {m}x{n}x{k}: relative error {error_:.2g}"
    return refusals[0] if len(refusals) == len(shapes) else ""


def main() -> None:
    """Keep stdout for events alone, then run the job."""
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def tell(event: str, **fields: Any) -> None:
        events.write(json.dumps({"event": event, **fields}) + "\n")
        events.flush()

    run(json.loads(Path(sys.argv[1]).read_text()), tell)


if __name__ == "__main__":
    main()
