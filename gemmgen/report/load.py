"""Records back from JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gemmgen.records import SCHEMA, CaseRecord, TestRecord
from gemmgen.terms import Finding, GemmgenError


def load_records(path: Path) -> list[TestRecord]:
    """What `gemmgen test --json` wrote to `path`.

    Raises:
        GemmgenError: T411, the file is not there, or is no such record.
    """
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']}, not {SCHEMA}")
        return [_record(entry) for entry in document["tests"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        help_ = "write it with `gemmgen test PATH --json FILE`"
        finding = Finding("T411", f"not a record of tests: {reason}", file=str(path), help=help_)
        raise GemmgenError([finding]) from None


def _record(entry: dict[str, Any]) -> TestRecord:
    cases = tuple(CaseRecord(**{**case, "shape": tuple(case["shape"])}) for case in entry["cases"])
    return TestRecord(**{**entry, "cases": cases})
