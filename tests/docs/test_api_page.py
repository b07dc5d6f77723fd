"""The code of docs/api.md runs, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "api.md"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:```text\n(?P<output>.*?)```\n)?", re.DOTALL)


@pytest.mark.compile
def test_the_page_prints_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = PAGE.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(page))
    assert len(blocks) >= 8
    names: dict[str, Any] = {}
    for block in blocks:
        line = page[: block.start("code")].count("\n")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = compile("\n" * line + block["code"], str(PAGE), "exec")
            exec(code, names)
        assert printed.getvalue() == (block["output"] or ""), f"docs/api.md, line {line + 1}"
