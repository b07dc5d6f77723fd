"""A file that raises where nobody expects it, or ends its process, is a failed record."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import faults
import pytest

from gemmgen.cli.failures import report_failures
from gemmgen.compile import CompileError
from gemmgen.records import ExploreRecord, TestRecord
from gemmgen.run import many, verify
from gemmgen.run.explore import Exploration, explore_paths
from gemmgen.run.options import Options

IMPORT = r"import sys\n"
RULE = r"(def check_problem\(a, b, d\)[^\n]*:\n)"
SMALL = Options("emulate", ((128, 256, 16),))


def _records(paths: list[Path], jobs: int | None = None) -> list[TestRecord]:
    found = many.verify_paths(paths, SMALL, jobs)
    records = [event for event in found if isinstance(event, TestRecord)]
    return sorted(records, key=lambda record: record.file)


@pytest.mark.compile
def test_a_file_that_ends_its_process_takes_no_other_with_it(tmp_path: Path) -> None:
    dead = faults.faulty(tmp_path, "v4_swizzle", (IMPORT, "import os\nos._exit(7)\n"))
    good = faults.faulty(tmp_path, "v0_single_tile")
    first, second = _records([dead, good], 1)
    assert (first.file, first.status) == (str(good), "passed")
    assert len(first.cases) == 2
    assert (second.file, second.status) == (str(dead), "failed")
    assert second.message == "T415: v4_swizzle.py ended the process that tested it: exit code 7"


@pytest.mark.compile
def test_a_file_that_ends_its_process_ends_no_other_exploration(tmp_path: Path) -> None:
    dead = faults.faulty(tmp_path, "v4_swizzle", (IMPORT, "import os\nos._exit(7)\n"))
    good = faults.faulty(tmp_path, "v0_single_tile")
    options = Exploration(6, shapes=((128, 256, 16),))
    found = explore_paths([dead, good], options, 2)
    records = {step.file: step for step in found if isinstance(step, ExploreRecord)}
    assert records[str(good)].status == "passed"
    assert sum(records[str(good)].runs.values()) == 6
    assert records[str(dead)].status == "failed"
    assert records[str(dead)].message.startswith("T415: a worker process died while v4_swizzle.py")


@pytest.mark.compile
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import ctypes\nctypes.string_at(0)\n", "tested it: SIGSEGV"),
        ("import sys\nsys.exit(0)\n", "error[C303]: SystemExit: 0"),
        ("class Odd(BaseException): ...\nraise Odd('out')\n", "error[C303]: Odd: out"),
    ],
)
def test_a_file_alone_that_ends_its_process_is_a_failed_record(
    tmp_path: Path, text: str, said: str
) -> None:
    (record,) = _records([faults.faulty(tmp_path, "v4_swizzle", (IMPORT, text))])
    assert record.status == "failed"
    assert said in record.message


@pytest.mark.compile
@pytest.mark.parametrize("error", ["KeyError(3)", "SystemExit(0)"])
def test_a_rule_that_raises_what_is_no_refusal_fails_its_case(tmp_path: Path, error: str) -> None:
    path = faults.faulty(tmp_path, "v0_single_tile", (RULE, rf"\1    raise {error}\n"))
    record = verify.verify_file(path, SMALL)
    assert record.status == "failed"
    (case,) = record.cases
    assert f"error[C314]: {error.replace('(', ': ').rstrip(')')}" in case.message
    assert f"{path}:" in case.message


def test_a_refusal_without_words_is_a_refusal(tmp_path: Path) -> None:
    def check(*_: object) -> None:
        raise ValueError

    target = SimpleNamespace(check=check)
    problem = SimpleNamespace(a=None, b=None)
    assert verify._refusal(tmp_path, target, problem, None)  # type: ignore[arg-type]


def test_what_nobody_expects_is_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("why")

    monkeypatch.setattr(verify, "_verify", broken)
    monkeypatch.delenv("GEMMGEN_TRACEBACK", raising=False)
    record = verify.verify_file("a/v0.py", SMALL)
    assert (record.file, record.status) == ("a/v0.py", "failed")
    assert record.message == "T415: v0.py ended with KeyError: 'why'"
    monkeypatch.setenv("GEMMGEN_TRACEBACK", "1")
    with pytest.raises(KeyError):
        verify.verify_file("a/v0.py", SMALL)


def test_without_torch_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delenv("GEMMGEN_TRACEBACK", raising=False)

    def explored() -> None:
        next(explore_paths([Path("x.py")], Exploration(1)))

    def imported() -> None:
        __import__("torch.nn")

    for use in (lambda: many.verify_paths([Path("x.py")], SMALL), explored, imported):
        with pytest.raises(SystemExit) as left, report_failures():
            use()
        assert left.value.code == 2
        said = capsys.readouterr().err
        assert "error[T417]: the package torch is not installed" in said
        assert "pip install 'gemmgen[run]'" in said


def test_extents_of_a_rule_that_raises_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from gemmgen.compile import extents

    def check(*_: object) -> None:
        raise SystemExit(0)

    monkeypatch.setattr(extents, "element_type", lambda *_: float)
    module = SimpleNamespace(check_problem=check)
    file = SimpleNamespace(module=module, source=SimpleNamespace(path="k.py"))
    with pytest.raises(CompileError) as caught:
        extents.extents_of(file)  # type: ignore[arg-type]
    assert caught.value.code == "C314"
