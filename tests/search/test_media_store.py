"""The images beside an index."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from diptych._core.errors import DataError
from diptych.media.decoding import thumbnail
from diptych.search.media_store import FILE, Change, MediaStore, StoredFile, content_hash
from diptych.search.thumbnails import unsealed


@pytest.fixture
def store(tmp_path):
    made = MediaStore(tmp_path / "media", create=True)
    yield made
    made.close()


def test_images_are_kept_by_id_and_content(store, tmp_path) -> None:
    one = StoredFile("a", "h1", b"small", 0, "x.png")
    two = StoredFile("a", "h2", b"other", original=b"large")
    store.put([one, two])
    assert store.get("a", "h1") == one and store.get("a", "h2") == two and store.count() == 2
    assert store.thumbnail("a", "h2") == b"other" and store.thumbnail("b", "h2") is None
    reader = MediaStore(tmp_path / "media", writable=False)
    store.drop([("a", "h1"), ("nobody", "h1")])
    assert reader.get("a", "h1") is None and reader.thumbnail("a", "h2") == b"other"
    with pytest.raises(DataError, match="readonly"):
        reader.put([one])
    reader.close()


def test_all_are_put_or_none(store) -> None:
    with pytest.raises(DataError):
        store.put([StoredFile("a", "h", b"x"), StoredFile("b", "h", None)])
    assert store.count() == 0


def test_trouble_is_told_without_a_path(tmp_path) -> None:
    with pytest.raises(DataError) as told:
        MediaStore(tmp_path, writable=False)
    assert str(tmp_path) not in str(told.value)
    (tmp_path / FILE).write_bytes(b"no database at all" * 100)
    damaged = MediaStore(tmp_path, writable=False)
    with pytest.raises(DataError, match="cannot be read") as told:
        damaged.thumbnail("a", "h")
    assert str(tmp_path) not in str(told.value)
    damaged.close()


KILLED = """
import os, signal, sys
from pathlib import Path
from diptych.search.media_store import MediaStore, StoredFile
store = MediaStore(Path(sys.argv[1]), create=True)
if sys.argv[2] != "wal":  # as earlier versions wrote it
    store._connection.execute("PRAGMA journal_mode = DELETE")
    store._connection.execute("PRAGMA cache_size = 1")
store.put([StoredFile("a", "h", b"small")])
store._connection.execute("BEGIN")
for number in range(200):
    store._connection.execute("INSERT INTO pictures VALUES (?, 'h', ?, 0, '', NULL)", (str(number), bytes(5_000)))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("journal", ["wal", "rollback"])
def test_a_reader_after_a_kill_sees_what_was_acknowledged(tmp_path, journal) -> None:
    folder = tmp_path / "media"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(folder), journal], check=False)
    assert ended.returncode == -signal.SIGKILL
    if journal == "rollback":
        assert (folder / f"{FILE}-journal").stat().st_size, "the journal is hot: the change has to be undone first"
    reader = MediaStore(folder, writable=False)
    assert reader.thumbnail("a", "h") == b"small" and reader.thumbnail("0", "h") is None and reader.count() == 1
    reader.close()


def test_a_writer_brings_an_earlier_store_to_the_same_rules(tmp_path) -> None:
    folder = tmp_path / "media"
    MediaStore(folder, create=True).close()
    with sqlite3.connect(folder / FILE) as old:
        old.execute("PRAGMA journal_mode = DELETE")
        old.execute("DROP TABLE changes")
    old.close()
    reader = MediaStore(folder, writable=False)
    assert reader.changes() == []
    reader.close()
    store = MediaStore(folder)
    assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.put([], [Change("a"), Change("b", "text"), Change("a")])
    assert [(change.id, change.text) for change in store.changes()] == [("b", "text"), ("a", None)]
    assert [change.id for change in store.changes(after=store.changes()[0].number)] == ["a"]
    store.close()


def test_a_damaged_thumbnail_or_original_is_told(tmp_path) -> None:
    small, large = thumbnail(np.zeros((40, 40, 3), np.uint8)), b"the original"
    store = MediaStore(tmp_path, create=True)
    store.put([StoredFile("a", content_hash(large), small, original=large)])
    assert store.thumbnail("a", content_hash(large)) == small and store.problems() == []
    store.close()
    with closing(sqlite3.connect(tmp_path / "media.sqlite")) as connection, connection:
        (kept,) = connection.execute("SELECT thumbnail FROM pictures").fetchone()
        for place in range(4, len(kept)):  # whichever byte it is
            wrong = kept[:place] + bytes([kept[place] ^ 4]) + kept[place + 1 :]
            with pytest.raises(DataError, match="are damaged"):
                unsealed(wrong)
        connection.execute("UPDATE pictures SET thumbnail = ?", (wrong,))
    reader = MediaStore(tmp_path, writable=False)
    assert reader.problems() == ["the thumbnail of item 'a' is not what was written"]
    with pytest.raises(DataError, match="the images of the index are damaged"):
        reader.thumbnail("a", content_hash(large))
    reader.close()
    with closing(sqlite3.connect(tmp_path / "media.sqlite")) as connection, connection:
        connection.execute("UPDATE pictures SET thumbnail = ?, original = ?", (small, b"another one"))
    reader = MediaStore(tmp_path, writable=False)
    assert reader.thumbnail("a", content_hash(large)) == small, "as earlier versions kept it"
    with pytest.raises(DataError, match="are damaged"):
        reader.get("a", content_hash(large))
    reader.close()
