import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from diptych._core import files
from diptych._core.errors import DataError
from diptych._core.files import (
    atomic_file,
    atomic_folder,
    explained_writes,
    read_json,
    write_json,
    write_npy,
    write_text,
)


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_file_is_replaced_whole(tmp_path):
    target = tmp_path / "deep" / "a.txt"
    write_text(target, "one")
    write_text(target, "two")
    assert target.read_text() == "two"
    assert everything_in(target.parent) == ["a.txt"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_failure_while_writing_a_file_keeps_the_old_one(tmp_path, failure):
    target = tmp_path / "a.txt"
    write_text(target, "old")
    with pytest.raises(failure), atomic_file(target) as temporary:
        temporary.write_text("half")
        raise failure
    assert target.read_text() == "old"
    assert everything_in(tmp_path) == ["a.txt"]


def test_json_round_trip_and_refusal_of_nan(tmp_path):
    write_json(tmp_path / "a.json", {"ü": [1, None, 0.5]})
    assert read_json(tmp_path / "a.json") == {"ü": [1, None, 0.5]}
    with pytest.raises(ValueError):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert json.loads((tmp_path / "a.json").read_text()) == {"ü": [1, None, 0.5]}


@pytest.mark.parametrize(
    ("content", "sentence"), [(None, "is missing"), (b'{"a": ', "not valid JSON"), (b"\xff", "JSON")]
)
def test_bad_json_is_named(tmp_path, content, sentence):
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=sentence) as caught:
        read_json(path)
    assert str(path) in str(caught.value)


def test_folder_appears_only_when_complete(tmp_path):
    target = tmp_path / "out"
    with atomic_folder(target) as temporary:
        (temporary / "inner").mkdir()
        (temporary / "inner" / "x").write_text("1")
        assert not target.exists()
    assert everything_in(tmp_path) == ["out", "out/inner", "out/inner/x"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("before", [False, True])
def test_failure_while_writing_a_folder_leaves_no_trace(tmp_path, failure, before):
    target = tmp_path / "out"
    if before:
        target.mkdir()
        (target / "x").write_text("old")
    with pytest.raises(failure), atomic_folder(target, overwrite=True) as temporary:
        (temporary / "x").write_text("half")
        raise failure
    assert everything_in(tmp_path) == (["out", "out/x"] if before else [])
    assert not before or (target / "x").read_text() == "old"


def test_failure_of_the_last_rename_puts_the_old_folder_back(tmp_path, monkeypatch):
    target = tmp_path / "out"
    target.mkdir()
    (target / "x").write_text("old")
    rename = Path.rename

    def failing(self: Path, to: Path) -> Path:
        if Path(to) == target and self.name != ".out.old":
            raise OSError("disk is gone")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", failing)
    monkeypatch.setattr(files, "_exchange", lambda *_: False)  # as on systems that cannot
    with pytest.raises(OSError, match="disk is gone"), atomic_folder(target, overwrite=True) as temporary:
        (temporary / "x").write_text("new")
    assert everything_in(tmp_path) == ["out", "out/x"]
    assert (target / "x").read_text() == "old"


def test_existing_folder_is_only_replaced_on_request(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    (target / "old").write_text("old")
    refusal = pytest.raises(DataError, match="already exists; choose another folder or pass --overwrite")
    with refusal, atomic_folder(target):
        raise AssertionError("never entered")
    with atomic_folder(target, overwrite=True) as temporary:
        (temporary / "new").write_text("new")
    assert everything_in(tmp_path) == ["out", "out/new"]


def test_current_folder_can_be_overwritten(tmp_path, monkeypatch):
    target = tmp_path / "out"
    target.mkdir()
    monkeypatch.chdir(target)
    with atomic_folder(Path(), overwrite=True) as temporary:
        (temporary / "new").write_text("new")
    assert everything_in(tmp_path) == ["out", "out/new"]


@pytest.mark.parametrize("sizes", [[5], [3, 2], [1, 0, 4], [0]])
def test_rows_are_written_as_numpy_writes_them(tmp_path, sizes):
    random = np.random.default_rng(0)
    blocks = [np.asarray(random.normal(size=(size, 3)), np.float32, order="F") for size in sizes]
    assert write_npy(tmp_path / "a.npy", iter(blocks), sum(sizes)) == (sum(sizes), 3)
    expected = io.BytesIO()
    np.save(expected, np.ascontiguousarray(np.concatenate(blocks)))
    assert (tmp_path / "a.npy").read_bytes() == expected.getvalue()
    assert everything_in(tmp_path) == ["a.npy"]


@pytest.mark.parametrize(
    ("shapes", "count", "words"),
    [
        ([], 0, "was to hold 0 rows but 0 came"),
        ([(2, 3), (1, 3)], 4, "was to hold 4 rows but 3 came"),
        ([(2, 3), (3, 3)], 4, "was to hold 4 rows but 5 came"),
        ([(2, 3), (1, 4)], 3, "rows of 4 numbers came after rows of 3"),
    ],
)
def test_rows_that_are_not_as_announced_are_not_written(tmp_path, shapes, count, words):
    write_text(tmp_path / "a.npy", "old")
    with pytest.raises(DataError, match=re.escape(str(tmp_path / "a.npy")) + ".* ?" + words):
        write_npy(tmp_path / "a.npy", (np.zeros(shape, np.float32) for shape in shapes), count)
    assert (tmp_path / "a.npy").read_text() == "old"
    assert everything_in(tmp_path) == ["a.npy"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_rows_that_fail_half_way_leave_no_trace(tmp_path, failure):
    def blocks():
        yield np.zeros((2, 3), np.float32)
        raise failure

    with pytest.raises(failure):
        write_npy(tmp_path / "a.npy", blocks(), 4)
    assert everything_in(tmp_path) == []


def test_one_block_of_rows_is_held_at_a_time(tmp_path):
    def peak(count: int) -> int:
        tracemalloc.start()
        write_npy(tmp_path / "a.npy", (np.zeros((1_000, 64), np.float32) for _ in range(count)), 1_000 * count)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak(20) < 1.2 * peak(1)


def test_a_folder_is_replaced_without_a_moment_in_which_it_is_absent(tmp_path, monkeypatch) -> None:
    """A reader that looks at every rename finds the old folder or the new one."""
    target = tmp_path / "model"
    with files.atomic_folder(target) as folder:
        (folder / "a").write_text("old")
    seen = []
    monkeypatch.setattr(Path, "rename", lambda *_: seen.append("a rename that leaves a gap"))
    with files.atomic_folder(target, overwrite=True) as folder:
        (folder / "a").write_text("new")
    assert (target / "a").read_text() == "new"
    assert not seen
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_crash_between_two_renames_is_mended_where_folders_cannot_be_exchanged(tmp_path, monkeypatch) -> None:
    target = tmp_path / "model"
    with files.atomic_folder(target) as folder:
        (folder / "a").write_text("old")
    target.rename(tmp_path / ".model.old")  # what a kill after the first rename leaves behind
    files.restore_interrupted(target)
    assert (target / "a").read_text() == "old"
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    with files.atomic_folder(target, overwrite=True) as folder:
        (folder / "a").write_text("new")
    assert (target / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "x/y"), "the disk of made is full; free space or choose"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "the disk of made is full"),
        (OSError("23587 requested and 992 written"), "the disk of made is full"),
        (shutil.Error([("a", "b", f"[Errno 28] {os.strerror(errno.ENOSPC)}: 'a'")]), "the disk of made is full"),
        (
            OSError(errno.EROFS, "Read-only file system", "x/y"),
            r"made cannot be written \(Read-only file system for x/y",
        ),
        (OSError("odd"), r"made cannot be written \(odd\); mend that or choose another folder, then try again\.$"),
    ],
)
def test_errors_of_writing_become_one_sentence(error, message):
    with pytest.raises(DataError, match=message), explained_writes(Path("made"), "try again"):
        raise error


KILLED = """
import os, signal, sys
from pathlib import Path
from diptych._core.files import atomic_file, atomic_folder, temporary_folder
target = Path(sys.argv[1])
with atomic_folder(target / "model"), atomic_file(target / "x.json"), temporary_folder(target / "x.tar") as scratch:
    (scratch / "part").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_leaves_is_swept_up_and_what_is_in_use_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_swept", set())
    with files.temporary_folder(tmp_path / "used") as used:
        subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
        assert len(list(tmp_path.iterdir())) == 4
        files._swept.clear()
        (tmp_path / ".somebody.elses.tmp").write_text("stays")
        files.write_text(tmp_path / "other.txt", "x")
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
            [used.name, ".somebody.elses.tmp", "other.txt"]
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == [".somebody.elses.tmp", "other.txt"]
