"""Diffs as readers want them."""

from __future__ import annotations

from gemmgen.render.diff import changed_regions, diff_texts

HEADER = "# spec: specs/a.toml\n# digest: sha256:0\n"
OLD = HEADER + '"""Doc."""\n\n# --- setup ---\nx = 1\ny = 2\n# --- mma ---\nz = 3\n'


def test_header_indentation_and_blank_lines_do_not_count() -> None:
    new = OLD.replace("sha256:0", "sha256:1").replace("y = 2", "\n    y = 2")
    assert diff_texts(OLD, new).changed == 0


def test_exact_comparison_counts_header_and_indentation() -> None:
    new = OLD.replace("sha256:0", "sha256:1").replace("y = 2", "    y = 2")
    result = diff_texts(OLD, new, ignore_indent=False, ignore_header=False)
    assert (result.inserted, result.deleted) == (2, 2)


def test_counts_are_insertions_and_deletions() -> None:
    new = OLD.replace("y = 2", "y = 4\ny = 5")
    result = diff_texts(OLD, new)
    assert (result.inserted, result.deleted, result.changed) == (2, 1, 3)


def test_diff_shows_lines_as_they_stand_with_their_numbers() -> None:
    new = OLD.replace("z = 3", "    z = 4")
    plus = [line for line in diff_texts(OLD, new).lines if line.mark == "+"]
    assert [(line.text, line.new) for line in plus] == [("    z = 4", 9)]


def test_gap_line_names_the_region() -> None:
    new = OLD.replace("z = 3", "z = 4")
    assert diff_texts(OLD, new, context=0).lines[0].text == "mma"


def test_changed_regions_names_only_regions_that_differ() -> None:
    assert changed_regions(OLD, OLD.replace("z = 3", "z = 4")) == {"mma"}
    assert changed_regions(OLD, OLD.replace("# --- mma ---\nz = 3\n", "")) == {"mma"}
    assert changed_regions(OLD, OLD.replace("Doc", "Other")) == set()
