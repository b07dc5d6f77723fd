"""TOML to `Spec`, or every error at once."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from gemmgen.spec.model import Spec, namesake
from gemmgen.spec.read import parse_source, read_text
from gemmgen.spec.source import Source
from gemmgen.terms import Finding, GemmgenError

MAX_FINDINGS = 25
MAX_ERRORS = 500


def load_spec(path: Path | str) -> Spec:
    """The spec in the file at `path`.

    Raises:
        GemmgenError: with every finding of codes S100 to S119, in file order.
    """
    return load(path)[0]


def parse_spec(text: str, file: str = "<text>") -> Spec:
    """The spec that `text` holds; `file` is the name that errors give it.

    Raises:
        GemmgenError: as `load_spec`; the name must be the stem of a `file` that ends in ``.toml``.
    """
    return parse(text, file)[0]


def load(path: Path | str) -> tuple[Spec, Source]:
    """The spec at `path` and its text, which gives lines to later findings."""
    return parse(read_text(path), str(path))


def parse(text: str, file: str = "<text>") -> tuple[Spec, Source]:
    """As `load`, from text."""
    source = parse_source(text, file)
    findings = _naming(source)
    spec = None
    try:
        spec = Spec.model_validate(source.data)
    except ValidationError as error:
        from gemmgen.spec.errors import to_finding, without_echoes

        errors = error.errors(include_url=False)[:MAX_ERRORS]
        findings += without_echoes([to_finding(e) for e in errors])
    if spec is None or findings:
        findings = source.place_all(dict.fromkeys(findings))
        raise GemmgenError(_shorten(findings, file))
    return spec, source


def _naming(source: Source) -> list[Finding]:
    """Rules between names: the file's, the spec's, its predecessor's, and those of barriers."""
    out = _namesakes(source.data.get("barriers"))
    name = source.data.get("name")
    stem = Path(source.file).stem
    lineage = source.data.get("lineage")
    if source.file.endswith(".toml") and isinstance(name, str) and name != stem:
        title = f"the name is not the file's, `{stem}`"
        out.append(Finding("S107", title, "name", help="change the one or the other"))
    if isinstance(name, str) and isinstance(lineage, dict) and lineage.get("predecessor") == name:
        help_ = "name the rung below, or leave the key out in the first one"
        out.append(
            Finding(
                "S111", "a version cannot be its own predecessor", "lineage.predecessor", help=help_
            )
        )
    return out


def _namesakes(barriers: object) -> list[Finding]:
    """Barriers with one name, found although something else in them may be wrong too."""
    if not isinstance(barriers, list):
        return []
    names = [b.get("name") if isinstance(b, dict) else None for b in barriers]
    out = []
    for i, name in enumerate(names):
        if isinstance(name, str) and (first := names.index(name)) != i:
            title, help_ = namesake(name, first, i)
            out.append(Finding("S109", title, f"barriers[{i}].name", help=help_))
    return out


def _shorten(findings: list[Finding], file: str) -> list[Finding]:
    if len(findings) <= MAX_FINDINGS:
        return findings
    more = f"and {len(findings) - MAX_FINDINGS} more findings"
    return [*findings[:MAX_FINDINGS], Finding("S119", more, file=file, help="correct these first")]
