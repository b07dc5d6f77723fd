"""Records of every kind, told apart by what is in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from gemmgen.bench_records import BenchRecord, read_bench
from gemmgen.records import TestRecord
from gemmgen.report.load import load_records
from gemmgen.terms import Finding, GemmgenError

T = TypeVar("T")


@dataclass(frozen=True)
class Named(Generic[T]):
    """A record and the name of its file, which every figure from it gives."""

    name: str
    record: T


@dataclass
class Documents:
    """Records by kind, each kind in the order given.

    Attributes:
        profiles, sweeps, ablations: plain data, as `gemmgen profile`, `sweep` and `ablate` write.
        predictions: plain data, as `python -m gemmgen.run.predict` writes.
        others: files that are JSON records of a kind that the page does not show.
    """

    benches: list[Named[BenchRecord]] = field(default_factory=list)
    tests: list[Named[list[TestRecord]]] = field(default_factory=list)
    profiles: list[Named[dict[str, Any]]] = field(default_factory=list)
    sweeps: list[Named[dict[str, Any]]] = field(default_factory=list)
    ablations: list[Named[dict[str, Any]]] = field(default_factory=list)
    predictions: list[Named[dict[str, Any]]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def read_documents(paths: Sequence[Path], root: Path | None = None) -> Documents:
    """Read every record; a folder stands for the JSON files in it.

    Args:
        root: names are shown relative to it, where it has the file.

    Raises:
        GemmgenError: T470, a path is not there or has no JSON object; T411, T444, a record of a
            known kind is broken.
    """
    out = Documents()
    for path in _files(paths):
        _sort(path, _object(path), _shown(path, root), out)
    return out


def _files(paths: Sequence[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for path in paths:
        inside = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise _fault(f"no record in {path}", path)
        found.update(dict.fromkeys(inside))
    return list(found)


def _object(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise _fault(f"cannot read the record: {error.strerror}", path) from None
    except (ValueError, RecursionError):
        raise _fault("not JSON", path) from None
    if not isinstance(document, dict):
        raise _fault("not a record: no JSON object", path)
    return document


def _shown(path: Path, root: Path | None) -> str:
    whole = path.resolve()
    inside = root is not None and whole.is_relative_to(root.resolve())
    return whole.relative_to(root.resolve()).as_posix() if root and inside else path.name


def _sort(path: Path, document: dict[str, Any], name: str, out: Documents) -> None:
    if "tests" in document:
        out.tests.append(Named(name, load_records(path)))
    elif document.get("kind") == "ablate":
        _require(document, path, "kernel", "shapes", "device", "date")
        out.ablations.append(Named(name, document))
    elif "profiles" in document:
        out.profiles.append(Named(name, document))
    elif "predictions" in document:
        out.predictions.append(Named(name, document))
    elif "points" in document and "sets" in document:
        _require(document, path, "spec", "shapes", "finals", "device", "date")
        out.sweeps.append(Named(name, document))
    elif "copy_terabytes" in document:
        out.benches.append(Named(name, read_bench(path)))
    else:
        out.others.append(name)


def _require(document: dict[str, Any], path: Path, *keys: str) -> None:
    missing = [key for key in keys if key not in document]
    if missing:
        raise _fault(f"a record without {', '.join(missing)}", path)


def _fault(title: str, path: Path) -> GemmgenError:
    help_ = "name records: what --json of test, bench, profile, sweep and ablate writes"
    return GemmgenError([Finding("T470", title, file=str(path), help=help_)])
