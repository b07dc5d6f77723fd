"""Neighbours stand side by side: what was removed beside what was added for it."""

from __future__ import annotations

from gemmgen.render.diff import DiffLine, diff_texts
from gemmgen.report.page.diffs import Step, side_by_side, step_html

OLD = "# --- setup ---\na = 1\nb = 2\nc = 3\n"
NEW = "# --- setup ---\na = 1\nb = 20\nx < y\nc = 3\n"


def test_removed_lines_stand_beside_added_ones() -> None:
    lines = [DiffLine("-", "b = 2", 3), DiffLine("+", "b = 20", 0, 3), DiffLine("+", "x", 0, 4)]
    texts = [(old and old.text, new and new.text) for old, new in side_by_side(lines)]
    assert texts == [("b = 2", "b = 20"), (None, "x")]


def test_a_step_is_folded_counts_its_lines_and_escapes_code() -> None:
    step = Step("l", "v0", "v1", "Title", "what it does", diff_texts(OLD, NEW))
    html = step_html(step)
    assert html.startswith('<details class="step"><summary>')
    assert "2 added, 1 removed" in html
    assert "x &lt; y" in html
    assert "<summary>setup" in html
