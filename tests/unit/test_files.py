"""Files are written whole, where their name leads, and never in place of what is no file."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gemmgen.files import write_atomic

MODES = [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize(("umask", "left"), MODES)
def test_a_new_file_gets_what_the_umask_leaves(tmp_path: Path, umask: int, left: int) -> None:
    before = os.umask(umask)
    try:
        write_atomic(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert mode(tmp_path / "new") == left


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_text("old")
    path.chmod(0o751)
    write_atomic(path, "new")
    assert (path.read_text(), mode(path)) == ("new", 0o751)
    assert [found.name for found in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_one_and_its_file_is_written(tmp_path: Path, there: bool) -> None:
    link, file = tmp_path / "link", tmp_path / "else" / "where"
    link.symlink_to("else/where")
    if there:
        file.parent.mkdir()
        file.write_text("old")
    write_atomic(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_links_that_go_round_are_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError, match="link") as caught:
        write_atomic(link, "new")
    assert caught.value.errno == errno.ELOOP
    assert link.is_symlink()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_atomic(pipe, "text")
    reader.join(10)
    assert read == ["text"]
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_a_device_is_written_to(tmp_path: Path) -> None:
    node = tmp_path / "null"
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        node.write_text("")
    except PermissionError:
        pytest.skip("device nodes cannot be made here")
    write_atomic(node, "text")
    assert stat.S_ISCHR(node.lstat().st_mode)


def test_the_name_of_an_open_stream_goes_on_being_it(tmp_path: Path) -> None:
    code = (
        "import pathlib, gemmgen.files as f; print('one', flush=True);"
        " f.write_atomic(pathlib.Path('/dev/stdout'), 'two\\n')"
    )
    whole = tmp_path / "whole"
    with whole.open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert whole.read_text() == "one\ntwo\n"
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert piped.stdout == b"one\ntwo\n"


def test_a_full_disk_names_the_file_and_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gemmgen.files.os.replace", full)
    with pytest.raises(OSError, match="No space") as caught:
        write_atomic(path, "new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="no /proc")
def test_a_folder_that_takes_no_file_names_the_file() -> None:
    with pytest.raises(OSError, match="gemmgen") as caught:
        write_atomic(Path("/proc/gemmgen"), "new")
    assert caught.value.filename == "/proc/gemmgen"
