"""Find specs by name, and list them in the order of their ladders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gemmgen.spec.read import parse_source, read_text
from gemmgen.spec.source import Source
from gemmgen.terms import Finding, GemmgenError

FOLDER = "specs"
NO_SPECS = "there is no specs/ here: go to the folder that has it, or give the path of a spec"


def find_spec(name: str, root: Path = Path()) -> Path:
    """The spec file that `name` means in the project at `root`.

    `name` is a path (``specs/v8_persistent.toml``), a name (``v8_persistent``, ``tirx/v3_tiled``),
    a version (``v8``, ``tirx/v3``) or the start of a name, if only one has it. Without a folder,
    the specs at the top go before those in folders.

    Raises:
        GemmgenError: S120 where there is none, S121 where there are several.
    """
    if path := _as_path(name, root):
        return path
    known = _names(root)
    wanted = re.sub(rf"^(\./)?({FOLDER}/)?|\.toml$", "", name)
    for match in (_equal, _same_version, _same_start):
        found = [spec for spec in known if match(spec, wanted)]
        found = [spec for spec in found if "/" not in spec] or found
        if len(found) == 1:
            return known[found[0]]
        if found:
            help_ = "one of " + ", ".join(f"`{spec}`" for spec in found)
            raise GemmgenError([Finding("S121", f"`{name}` means several specs", help=help_)])
    help_ = _instead(name) or _suggest(wanted, known)
    raise GemmgenError([Finding("S120", f"no spec `{name}`", help=help_)])


def all_specs(root: Path = Path()) -> list[Path]:
    """Every spec file below ``specs/``, in the order of the ladders: each after its predecessor.

    Files at the top come first, then folder by folder. A file that cannot be read is listed too,
    by its name: loading it says what is wrong.
    """
    folders: dict[Path, list[Path]] = {}
    for path in sorted((root / FOLDER).rglob("*.toml"), key=_natural):
        folders.setdefault(path.parent, []).append(path)
    return [path for folder in sorted(folders) for path in _climb(folders[folder])]


def predecessor_of(path: Path) -> Path | None:
    """File of the rung below the spec at `path`, in the same folder; None in the first one.

    Raises:
        GemmgenError: S112 where the file is not there.
    """
    source, below = _read(path)
    if below is None:
        return None
    file = path.with_name(f"{below}.toml")
    if source and not file.is_file():
        raise GemmgenError([source.place(_missing(below))])
    return file


def check_ladders(root: Path = Path()) -> list[Finding]:
    """S112 for each predecessor without a file, S113 for each version that is its own ancestor."""
    findings = []
    specs = all_specs(root)
    below = {path: _read(path) for path in specs}
    for path, (source, name) in below.items():
        if source is None or name is None:
            continue
        if path.with_name(f"{name}.toml") not in below:
            findings.append(source.place(_missing(name)))
        elif _in_cycle(path, {p: n for p, (_, n) in below.items()}):
            help_ = "the first version of a ladder has no predecessor"
            cycle = Finding("S113", "a version above itself", "lineage.predecessor", help=help_)
            findings.append(source.place(cycle))
    return findings


def _as_path(name: str, root: Path) -> Path | None:
    if not name.endswith(".toml"):
        return None
    for path in (Path(name), root / name, root / FOLDER / name):
        try:
            if path.is_file():
                return path
        except OSError:
            return None
    return None


def _names(root: Path) -> dict[str, Path]:
    """Every spec by name. No file is read for it: an order by ladder is not needed here."""
    folder = root / FOLDER
    paths = sorted(folder.rglob("*.toml"), key=lambda path: (path.parent, _natural(path)))
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in paths}


def _equal(spec: str, wanted: str) -> bool:
    return spec == wanted or ("/" not in wanted and spec.rpartition("/")[2] == wanted)


def _same_version(spec: str, wanted: str) -> bool:
    folder, _, stem = spec.rpartition("/")
    in_folder, _, version = wanted.rpartition("/")
    return stem.partition("_")[0] == version and in_folder in ("", folder)


def _same_start(spec: str, wanted: str) -> bool:
    folder, _, stem = spec.rpartition("/")
    in_folder, _, start = wanted.rpartition("/")
    return bool(start) and stem.startswith(start) and in_folder in ("", folder)


def _instead(name: str) -> str:
    """What is at the path `name`, where that is no file."""
    try:
        if name and Path(name).is_dir():
            return "that is a folder: name its files, or use `--all` for every spec below specs/"
        if name and Path(name).is_symlink() and not Path(name).exists():
            return "that is a link to a file that is not there"
    except (OSError, ValueError):
        pass
    return ""


def _suggest(wanted: str, known: dict[str, Path]) -> str:
    from gemmgen.spec.walk import nearest

    versions = {re.sub(r"_[^/]*$", "", spec): spec for spec in known}
    if near := nearest(wanted, known) or versions.get(nearest(wanted, versions), ""):
        return f"did you mean `{near}`?"
    return "known: " + ", ".join(f"`{spec}`" for spec in known) if known else NO_SPECS


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort key that puts v10 after v9."""
    return [(int(n or -1), text) for n, text in re.findall(r"(\d+)|(\D+)", path.as_posix())]


def _read(path: Path) -> tuple[Source | None, str | None]:
    """The file at `path` and its predecessor's name, as far as it can be read."""
    try:
        source = parse_source(read_text(path), str(path))
    except GemmgenError:
        return None, None
    lineage: Any = source.data.get("lineage")
    name = lineage.get("predecessor") if isinstance(lineage, dict) else None
    return source, name if isinstance(name, str) and re.fullmatch(r"[a-z0-9_]+", name) else None


def _climb(paths: list[Path]) -> list[Path]:
    """`paths` of one folder, each after its predecessor; what is left in a cycle comes last."""
    below = {path: _read(path)[1] for path in paths}
    stems = {path.stem for path in paths}
    out: list[Path] = []
    todo = [path for path in reversed(paths) if below[path] not in stems]
    while todo:
        path = todo.pop()
        out.append(path)
        todo += [above for above in reversed(paths) if below[above] == path.stem]
    return out + [path for path in paths if path not in out]


def _in_cycle(path: Path, below: dict[Path, str | None]) -> bool:
    seen, at = set(), path
    while at not in seen and (name := below.get(at)):
        seen.add(at)
        at = at.with_name(f"{name}.toml")
        if at == path:
            return True
    return False


def _missing(name: str) -> Finding:
    help_ = f"there is no `{name}.toml` beside this file"
    return Finding("S112", "unknown predecessor", "lineage.predecessor", help=help_)
