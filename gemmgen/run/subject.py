"""A generated file (or a hand-edited copy) and the plan behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gemmgen.files import project_root
from gemmgen.plan import Plan, make_plan
from gemmgen.spec import load_spec
from gemmgen.terms import Finding, GemmgenError

_FIELD = re.compile(r"^# (?P<key>spec|digest): (?P<value>\S+)$")


@dataclass(frozen=True)
class Subject:
    """What `gemmgen test` works on.

    Attributes:
        path: the Python file.
        spec: path of its spec as its header shows it.
        digest: digest of the resolved spec that it was rendered from.
        plan: the plan of that spec as it is now.
    """

    path: Path
    spec: str
    digest: str
    plan: Plan


def read_subject(path: Path) -> Subject:
    """Read the header of `path` and load the spec that it names.

    Raises:
        GemmgenError: what `spec_of` raises; or what the spec is refused for.
    """
    fields = _header(path)
    spec = _find(path, fields)
    return Subject(path, fields["spec"], fields.get("digest", ""), make_plan(load_spec(spec)))


def spec_of(path: Path) -> Path:
    """The spec that the header of `path` names.

    It is looked for from the file's own project, then from the current folder's, then beside the
    file.

    Raises:
        GemmgenError: T402, no header; T403, the spec is not there.
    """
    return _find(path, _header(path))


def digest_of(path: Path) -> str:
    """Digest of the resolved spec as the header of `path` names it; empty without one."""
    return _header(path).get("digest", "")


def _find(path: Path, fields: dict[str, str]) -> Path:
    if "spec" not in fields:
        title = "not a generated file: no `# spec: …` line in its header"
        help_ = "keep the header of the file that you copied, or render a spec"
        raise GemmgenError([Finding("T402", title, file=str(path), help=help_)])
    roots = (project_root(path.parent), project_root(Path.cwd()))
    places = [root / fields["spec"] for root in roots if root is not None]
    for spec in (*places, path.parent / Path(fields["spec"]).name):
        if spec.is_file():
            return spec
    title = f"its spec {fields['spec']} is not there"
    help_ = "run inside the project that has the spec, or keep the spec beside the copy"
    raise GemmgenError([Finding("T403", title, file=str(path), help=help_)])


def _header(path: Path) -> dict[str, str]:
    """Fields of the header of `path`, whatever the file is."""
    fields = {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        for _, line in zip(range(20), lines, strict=False):
            if match := _FIELD.match(line.rstrip()):
                fields[match["key"]] = match["value"]
    return fields


def find_kernels(paths: tuple[Path, ...]) -> list[Path]:
    """Generated files named by `paths`, in order and without repeats.

    A file is taken as it is; a folder is searched, hidden folders in it are not, for Python files
    with a ``# spec: …`` line in their header.

    Raises:
        GemmgenError: T404, a path that is not there, a spec, or a folder without any generated
            file.
    """
    found: dict[Path, None] = {}
    findings = []
    for path in paths:
        inside = sorted(_search(path)) if path.is_dir() else [path] * path.is_file()
        if inside and path.suffix == ".toml":
            findings.append(
                Finding(
                    code="T404",
                    title=f"{path} is a spec, not a kernel",
                    help=f"render it: `gemmgen render {path}` says where the kernel goes",
                )
            )
        elif not inside:
            findings.append(
                Finding(
                    code="T404",
                    title=f"no generated kernel at {path}",
                    help="render one first: `gemmgen render --all`",
                )
            )
        found.update(dict.fromkeys(inside))
    if findings:
        raise GemmgenError(findings)
    return list(found)


def _search(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*.py"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.is_file() and "spec" in _header(path):
            yield path
