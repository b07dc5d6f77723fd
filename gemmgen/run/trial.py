"""A generated file, compiled once and run many times in the emulator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gemmgen.compile import KernelUnderTest
from gemmgen.emulate import Listener, Settings
from gemmgen.records import CaseRecord, Triple
from gemmgen.run.runners import EmulateRunner
from gemmgen.run.subject import Subject, read_subject
from gemmgen.run.verify import Target, run_case

WRONG = "wrong result"
_CODE = re.compile(r"error\[(?P<code>\w+)\]")


class Trial:
    """Runs schedules of one file.

    Args:
        path: the generated file.
        allow: compile findings to let pass, by name.

    Raises:
        GemmgenError: no generated file, its spec is not there, or it does not compile.
    """

    subject: Subject
    kernel: KernelUnderTest

    def __init__(self, path: Path, allow: Iterable[str] = ()) -> None:
        self.subject = read_subject(path)
        self.kernel = KernelUnderTest(path, allow=allow)

    def run(
        self, shape: Triple, settings: Settings, listeners: Sequence[Listener] = ()
    ) -> CaseRecord:
        """Run `shape` with exact inputs made from the seed, and compare with the reference.

        Equal arguments give an equal run: the same steps in the same order, and the same record
        but for `seconds`.
        """
        runner = EmulateRunner(self.kernel, self.subject.plan, settings, listeners)
        target = Target(self.kernel.check, runner, {})
        return run_case(self.subject, target, shape, "exact", settings)


def failure_code(case: CaseRecord) -> str:
    """The code of the error that a failed case reports, or `WRONG`."""
    found = _CODE.search(case.message)
    return found["code"] if found else WRONG
