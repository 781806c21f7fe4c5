"""Limits: what may be added, and how long a query may take."""

import sqlite3
import threading

import numpy as np
import pytest

from diptych._core.errors import BackendUnavailableError, ConfigError, DataError, TimeLimitError
from diptych.index import EmbedderId, Identity, ItemLimits, create_index, open_index
from diptych.index.local import connections
from diptych.index.local.database import explained

IDENTITY = Identity(EmbedderId("m"), 2)
ONE = np.eye(2, dtype=np.float32)


@pytest.fixture
def folder(tmp_path):
    create_index(tmp_path / "index", IDENTITY, words=True).close()
    return tmp_path / "index"


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\tb", "\x7f", "a\x85", "a\u2028b"])
def test_control_characters_are_refused(folder, name):
    with open_index(folder) as index:
        for call in (index.add, index.update):
            with pytest.raises(DataError, match=r"id .* holds a line break or another control character"):
                call([name], ONE[:1], modality="image")
            with pytest.raises(DataError, match=r"modality .* holds a line break"):
                call(["a"], ONE[:1], modality=name)
        assert index.count() == 0
        assert index.delete([name]) == 0 and index.get([name]) == [None], "what is stored already can be removed"


def test_large_metadata_is_refused_and_the_limit_can_be_set(folder):
    with open_index(folder) as index:
        with pytest.raises(DataError, match="the metadata of 'b' has 1048593 bytes; this index takes 1048576"):
            index.add(["a", "b"], ONE, modality="image", metadata=[{}, {"text": "x" * (2**20 + 5)}])
        index.add(["a"], ONE[:1], modality="image", metadata=[{"text": "x" * 1_000_000}])
    with open_index(folder, limits=ItemLimits(metadata_bytes=100)) as index:
        with pytest.raises(DataError, match="this index takes 100"):
            index.update(["a"], ONE[:1], modality="image", metadata=[{"text": "ä" * 60}])
        assert len(index.get(["a"])[0].metadata["text"]) == 1_000_000
    with open_index(folder, limits=ItemLimits(metadata_bytes=3 * 2**20)) as index:
        index.update(["a"], ONE[:1], modality="image", metadata=[{"text": "x" * 2**21}])


def test_the_number_of_items_can_be_limited(folder):
    with open_index(folder, limits=ItemLimits(items=3)) as index:
        index.add(["a", "b"], ONE, modality="image")
        with pytest.raises(DataError, match="takes 3 items and has 2; delete some first"):
            index.add(["c", "d"], ONE, modality="image")
        index.update(["b", "c"], ONE, modality="image")
        index.update(["a", "b", "c"], np.vstack([ONE, ONE[:1]]), modality="image")
        index.delete(["a"])
        index.add(["d"], ONE[:1], modality="image")
    with pytest.raises(ConfigError, match="items is 0; it must be a whole number of at least 1"):
        open_index(folder, limits=ItemLimits(items=0))


def test_a_query_is_cancelled_when_its_time_is_over(folder, monkeypatch):
    monkeypatch.setattr(connections, "_STEPS", 100)
    with open_index(folder) as index:
        ids = [f"i{n}" for n in range(2_000)]
        rows = np.random.default_rng(0).normal(size=(2_000, 2))
        index.add(ids, rows, modality="image", metadata=[{"t": "a" * 50}] * 2_000, words=["common"] * 2_000)
    with open_index(folder, time_limit_s=0.0) as index:
        slow = "t like '%a%a%a%a%b'"
        for call in (
            lambda: index.count(where=slow),
            lambda: index.list_ids(where=slow),
            lambda: index.search(ONE[0], where=slow),
            lambda: index.search_words(["common"], where=slow),
        ):
            with pytest.raises(TimeLimitError, match="took longer than allowed and was cancelled"):
                call()
        assert index.count() == 2_000
        assert len(index.search(ONE[0], 5)[0]) == 5
    with open_index(folder, time_limit_s=None) as index:
        assert index.count(where=slow) == 0
    with open_index(folder) as index:
        assert index.search(ONE[0], where=slow)[0].ids == ()


def test_a_long_list_is_answered_at_once_and_others_do_not_wait(folder):
    """4,000 values took 21 seconds, and every other search waited."""
    with open_index(folder, time_limit_s=20.0) as index:
        ids = [f"i{n}" for n in range(3_000)]
        rows = np.random.default_rng(0).normal(size=(3_000, 2))
        index.add(ids, rows, modality="image", metadata=[{"a": n} for n in range(3_000)], words=["common"] * 3_000)
        values = ",".join(str(n % 2_000) for n in range(4_000))
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(index.count(where=f"a in ({values})"))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for _ in range(20):
            assert len(index.search_words(["common"], 3)[0]) == 3
        for thread in threads:
            thread.join(20)
        assert found == [2_000] * 4
        names = ",".join(f"'i{n}'" for n in range(1_500))
        assert index.count(where=f"id in ({names})") == 1_500
        assert index.count(where=f"not id in ({names})") == 1_500
        assert index.search(ONE[0], 5_000, where=f"a in ({values})")[0].ids.__len__() == 2_000


def test_a_writer_that_others_keep_waiting_is_told_in_time(folder):
    with open_index(folder, wait_s=0.05) as index:
        with index._connections.writer(), pytest.raises(BackendUnavailableError, match=r"more than 0\.05 s; try again"):
            index.add(["a"], ONE[:1], modality="image")
        index.add(["a"], ONE[:1], modality="image")


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (sqlite3.SQLITE_BUSY, BackendUnavailableError),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, BackendUnavailableError),
        (sqlite3.SQLITE_FULL, BackendUnavailableError),
        (sqlite3.SQLITE_IOERR_WRITE, BackendUnavailableError),
        (sqlite3.SQLITE_INTERRUPT, TimeLimitError),
        (sqlite3.SQLITE_CORRUPT_INDEX, DataError),
        (sqlite3.SQLITE_NOTADB, DataError),
    ],
)
def test_errors_of_sqlite_are_told_by_what_one_can_do_about_them(number, kind):
    error = sqlite3.OperationalError("raw words")
    error.sqlite_errorcode = number
    assert type(explained(error, "the index")) is kind
