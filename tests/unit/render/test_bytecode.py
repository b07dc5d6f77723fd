"""The cache of compiled templates: never stale, never needed."""

from __future__ import annotations

import os
from pathlib import Path

import jinja2
import pytest

from gemmgen.render.bytecode import BytecodeFile


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gemmgen" / "templates"


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "one.j2").write_text("one {{ value }}")
    (folder / "two.j2").write_text("two {{ value }}")
    return folder


class Counting(jinja2.Environment):
    """Counts what it compiles."""

    compiled = 0

    def _generate(self, *args: object, **named: object) -> str:
        type(self).compiled += 1
        return super()._generate(*args, **named)  # type: ignore[arg-type]


def _print(folder: Path, *names: str) -> tuple[list[str], int]:
    """The texts of templates in a process of its own, as far as caches go, and what it compiled."""
    kept = BytecodeFile(folder)
    environment = Counting(loader=jinja2.FileSystemLoader(folder), bytecode_cache=kept)
    Counting.compiled = 0
    texts = [environment.get_template(name).render(value=1) for name in names]
    kept.save()
    return texts, Counting.compiled


def test_a_template_is_compiled_once_for_all_processes(cache: Path, templates: Path) -> None:
    assert _print(templates, "one.j2") == (["one 1"], 1)
    assert _print(templates, "one.j2", "two.j2") == (["one 1", "two 1"], 1)
    assert _print(templates, "one.j2", "two.j2") == (["one 1", "two 1"], 0)
    assert [path.suffix for path in cache.iterdir()] == [".bytecode"]


def test_a_template_that_has_changed_is_compiled_anew(cache: Path, templates: Path) -> None:
    one = templates / "one.j2"
    _print(templates, "one.j2", "two.j2")
    times = one.stat()
    one.write_text("ONE {{ value }}")
    os.utime(one, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert _print(templates, "one.j2", "two.j2") == (["ONE 1", "two 1"], 1)
    assert _print(templates, "one.j2", "two.j2") == (["ONE 1", "two 1"], 0)


def test_folders_do_not_share_templates(cache: Path, templates: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "one.j2").write_text("other {{ value }}")
    _print(templates, "one.j2")
    assert _print(other, "one.j2") == (["other 1"], 1)
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"no bytecode", b"(\x02", b"N", b"i\x01\x00\x00\x00"])
def test_a_damaged_file_is_as_good_as_none(cache: Path, templates: Path, damage: bytes) -> None:
    _print(templates, "one.j2")
    (file,) = cache.iterdir()
    file.write_bytes(damage)
    assert _print(templates, "one.j2") == (["one 1"], 1)
    assert _print(templates, "one.j2") == (["one 1"], 0)


def test_bytecode_of_another_python_is_not_used(
    cache: Path, templates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _print(templates, "one.j2")
    (mine,) = cache.iterdir()
    content = mine.read_bytes()
    monkeypatch.setattr("gemmgen.render.bytecode.MADE_BY", "another python")
    assert _print(templates, "one.j2") == (["one 1"], 1)
    (theirs,) = set(cache.iterdir()) - {mine}
    theirs.write_bytes(content)
    assert _print(templates, "one.j2") == (["one 1"], 1)


def test_without_a_cache_everything_is_compiled(
    templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert _print(templates, "one.j2") == (["one 1"], 1)
    assert _print(templates, "one.j2") == (["one 1"], 1)


def test_a_cache_that_cannot_be_written_is_not_missed(
    cache: Path, templates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("gemmgen.render.bytecode.write_atomic", full)
    assert _print(templates, "one.j2") == (["one 1"], 1)
    assert list(cache.iterdir()) == []
