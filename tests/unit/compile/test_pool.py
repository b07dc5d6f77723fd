"""Many files at once: outcomes as they finish, faults contained, results kept on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gemmgen.compile import compile_paths
from gemmgen.compile.pool import compile_one

pytest.importorskip("cutlass")
pytestmark = pytest.mark.compile

Edit = Callable[..., Path]
TOP = "THREADS = 64"


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_every_file_has_one_outcome_and_faults_stay_with_their_file(
    edited: Edit, plain: Path
) -> None:
    dies = edited(
        (TOP, TOP + "\nimport os, sys\nprint('last words', file=sys.stderr)\nos._exit(7)")
    )
    prints = edited((TOP, TOP + "\nprint('noise on stdout')"), name="prints.py")
    broken = edited((TOP, "THREADS ="), name="broken.py")
    before = children()
    outcomes = {o.path: o for o in compile_paths([dies, prints, broken, plain], 1)}
    assert children() == before
    assert set(outcomes) == {str(p) for p in (dies, prints, broken, plain)}
    for good in (plain, prints):
        found = outcomes[str(good)].compiled
        assert found is not None
        assert found.resources.threads == 64
    died, refused = outcomes[str(dies)].error, outcomes[str(broken)].error
    assert died is not None
    assert died.code == "C312"
    assert "status 7" in str(died)
    assert "last words" in str(died)
    assert refused is not None
    assert refused.code == "C302"


def test_a_file_that_never_ends_is_ended(edited: Edit) -> None:
    hangs = edited((TOP, TOP + "\nimport time\ntime.sleep(600)"))
    (outcome,) = compile_paths([hangs], 1, time_limit=3)
    assert outcome.error is not None
    assert "took longer than 3 s" in str(outcome.error)


def test_closing_early_leaves_no_process(plain: Path) -> None:
    before = children()
    outcomes = compile_paths([plain] * 50, 1)
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    assert children() == before


def test_a_kept_result_is_found_until_the_file_changes(
    edited: Edit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    path = edited()
    first = compile_one(path, cache=cache).compiled
    monkeypatch.setattr("gemmgen.compile.pool.compile_file", None)
    assert compile_one(path, cache=cache).compiled == first
    path.write_text(path.read_text() + "\n")
    assert compile_one(path, cache=cache).compiled is None


def test_a_damaged_entry_is_compiled_again(edited: Edit, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    path = edited()
    first = compile_one(path, cache=cache).compiled
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    for damage in (b"", whole[: len(whole) // 2], b"[]", b'{"path": "x"}'):
        entry.write_bytes(damage)
        assert compile_one(path, cache=cache).compiled == first
        assert entry.read_bytes() == whole


def test_a_result_kept_by_permission_needs_it_again(edited: Edit, tmp_path: Path) -> None:
    start = 'gemm_kernel.set_name_prefix("gemm_kernel", '
    path = edited((start, start.replace('"gemm_kernel"', '"cutlass_like"')))
    cache = tmp_path / "cache"
    assert compile_one(path, cache=cache, allow=frozenset({"symbol"})).error is None
    refused = compile_one(path, cache=cache).error
    assert refused is not None
    assert refused.code == "C310"
