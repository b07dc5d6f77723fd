"""What a worker process runs: a module of its own, for ``spawn`` does not import a package's
``__main__``.
"""

from __future__ import annotations

import warnings

from conformance import cutlass_examples, quack
from conformance.runs import Row, run_case


def run(job: tuple[str, tuple[str, ...], bool]) -> Row:
    """Run a case, given its name, the policies and whether the race detector listens."""
    name, policies, races = job
    warnings.simplefilter("ignore")
    cases = {case.name: case for case in (*quack.cases(), *cutlass_examples.cases())}
    return run_case(cases[name], policies, races=races)
