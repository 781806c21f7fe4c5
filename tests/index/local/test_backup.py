"""Backups and snapshots that are made while others write."""

import threading

import numpy as np
import pytest

from diptych._core.errors import BackendUnavailableError, ConfigError, DataError
from diptych._core.locks import file_lock
from diptych.index import EmbedderId, Identity, Index, create_index, open_index, restore_index
from diptych.index.local import derived

DIMENSION = 4
GROUP = 5


def drawn(seed, count=GROUP):
    return np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)


@pytest.fixture
def folder(tmp_path):
    create_index(tmp_path / "index", Identity(EmbedderId("m"), DIMENSION), words=True, fold_at=40).close()
    return tmp_path / "index"


class Writer(threading.Thread):
    """Replaces a group of items as a whole, again and again."""

    def __init__(self, folder):
        super().__init__()
        self._folder, self._stop_writing = folder, threading.Event()
        self.acknowledged, self.error = 0, None

    def run(self):
        ids = [f"i{n}" for n in range(GROUP)]
        try:
            with open_index(self._folder) as index:
                while not self._stop_writing.is_set():
                    turn = self.acknowledged + 1
                    known, texts = [{"turn": turn}] * GROUP, [f"turn{turn} common"] * GROUP
                    index.update(ids, drawn(turn), modality="image", metadata=known, words=texts)
                    index.add([f"t{turn}"], drawn(turn, 1), modality="text", words=["once"])
                    self.acknowledged = turn
        except Exception as error:
            self.error = error

    def stop(self):
        self._stop_writing.set()
        self.join()
        assert self.error is None, self.error


def check_restored(folder, at_least):
    """The index is a state that there was, no earlier than what was acknowledged before."""
    with open_index(folder, verify=True) as index:
        assert index.verify() == []
        turns = {item.metadata["turn"] for item in index.get([f"i{n}" for n in range(GROUP)]) if item is not None}
        if not turns:
            assert at_least == 0
            return
        (turn,) = turns
        assert turn >= at_least
        assert index.count(modality="text") in (turn - 1, turn)
        assert len(index.search_words([f"turn{turn}"], 50)[0]) == GROUP
        assert index.search(drawn(turn)[2], 1)[0].ids == ("i2",)
        index.add(["new"], drawn(0, 1), modality="image", metadata=[{"turn": turn}])


def test_backups_under_continuous_writes_are_states_that_there_were(folder, tmp_path):
    writer = Writer(folder)
    writer.start()
    try:
        with open_index(folder, read_only=True) as index:
            for number in range(8):
                before = writer.acknowledged
                index.backup(tmp_path / f"{number}.backup")
                restore_index(tmp_path / f"{number}.backup", tmp_path / f"restored-{number}")
                check_restored(tmp_path / f"restored-{number}", before)
                before = writer.acknowledged
                index.snapshot(tmp_path / f"snapshot-{number}")
                check_restored(tmp_path / f"snapshot-{number}", before)
    finally:
        writer.stop()
    with open_index(folder) as index:
        assert index.verify() == []


def test_a_backup_is_one_file_and_is_not_written_over(folder, tmp_path):
    with open_index(folder) as index:
        index.add(["a"], drawn(1, 1), modality="image")
        assert index.backup(tmp_path / "one.backup") == tmp_path / "one.backup"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "one.backup"]
        with pytest.raises(DataError, match="already exists"):
            index.backup(tmp_path / "one.backup")
    with pytest.raises(DataError, match="already exists"):
        restore_index(tmp_path / "one.backup", folder)


def test_a_damaged_backup_is_not_restored(folder, tmp_path):
    with open_index(folder) as index:
        index.add([f"i{n}" for n in range(50)], drawn(1, 50), modality="image")
        index.backup(tmp_path / "one.backup")
    content = bytearray((tmp_path / "one.backup").read_bytes())
    content[content.index(b"i30")] ^= 1
    (tmp_path / "one.backup").write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        restore_index(tmp_path / "one.backup", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()
    with pytest.raises(DataError, match="is no file"):
        restore_index(tmp_path / "nothing", tmp_path / "restored")


def test_optimise_and_snapshot_wait_with_a_limit(folder, tmp_path):
    with open_index(folder, fold_wait_s=0.05) as index, file_lock(folder / "derived.lock") as mine:
        assert mine
        index.add(["a"], drawn(1, 1), modality="image")
        for call in (index.optimise, lambda: index.snapshot(tmp_path / "copy")):
            with pytest.raises(BackendUnavailableError, match=r"for more than 0\.05 s; try again later"):
                call()
    assert not (tmp_path / "copy").exists()


def test_engines_without_backups_say_so(tmp_path):
    with pytest.raises(ConfigError, match="writes no backup file"):
        Index.backup(None, tmp_path / "x")
    with pytest.raises(ConfigError, match="restores no backup files"):
        restore_index(tmp_path / "x", "y", engine="pgvector")


def test_a_full_disk_stops_neither_changes_nor_opening(folder, monkeypatch, caplog):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(derived, "write_folded", full)
    ids = [f"i{n}" for n in range(60)]
    with open_index(folder) as index:
        index.add(ids, drawn(1, 60), modality="image")
        assert "No space left" in caplog.text
        assert index.delete(ids[:5]) == 5
        with pytest.raises(BackendUnavailableError, match="the disk is full"):
            index.optimise()
    caplog.clear()
    with open_index(folder) as index:
        assert "No space left" in caplog.text
        assert index.count() == 55 and len(index.search(drawn(2, 1)[0], 100)[0]) == 55
